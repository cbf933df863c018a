"""Weighing: motors that make less than they are told are found by a load that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.deployment.arm_model import ArmModel
from gapless.deployment.arm_weighing import weighed_arm
from gapless.deployment.payload_adaptation import PayloadAdaptation
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot

HAND, RATE, KP, KD = "left_wrist_yaw_link", 50, 60.0, 2.0
REAL = np.array([0.9, 0.95, 0.8, 0.92, 1.0, 0.85, 1.1])
"""Share of what its motors are told that the arm below makes."""


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Its base is held."""
    return Robot.load("g1", mount="fixed")


@pytest.fixture(scope="module")
def arm(robot: Robot) -> ArmModel:
    """Its left arm."""
    return ArmModel.of(robot, HAND)


def swung(robot: Robot, arm: ArmModel, kg: float, seed: int, rubs: float = 0.0) -> Recording:
    """A slow motion of an arm whose motors make what `REAL` says, and rub."""
    rng, names = np.random.default_rng(seed), robot.joints.names
    rows = [names.index(joint) for joint in arm.joints]
    time = np.arange(300)[:, None] / RATE
    often, phase = rng.uniform(0.2, 0.5, 7), rng.uniform(0, 6, 7)
    q, dq = np.tile(robot.joints.default, (300, 1)), np.zeros((300, len(names)))
    q[:, rows] += 0.4 * np.sin(2 * np.pi * often * time + phase)
    dq[:, rows] = 0.4 * 2 * np.pi * often * np.cos(2 * np.pi * often * time + phase)
    target = q.copy()
    for t in range(1, 300):
        held, load = arm.torques(dict(zip(names, q[t].tolist(), strict=True)))
        told = (held + kg * load) / REAL + rubs * np.tanh(dq[t, rows] / 0.1)
        target[t - 1, rows] = q[t, rows] + (told + KD * dq[t, rows]) / KP
    gains = {joint: (KP, KD) for joint in names}
    loads = {HAND: Payload(kg)} if kg else {}
    told = Conditions(payloads=loads, gains=gains)
    mask = np.ones(q.shape, bool)
    return Recording(f"swing {seed}", tuple(names), RATE, q, target, mask, {"dq": dq}, told)


@pytest.mark.parametrize("rubs", [0.0, 0.5])
def test_strengths_are_found_whatever_rubs(robot: Robot, arm: ArmModel, rubs: float) -> None:
    """Of joints that show the load; others are believed to be as told until they do."""
    clips = [swung(robot, arm, kg, seed, rubs) for seed in (1, 2) for kg in (0.0, 1.0)]
    found = weighed_arm(arm, clips)
    np.testing.assert_allclose(found.strength, REAL, rtol=0.02)
    assert found.joints == arm.joints and arm.strength.tolist() == [1.0] * 7


def test_a_weighed_arm_believes_the_load_that_is_there(robot: Robot, arm: ArmModel) -> None:
    """What weak motors are told is not taken for a heavier load; it comes after 3 s."""
    bare, clip = swung(robot, arm, 0.0, 3), swung(robot, arm, 2.0, 3)
    assert bare.target is not None and clip.target is not None
    target = np.concatenate([bare.target[:150], clip.target[150:]])
    names, masses = clip.joints, []
    for known in (arm, arm.with_strength(REAL)):
        adaptation = PayloadAdaptation(known, names, robot.joints.effort, RATE)
        gains = np.full(len(names), KP), np.full(len(names), KD)
        for t in range(1, 300):
            state = LinkState(t, t / RATE, t / RATE, clip.q[t], clip.channels["dq"][t])
            command = JointCommand.of_targets(target[t - 1], *gains)
            adaptation.learn(state, command)
        masses.append(adaptation.mass)
    assert abs(masses[1] - 2.0) < abs(masses[0] - 2.0)
    assert masses[1] == pytest.approx(2.0, rel=0.05)


def test_recordings_that_say_nothing_are_refused(robot: Robot, arm: ArmModel) -> None:
    """Without a known load there is nothing to weigh by; it says what to record."""
    bare = swung(robot, arm, 0.0, 1)
    unknown = replace(bare, conditions=replace(bare.conditions, payloads=None))
    for clips in ([bare], [], [unknown, unknown]):
        with pytest.raises(DataError, match="--payload left_wrist_yaw_link=0"):
            weighed_arm(arm, clips)
