"""The smallest policy on its feet, and the robot that it is for."""

from __future__ import annotations

import pytest

from gapless import MujocoWorld, Policy, Robot
from still_policy import write_policy


@pytest.fixture(scope="session")
def still(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Targets are the default pose, always."""
    return Policy.load(write_policy(tmp_path_factory.mktemp("still")))


@pytest.fixture(scope="session")
def go2() -> Robot:
    """On the floor."""
    return Robot.load("go2", mount="free")


@pytest.fixture
def world(go2: Robot) -> MujocoWorld:
    """A fresh one: tests put environments into it."""
    return MujocoWorld(go2)
