"""Robots to be trained, and what they follow."""

from __future__ import annotations

import pytest

from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from pendulum import pendulum
from standing_motion import standing_motion


@pytest.fixture(scope="module")
def walker() -> Robot:
    """On its feet."""
    return Robot.load("g1_23dof", mount="free")


@pytest.fixture(scope="module")
def frames(walker: Robot) -> MotionFrames:
    """A second of swaying."""
    return MotionFrames.of(standing_motion(walker), walker)


@pytest.fixture(scope="module")
def rod(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """A pendulum: it is held, and never falls."""
    return pendulum(tmp_path_factory.mktemp("rod"))
