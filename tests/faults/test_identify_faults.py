"""Faults of identification: what recordings cannot tell, and figures that no robot can have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.identification import IdentifySettings, identify
from gapless.motions.excitation import multisine
from gapless.recordings import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, nominal_pair, recorded

QUICK = IdentifySettings(physics_step=STEP, windows=12)


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Two joints of an SO-101."""
    return nominal_pair()


def held(robot: Robot, name: str, seed: int, joint: str) -> Recording:
    """A motion in which a joint stays where it is."""
    world, q = MujocoWorld(robot, physics_step=STEP), multisine(robot, 3.0, 50, seed=seed)
    column = robot.joints.index(joint)
    q[:, column] = robot.joints.default[column]
    return record(world, q, name, start=world.home())


def test_case_35_what_was_never_moved_keeps_its_prior(pair: Robot) -> None:
    """It is called not identifiable; the joint that moved is told."""
    still = pair.joints.names[1]
    clips = [held(pair, name, seed, still) for seed, name in enumerate("abc")]
    found = identify(clips, pair, ("damping",), settings=QUICK, keep_anyway=True)
    by_joint = {e.parameter.joint: e for e in found.estimates}
    assert not by_joint[still].identifiable
    assert by_joint[still].value == pytest.approx(by_joint[still].nominal[0])
    assert by_joint[pair.joints.names[0]].identifiable


def test_case_36_a_value_at_its_bound_is_flagged(pair: Robot) -> None:
    """The truth lies beyond what was allowed."""
    weak = pair.with_joints(kp=0.5 * pair.joints.kp)
    clips = recorded(weak, ["a", "b", "c"], seconds=3.0)
    gains = dict(zip(pair.joints.names, pair.joints.kp, strict=True))
    near = {f"kp/{joint}": (0.8 * kp, 1.2 * kp) for joint, kp in gains.items()}
    found = identify(clips, pair, ("kp",), settings=replace(QUICK, bounds=near), keep_anyway=True)
    assert all(e.at_bound for e in found.estimates)
    for estimate in found.estimates:
        assert estimate.value == pytest.approx(near[estimate.name][0])


@pytest.mark.parametrize(
    "figures", [{"armature": -0.1}, {"frictionloss": -1.0}, {"damping": np.nan}]
)
def test_case_36_figures_that_no_robot_has_are_refused(pair: Robot, figures: dict) -> None:
    """Before any simulation."""
    with pytest.raises(ModelError, match="must be >= 0"):
        pair.with_joints(**figures)
