"""A humanoid's tracker after two iterations: not good, but whole for everything that reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import gapless
from gapless.cli.main import main
from gapless.learning.ppo_settings import PpoSettings
from gapless.motions import read_motions
from gapless.policies import Policy
from gapless.robots import Robot
from gapless.tracking import TrainSettings
from gapless.worlds import MujocoWorld
from standing_motion import standing_motion

SMALL = TrainSettings(
    environments=8,
    actor=(32, 32),
    push=0.2,
    vary=2,
    ppo=PpoSettings(iterations=2, steps=8, critic=(32,), minibatches=2),
)


@pytest.fixture(scope="module")
def sways(walker: Robot, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Of half a second of swaying, in two simulators that differ, with pushes."""
    out = tmp_path_factory.mktemp("sways") / "sways"
    return gapless.train(standing_motion(walker, 0.5), walker, out, SMALL)


@pytest.mark.parametrize("given", ["", "policy.onnx"])
def test_it_loads_from_its_folder_and_its_network(sways: Policy, given: str) -> None:
    """The contract is in the network: nothing else is needed."""
    policy = Policy.load(sways.source.parent / given)
    contract = policy.contract
    assert contract == sways.contract
    assert (contract.robot, contract.name, contract.anchor) == ("g1_23dof", "sways", "torso_link")
    assert contract.width == policy.network.width == 380
    assert policy.reference is not None and len(policy.reference) == 26
    assert contract.sees_reference and contract.tracks


def test_show_prints_it(sways: Policy, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns, joints, gains."""
    assert main(["policy", "show", str(sways.source.parent)]) == 0
    shown = capsys.readouterr().out
    assert "left_knee_joint" in shown and "projected_gravity" in shown


def test_evaluate_reads_it(
    sways: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the errors of its motion, which lies beside it."""
    out = tmp_path / "e.json"
    assert main(["evaluate", str(sways.source.parent), "--episodes", "2", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["policy"] == "sways"
    [scores] = found["worlds"]
    assert len(scores["survived"]) == 2
    assert all(value > 0 for value in scores["scores"]["e_g_mpjpe"])


def test_other_people_find_their_keys_in_it(sways: Policy) -> None:
    """Joints, gains, pose and bodies, as mjlab and BeyondMimic write them."""
    data, contract = sways.network.metadata, sways.contract
    assert tuple(data["joint_names"].split(",")) == contract.joints
    assert tuple(data["body_names"].split(",")) == contract.bodies
    numbers = {"joint_stiffness": contract.kp, "joint_damping": contract.kd}
    numbers |= {"default_joint_pos": contract.pose, "action_scale": contract.action.scale}
    for key, wanted in numbers.items():
        np.testing.assert_allclose([float(v) for v in data[key].split(",")], wanted, rtol=1e-8)
    assert (data["anchor_body_name"], data["control_dt"]) == ("torso_link", "0.02")
    assert onnx.load(str(sways.network.path)).producer_name == "gapless"


def test_its_motion_is_read_back(sways: Policy, walker: Robot) -> None:
    """With the base, at its own rate."""
    [motion] = read_motions(sways.source.parent / "motion.npz", walker)
    wanted = standing_motion(walker, 0.5)
    np.testing.assert_array_equal(motion.q, wanted.q)
    np.testing.assert_allclose(motion.base_quat_wxyz, wanted.base_quat_wxyz, atol=1e-12)
    np.testing.assert_array_equal(motion.base_pos, wanted.base_pos)


def test_a_tracker_of_some_joints_is_saved_with_its_columns(
    sways: Policy, walker: Robot, tmp_path: Path
) -> None:
    """Tuned in a world whose robot has its joints in another order, they are still its own."""
    names = walker.joints.names
    turned = replace(walker, joints=walker.joints.select(names[::-1]))
    world = MujocoWorld(turned, physics_step=0.005)
    tuned = gapless.finetune(sways, world, tmp_path / "t", replace(SMALL, vary=0, warm_up=9))
    assert tuned.contract.joints == names and world.robot.joints.names == names[::-1]
    assert tuned.reference is not None and sways.reference is not None
    np.testing.assert_allclose(
        tuned.reference.frames.joint_pos, sways.reference.frames.joint_pos, atol=1e-12
    )
    [motion] = read_motions(tmp_path / "t" / "motion.npz", walker)
    np.testing.assert_allclose(motion.targets(walker), standing_motion(walker, 0.5).q, atol=1e-12)
