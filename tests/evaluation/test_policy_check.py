"""check_policy(): wrong contracts are caught, or visibly fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import Policy, Robot
from gapless.evaluation.policy_check import PolicyReport, check_policy
from gapless.policies import PolicyContract
from small_networks import linear

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "policies"
LAB = SHARED / "unitree_rl_lab_g1_velocity"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the shared policies are not here")


def outcome(report: PolicyReport, what: str) -> str:
    """Of one check; "" where it was not made."""
    return next((c.outcome for c in report.checks if c.what == what), "")


def checked(policy: Policy, contract: PolicyContract, robot: Robot) -> PolicyReport:
    """Names and numbers alone, of another contract."""
    return check_policy(Policy(contract, policy.network, policy.source), robot, simulate=False)


def test_a_right_contract_is_ok(still: Policy, go2: Robot) -> None:
    """But the network of this one looks at nothing, which is said."""
    report = check_policy(still, go2, simulate=False)
    assert report.ok
    assert outcome(report, "inputs") == "warning"
    assert report.to_dict()["ok"] is True


def test_what_was_not_simulated_is_not_called_working(still: Policy, go2: Robot) -> None:
    """Names and numbers alone say that it fits."""
    said = str(check_policy(still, go2, simulate=False))
    assert "fits; it was not simulated" in said


def test_a_contract_of_another_robot_with_the_same_joints_is_a_warning(
    still: Policy, go2: Robot
) -> None:
    """Such as H1-2 and G1, whose legs have the same names."""
    assert outcome(checked(still, replace(still.contract, robot="h1_2"), go2), "robot") == "warning"
    assert outcome(checked(still, still.contract, go2), "robot") == ""


def test_joints_of_another_robot_fail(still: Policy) -> None:
    """By name."""
    report = check_policy(still, Robot.load("g1", mount="free"), simulate=False)
    assert not report.ok
    assert "FL_hip_joint" in report.checks[0].said


def test_a_locked_joint_fails(still: Policy, go2: Robot) -> None:
    """And is said to be locked."""
    report = check_policy(still, go2.lock(["FL_hip_joint"]), simulate=False)
    assert not report.ok
    assert "locked: FL_hip_joint" in report.checks[0].said


def test_a_pose_beyond_the_limits_fails(still: Policy, go2: Robot) -> None:
    """A default angle of another joint usually is."""
    pose = {**still.contract.default, "FL_calf_joint": 1.0}
    report = checked(still, replace(still.contract, default=pose), go2)
    assert outcome(report, "default pose") == "failed"


def test_a_rate_that_physics_steps_do_not_divide_fails(still: Policy, go2: Robot) -> None:
    """20 ms are not a whole number of 3 ms."""
    bad, good = (replace(still.contract, physics_step=s) for s in (0.003, 0.005))
    assert outcome(checked(still, bad, go2), "rate") == "failed"
    assert outcome(checked(still, good, go2), "rate") == "ok"


def test_a_network_that_gives_no_numbers_fails(still: Policy, go2: Robot, tmp_path: Path) -> None:
    """NaN out of ordinary observations."""
    linear(tmp_path / "policy.onnx", np.full((18, 12), np.nan))
    (tmp_path / "policy.toml").write_text(still.source.read_text())
    report = check_policy(Policy.load(tmp_path), go2, simulate=False)
    assert outcome(report, "outputs") == "failed"


def test_gains_that_differ_left_from_right_are_a_warning() -> None:
    """Swapped joints usually show there."""
    robot = Robot.load("g1", mount="free")
    joints = robot.joints.select(robot.joint_groups["legs"])
    gains = dict(zip(joints.names, joints.kp, strict=True)) | {"left_knee_joint": 20.0}
    assert gains["right_knee_joint"] != 20.0
    # The report of a contract is enough: no network is asked.
    from gapless.evaluation.policy_check import symmetry_check

    told = _legs(joints, gains)
    assert symmetry_check(told).outcome == "warning"
    assert "left_knee_joint" in symmetry_check(told).said


def _legs(joints, gains) -> PolicyContract:
    from gapless.policies.policy_contract import Action, Block, Term

    return PolicyContract(
        name="legs",
        rate=50.0,
        joints=joints.names,
        default=dict(zip(joints.names, joints.default, strict=True)),
        kp=tuple(gains.values()),
        kd=tuple(joints.kd),
        action=Action(),
        terms={"joint_vel": Term("joint_vel", "joint_vel")},
        blocks=(Block(("joint_vel",)),),
    )


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("mistake", ["none", "joints", "history", "scale"])
def test_the_usual_mistakes_of_a_public_walker_are_caught(mistake: str) -> None:
    """Two joints swapped, the history reversed, the scale doubled: each fails."""
    policy, robot = Policy.load(LAB), Robot.load("g1", mount="free")
    contract = policy.contract
    if mistake == "joints":
        names = list(contract.joints)
        a, b = names.index("left_hip_roll_joint"), names.index("left_hip_yaw_joint")
        names[a], names[b] = names[b], names[a]
        pose = dict(zip(names, contract.pose, strict=True))
        contract = replace(contract, joints=tuple(names), default=pose)
    if mistake == "history":
        turned = tuple(replace(b, newest="first") for b in contract.blocks)
        contract = replace(contract, blocks=turned)
    if mistake == "scale":
        doubled = tuple(2 * s for s in contract.action.scale)
        contract = replace(contract, action=replace(contract.action, scale=doubled))
    report = check_policy(Policy(contract, policy.network, policy.source), robot)
    assert report.ok == (mistake == "none"), str(report)
