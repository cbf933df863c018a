"""Contracts of trackers that are to be trained: what ASAP's and BeyondMimic's see."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asap_contract import asap_contract
from gapless.errors import NameMismatchError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.contract_toml import read_toml
from gapless.robots import Robot, names
from gapless.robots.body_states import BodyKinematics
from gapless.tracking.tracking_contract import anchor_of, tracking_contract
from pendulum import swings


def test_asaps_layout_is_that_of_its_public_policies(
    walker: Robot, frames: MotionFrames, tmp_path: Path
) -> None:
    """Terms, scales, blocks and joints, as they were written down for those by hand."""
    ours = tracking_contract(frames, walker, "asap", "default", 0.005)
    theirs, _ = read_toml(asap_contract(tmp_path / "policy.toml", tmp_path / "kick.onnx"))
    assert ours.width == theirs.width == 380
    assert dict(ours.terms) == dict(theirs.terms) and ours.blocks == theirs.blocks
    assert ours.joints == theirs.joints and ours.default == theirs.default
    np.testing.assert_allclose(ours.kp, theirs.kp)
    assert {*ours.action.scale} == {*theirs.action.scale} == {0.25}


def test_a_unit_of_output_is_a_quarter_of_each_motors_torque(
    walker: Robot, frames: MotionFrames
) -> None:
    """Around the reference; soft ankles move farther than stiff waists."""
    contract = tracking_contract(frames, walker, "asap", "residual", 0.005)
    torque = np.array(contract.action.scale) * np.array(contract.kp)
    np.testing.assert_allclose(torque, 0.25 * walker.joints.effort)


def test_beyondmimic_sees_the_reference(walker: Robot, frames: MotionFrames) -> None:
    """Its joints and the turn of its anchor; nothing that needs to know where the base is."""
    contract = tracking_contract(frames, walker, "beyondmimic", "default", 0.005)
    assert contract.width == 46 + 6 + 3 + 23 + 23 + 23
    assert contract.anchor == "torso_link" and contract.bodies == frames.names
    assert contract.action.meaning == "offset" and contract.sees_reference


@pytest.mark.parametrize("sight", ["asap", "beyondmimic"])
def test_a_held_robot_sees_its_joints_alone(sight: str, rod: Robot) -> None:
    """No term that needs a base."""
    contract = tracking_contract(MotionFrames.of(swings(), rod), rod, sight, "residual", 0.005)
    assert not {"base_ang_vel", "projected_gravity"} & set(contract.terms)
    assert contract.sees_reference and contract.motion_seconds == 1.0
    assert (contract.kp, contract.kd, contract.rate) == ((22.0,), (8.0,), 50.0)


@pytest.mark.parametrize("name", names())
def test_the_anchor_of_every_robot_is_a_body_that_is_tracked(name: str) -> None:
    """Or what is seen of it in training would be another's."""
    robot = Robot.load(name)
    bodies = BodyKinematics(robot)
    assert anchor_of(robot) in bodies.names
    point = bodies.bodies[bodies.names.index(anchor_of(robot))]
    assert point.body == anchor_of(robot) and point.offset == (0.0, 0.0, 0.0)


def test_words_that_are_not_known_are_told(rod: Robot) -> None:
    """With those that are."""
    frames = MotionFrames.of(swings(), rod)
    with pytest.raises(NameMismatchError, match=r"unknown preset 'mimic'.*beyondmimic"):
        tracking_contract(frames, rod, "mimic", "residual", 0.005)
    with pytest.raises(NameMismatchError, match=r"unknown meaning of actions 'delta'.*residual"):
        tracking_contract(frames, rod, "asap", "delta", 0.005)
