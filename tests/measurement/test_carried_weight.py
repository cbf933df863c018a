"""What the legs of a robot carry, by its joints and commands alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.measurement.alignment import gains_of, in_robot_order
from gapless.measurement.carried_weight import (
    GRAVITY,
    sinking_joints,
    usually_carried,
    without_weight,
)
from gapless.measurement.fall_signs import fall_finding
from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.motions.balance import Balance
from gapless.motions.standing import stand
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, rotate
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from small_biped import small_biped
from small_biped import squat as quick_squat

RATE = 50
CROUCH = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A free G1."""
    return Robot.load("g1", mount="free")


def bent(robot: Robot) -> np.ndarray:
    """(J,) the default pose with bent legs."""
    q = robot.joints.default.copy()
    for side in ("left", "right"):
        for joint, angle in CROUCH.items():
            q[robot.joints.index(f"{side}_{joint}_joint")] = angle
    return q


def joints_alone(clip: Recording) -> Recording:
    """The same as a log without base, IMU and torque."""
    return replace(clip, channels={})


def carried(clip: Recording, robot: Robot) -> np.ndarray:
    """(T,) what is said of a log of joints."""
    estimate = in_robot_order(joints_alone(clip), robot).estimate
    assert estimate is not None and estimate.carried is not None
    return estimate.carried


@pytest.fixture(scope="module")
def squat(g1: Robot) -> Recording:
    """Squats under feedback, in simulation."""
    targets = stand(g1, 6.0).targets(g1, RATE)[None]
    seen, commands = Balance(g1).play(MujocoWorld(g1, RATE), targets)
    used = np.ones(commands[0].shape, bool)
    return Recording("squat", g1.joints.names, RATE, seen.q[0, :-1], commands[0], used)


@pytest.fixture(scope="module")
def fall(g1: Robot) -> Recording:
    """It stands for a moment, and lies on its face for seven seconds."""
    world = MujocoWorld(g1, RATE)
    return record(world, np.tile(g1.joints.default, (400, 1)), "fall", start=world.home())


def test_a_robot_that_stands_carries_its_weight(g1: Robot, squat: Recording) -> None:
    """All of it, whatever its knees do."""
    np.testing.assert_allclose(carried(squat, g1), 1.0, atol=0.1)
    assert in_robot_order(squat, g1).valid.all()
    assert fall_finding(squat, in_robot_order(squat, g1).estimate) is None


def test_one_that_lies_carries_nothing_and_is_not_used(g1: Robot, fall: Recording) -> None:
    """The base of the lying robot, which its level soles would give, teaches nothing."""
    aligned, up = in_robot_order(joints_alone(fall), g1), fall.channels["base_quat_wxyz"]
    lean = np.degrees(np.arccos(np.clip(1 - 2 * (up[:, 1] ** 2 + up[:, 2] ** 2), -1, 1)))
    assert aligned.valid[:10].all() and lean[-1] > 80 and not aligned.valid[lean > 45].any()
    found = fall_finding(joints_alone(fall), aligned.estimate)
    assert found is not None and "its legs carry no weight" in found.message


def test_gains_that_are_off_do_not_matter(g1: Robot, fall: Recording) -> None:
    """What counts is the share of what it usually carries."""
    kp, kd = gains_of(fall.conditions, g1)
    gains = {j: (0.6 * p, d) for j, p, d in zip(g1.joints.names, kp, kd, strict=True)}
    weaker = replace(fall, conditions=replace(fall.conditions, gains=gains))
    found, before = carried(weaker, g1), carried(fall, g1)
    same = without_weight(found, RATE) == without_weight(before, RATE)
    assert without_weight(before, RATE).any() and same.mean() > 0.95


def test_who_hangs_is_not_said_to_have_fallen(g1: Robot) -> None:
    """Nobody knows what its legs would carry."""
    q = np.tile(bent(g1), (200, 1))
    clip = Recording("hangs", g1.joints.names, 50.0, q, q.copy(), np.ones(q.shape, bool))
    assert usually_carried(carried(clip, g1)) is None
    assert in_robot_order(clip, g1).valid.all()


def test_straight_legs_and_quick_motions_tell_nothing(tmp_path: Path) -> None:
    """Bones hold a straight leg, and quick squats take torques many times the weight's."""
    biped = small_biped(tmp_path)
    world, straight = MujocoWorld(biped, RATE), np.zeros((200, 6))
    stands = record(world, straight, "stands", start=world.home())
    assert np.isnan(carried(stands, biped)).all()
    quick = record(world, quick_squat(0), "squats", start=world.home())
    for clip in (stands, quick):
        assert in_robot_order(joints_alone(clip), biped).valid.all()


def test_who_stands_on_one_leg_and_carries_its_weight_has_not_fallen(g1: Robot) -> None:
    """Its centre of mass is beside the foot for two seconds, which alone looks like a fall."""
    q = np.tile(bent(g1), (200, 1))
    up = np.clip(np.minimum(np.arange(200) - 40, 150 - np.arange(200)) / 5, 0, 1)
    q[:, g1.joints.index("left_hip_pitch_joint")] -= 0.8 * up
    clip = Recording("kick", g1.joints.names, 50.0, q, q.copy(), np.ones(q.shape, bool))
    estimate = in_robot_order(clip, g1).estimate
    assert estimate is not None and estimate.unbalanced(50.0) is not None
    body, upward = StandingBody.of(g1), rotate(conj(estimate.base_quat_wxyz), UPWARD)
    bends, falls = sinking_joints(body, q, upward, estimate.standing)
    weight = body.mass.sum() * GRAVITY
    torque = -weight * (falls / (bends**2).sum(axis=1))[:, None] * bends
    kp, _ = gains_of(clip.conditions, g1)
    loaded = replace(clip, target=q + torque / kp)
    assert fall_finding(clip, estimate) is not None
    assert fall_finding(loaded, in_robot_order(loaded, g1).estimate) is None


def test_the_base_sinks_and_the_feet_stay(g1: Robot) -> None:
    """Checked by moving the joints so: in the base's frame both feet rise as fast as it sinks."""
    body, q, small = StandingBody.of(g1), bent(g1)[None], 1e-4
    upward, both = np.array([[0.0, 0.0, 1.0]]), np.ones((1, 2), bool)
    bends, falls = sinking_joints(body, q, upward, both)
    before, after = (body.seen(body.poses(at)) for at in (q, q + small * bends))
    np.testing.assert_allclose((after.pos - before.pos)[0] / small, [[0, 0, 1]] * 2, atol=1e-2)
    turned = mul(after.quat[0], conj(before.quat[0]))
    np.testing.assert_allclose(turned[:, 1:] / small, 0, atol=1e-2)
    assert 0.5 < falls[0] < 1.0  # the trunk sinks as fast as the base, the legs less
