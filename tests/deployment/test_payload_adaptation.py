"""Adaptation: a load is found and carried, beliefs stay bounded, a wrong turn is taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.deployment.arm_model import ArmModel
from gapless.deployment.payload_adaptation import AdaptationSettings, PayloadAdaptation
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.errors import DataError, FormatError
from gapless.robots import Payload, Robot

HAND = "left_wrist_yaw_link"


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Its base is held."""
    return Robot.load("g1", mount="fixed")


@pytest.fixture(scope="module")
def arm(robot: Robot) -> ArmModel:
    """Its left arm."""
    return ArmModel.of(robot, HAND)


def held_by_mujoco(robot: Robot, q: np.ndarray) -> np.ndarray:
    """(J,) torques that gravity asks for, by the simulator."""
    import mujoco

    model = robot.model()
    data = mujoco.MjData(model)
    rows = [model.joint(name).qposadr[0] for name in robot.joints.names]
    data.qpos[rows] = q
    mujoco.mj_forward(model, data)
    return data.qfrc_bias[[model.joint(name).dofadr[0] for name in robot.joints.names]]


def test_torques_are_the_simulators(robot: Robot, arm: ArmModel) -> None:
    """With and without a load, in poses all over the range."""
    names = list(robot.joints.names)
    rows = [names.index(joint) for joint in arm.joints]
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform(robot.joints.lower, robot.joints.upper)
        held, load = arm.torques(dict(zip(names, q.tolist(), strict=True)))
        np.testing.assert_allclose(held, held_by_mujoco(robot, q)[rows], atol=1e-6)
        heavy = robot.with_payloads({HAND: Payload(2.0)})
        np.testing.assert_allclose(held + 2 * load, held_by_mujoco(heavy, q)[rows], atol=1e-6)


def test_an_arm_is_a_file_without_mujoco(arm: ArmModel, tmp_path: Path) -> None:
    """Written beforehand; read and used where nothing of a simulator is installed."""
    file = tmp_path / "arm.json"
    arm.write(file)
    assert ArmModel.read(file) == arm
    code = (
        "import sys; sys.modules['mujoco'] = None; sys.modules['torch'] = None\n"
        "from gapless.deployment.arm_model import ArmModel\n"
        "import gapless.deployment.payload_adaptation\n"
        f"arm = ArmModel.read({str(file)!r})\n"
        "print(arm.torques({link.joint: 0.1 for link in arm.links})[1].sum())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    file.write_text('{"format": 1, "robot": "g1"}')
    with pytest.raises(FormatError, match="no model of an arm"):
        ArmModel.read(file)


def test_a_link_that_others_hang_on_is_no_hand(robot: Robot) -> None:
    """What it carries is not known."""
    with pytest.raises(DataError, match="no end of an arm"):
        ArmModel.of(robot, "torso_link")


def still(robot: Robot, arm: ArmModel, kg: float, offset: float, step: int) -> tuple:
    """A sample and a command of an arm that stands still under a load, and lacks torque."""
    names = list(robot.joints.names)
    q = robot.joints.default.copy()
    for k, joint in enumerate(arm.joints):
        q[names.index(joint)] += 0.3 * np.sin(0.05 * step + k)
    held, load = arm.torques(dict(zip(names, q.tolist(), strict=True)))
    kp, kd = np.full(len(q), 40.0), np.full(len(q), 2.0)
    target = q.copy()
    rows = [names.index(joint) for joint in arm.joints]
    target[rows] += (held + kg * load + offset) / 40.0
    state = LinkState(step, step / 50, step / 50, q, np.zeros(len(q)))
    return state, JointCommand.of_targets(target, kp, kd)


def learner(robot: Robot, arm: ArmModel, **changes: float) -> PayloadAdaptation:
    """At 50 Hz."""
    settings = replace(AdaptationSettings(), **changes)
    return PayloadAdaptation(arm, robot.joints.names, robot.joints.effort, 50, settings)


def test_a_load_is_found_within_bounds_and_logged(
    robot: Robot, arm: ArmModel, tmp_path: Path
) -> None:
    """2 kg are found; 9 kg are not believed; torques are within their share."""
    adaptation = learner(robot, arm)
    for step in range(250):
        adaptation.learn(*still(robot, arm, 2.0 if step >= 100 else 0.0, 0.3, step))
    assert adaptation.mass == pytest.approx(2.0, rel=0.1)
    adaptation.write_log(tmp_path / "log.json")
    log = json.loads((tmp_path / "log.json").read_text())
    assert log["beliefs"][-1]["mass"] == pytest.approx(adaptation.mass, abs=0.1)
    for step in range(300):
        state, command = still(robot, arm, 9.0, 0.0, step)
        adaptation.learn(state, command)
        added = adaptation.correct(command).tau - command.tau
        assert (np.abs(added) <= 0.5 * robot.joints.effort + 1e-9).all()
    assert adaptation.mass <= 5.0


def test_a_belief_that_explains_less_than_an_earlier_one_is_taken_back(
    robot: Robot, arm: ArmModel
) -> None:
    """A load that was never there: the belief before it comes back, and it is said."""
    adaptation = learner(robot, arm)
    for step in range(250):
        adaptation.learn(*still(robot, arm, 0.0, 0.0, step))
    adaptation._x[0], adaptation._p[:] = 4.0, 1e-9  # as a filter that fooled itself
    for step in range(250, 330):
        adaptation.learn(*still(robot, arm, 0.0, 0.0, step))
    assert adaptation.rollbacks >= 1 and adaptation.mass < 0.3
    assert any(belief.rolled_back for belief in adaptation.log)
