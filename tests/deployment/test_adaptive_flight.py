"""`deploy --adapt`: an arm that carries more than its model says is held up, within limits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.cli.main import main
from gapless.deployment.adaptive_pilot import AdaptivePilot, adaptations_for
from gapless.deployment.arm_model import ArmModel
from gapless.deployment.deploying import DeploySettings, deploy
from gapless.deployment.robot_link import JointCommand
from gapless.deployment.safety_limits import SafetyLimits
from gapless.errors import DataError
from gapless.policies import Policy
from gapless.recordings import Dataset
from gapless.robots import Payload, Robot
from small_networks import linear

CONTRACT = """
network = "policy.onnx"
name = "hold"
robot = "so101"
rate = 50
kp = 12
kd = 0.6

[action]
scale = 1.0

[[observation]]
terms = ["joint_pos_rel"]
"""
POSE = {"shoulder_lift": 0.2, "elbow_flex": -0.3}
"""rad beyond the default: an arm that reaches forward."""
PLAN = "stand 0.5, walk 4, damp 0.2"


@pytest.fixture(scope="module")
def arm() -> Robot:
    """An SO-101 on a table."""
    return Robot.load("so101", mount="fixed")


@pytest.fixture(scope="module")
def policy(arm: Robot, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """It holds a pose."""
    folder, count = tmp_path_factory.mktemp("hold"), len(arm.joints)
    action = np.array([POSE.get(name, 0.0) for name in arm.joints.names])
    linear(folder / "policy.onnx", np.zeros((count, count)), action)
    (folder / "policy.toml").write_text(CONTRACT)
    return Policy.load(folder / "policy.toml", arm)


def hand(arm: Robot) -> str:
    """The last link that a joint moves."""
    return arm.links[-1]


def sag(arm: Robot, policy: Policy, out: Path, *adapt: str) -> tuple[float, dict]:
    """rad that the joints are from their pose in the last second, and what was believed."""
    heavy = arm.with_payloads({hand(arm): Payload(0.25)})
    flown = deploy([policy], heavy, DeploySettings(plan=PLAN, adapt=adapt), out)
    assert flown.ok, flown.answer
    clip = list(Dataset.open(out))[-1]
    wanted = arm.joints.default + [POSE.get(name, 0.0) for name in arm.joints.names]
    return float(np.abs(clip.q[-50:] - wanted).max()), flown.to_dict()["adapted"]


def test_a_load_that_the_model_lacks_is_held_up(arm: Robot, policy: Policy, tmp_path: Path) -> None:
    """The joints sag by less than half; the recording has the targets that were sent."""
    file = tmp_path / "arm.json"
    ArmModel.of(arm, hand(arm)).write(file)
    without, nothing = sag(arm, policy, tmp_path / "plain")
    held, believed = sag(arm, policy, tmp_path / "adapted", str(file))
    assert nothing == {} and held < without / 2
    found = believed[hand(arm)]
    assert 0 <= found["kg"] <= 5 and set(found["offsets_nm"]) == set(ArmModel.read(file).joints)
    log = json.loads((tmp_path / "adapted.beliefs.json").read_text())[hand(arm)]
    assert len(log["beliefs"]) > 10 and log["rollbacks"] == found["rollbacks"]
    plain, moved = (list(Dataset.open(tmp_path / n))[-1] for n in ("plain", "adapted"))
    assert np.abs(np.array(moved.target)[-1] - np.array(plain.target)[-1]).max() > 0.02
    assert Dataset.open(tmp_path / "adapted").provenance["adapt"] == [str(file)]


def test_targets_are_moved_within_bounds(arm: Robot) -> None:
    """By half a radian at most, never out of a joint's range, and braking joints not at all."""
    limits = SafetyLimits.of_robot(arm, ("torque",), 50).joints.in_order(arm.joints.names)
    (found,) = adaptations_for([hand(arm)], arm, limits, 50)
    found._x[1:] = -5.0  # more than the joints have
    count = len(arm.joints)
    for q in (arm.joints.default, limits.lower - 0.2):
        command = JointCommand.of_targets(q, np.full(count, 0.5), np.ones(count))
        for _ in range(100):
            moved = found.shift(command).q - q
        assert (np.abs(moved) <= 0.5 + 1e-9).all() and (
            q + moved >= np.minimum(q, limits.lower)
        ).all()
    braking = JointCommand.damping(np.ones(count), arm.joints.default)
    np.testing.assert_array_equal(found.shift(braking).q, braking.q)


def test_it_learns_from_what_was_sent(arm: Robot) -> None:
    """A filter that brakes instead teaches nothing, and neither does a sample that is old."""
    limits = SafetyLimits.of_robot(arm, ("torque",), 50).joints.in_order(arm.joints.names)
    (found,) = adaptations_for([hand(arm)], arm, limits, 50)

    class Holding:
        """A pilot that holds the default pose."""

        rate = None

        def observe(self, state: object) -> None:
            """Nothing."""

        def decide(self) -> JointCommand:
            """The pose."""
            return JointCommand.of_targets(arm.joints.default, arm.joints.kp, arm.joints.kd)

    from gapless.deployment.links.world_link import WorldLink
    from gapless.worlds import MujocoWorld

    pilot = AdaptivePilot(Holding(), found, targets=True)  # type: ignore[arg-type]
    state = WorldLink(MujocoWorld(arm, 50)).read()
    pilot.decide()
    pilot.note_sent(JointCommand.damping(np.ones(len(arm.joints)), state.q))
    pilot.observe(state)
    assert not found._steps
    pilot.decide()
    pilot.observe(replace(state, sequence=5))
    pilot.decide()
    pilot.observe(replace(state, sequence=5))  # the same sample
    assert found._steps == 1


def test_hands_of_another_robot_are_refused(
    arm: Robot, policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And two of one arm, and a simulated robot that would adapt; before anything moves."""
    ArmModel.of(Robot.load("g1", mount="fixed"), "left_wrist_yaw_link").write(tmp_path / "g1.json")
    with pytest.raises(DataError, match="joints that this robot lacks"):
        deploy([policy], arm, DeploySettings(plan=PLAN, adapt=(str(tmp_path / "g1.json"),)))
    with pytest.raises(DataError, match="hands of different arms"):
        deploy([policy], arm, DeploySettings(plan=PLAN, adapt=(hand(arm), hand(arm))))
    assert main(["deploy", "--simulate", "go2", "--adapt", "hand"]) == 2
    assert "--simulate is the robot" in capsys.readouterr().err


def test_an_arm_is_weighed_by_flights(arm: Robot, policy: Policy, tmp_path: Path) -> None:
    """One with an empty hand, one with a known load: motors that are as told are found to be."""
    for name, kg in (("empty", 0.0), ("loaded", 0.25)):
        told = DeploySettings(plan=PLAN, payloads={hand(arm): Payload(kg)})
        assert deploy([policy], arm, told, tmp_path / name).ok
    limits = SafetyLimits.of_robot(arm, ("torque",), 50).joints
    both = (tmp_path / "empty", tmp_path / "loaded")
    (found,) = adaptations_for([hand(arm)], arm, limits, 50, both)
    np.testing.assert_allclose(found.arm.strength, 1.0, atol=0.1)
    told = DeploySettings(plan=PLAN, adapt=(hand(arm),), weighed=both)
    assert deploy([policy], arm, told).ok
    with pytest.raises(DataError, match="hardly differs"):
        adaptations_for([hand(arm)], arm, limits, 50, both[:1])
