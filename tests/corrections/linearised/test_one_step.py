"""Closed-form targets equal what is known to be lacking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.linearised.one_step import (
    gauss_newton_targets,
    smoothed,
    state_targets,
    torque_targets,
    why_not_dynamics,
)
from gapless.corrections.training.training_windows import drawn_windows
from gapless.measurement.windows import Windows
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, recorded

BOTH = np.arange(2)


@pytest.fixture(scope="module")
def smooth(pair: Robot) -> Robot:
    """The pair without dry friction, which leaves the torque of a joint at rest open."""
    return pair.with_joints(frictionloss=0.0)


def nominal(robot: Robot, **settings: object) -> MujocoWorld:
    """Its world."""
    return MujocoWorld(robot, 50, physics_step=STEP, **settings)  # type: ignore[arg-type]


def cut(clips: list[Recording], robot: Robot) -> Windows:
    """Windows of smoothed recordings."""
    return drawn_windows(smoothed(clips), robot, 1.0, 100, 0)


def slope(found: np.ndarray, want: np.ndarray, weight: np.ndarray) -> float:
    """How many times too large the found values are, by least squares."""
    return float((weight * found * want).sum() / (weight * want**2).sum())


def miss(found: np.ndarray, want: np.ndarray, weight: np.ndarray) -> float:
    """Root mean square difference, as a share of what is wanted."""
    return float(np.sqrt((weight * (found - want) ** 2).sum() / (weight * want**2).sum()))


def test_missing_damping_comes_back_as_torque(smooth: Robot) -> None:
    """Noisy encoders of a robot with more damping tell -0.3 dq."""
    damped = smooth.with_joints(damping=smooth.joints.damping + 0.3)
    windows = cut(recorded(damped, ["a", "b"]), smooth)
    found = torque_targets(nominal(smooth), windows, BOTH)
    speed = windows.states.dq
    want = -0.3 * (speed[:, 1:] + speed[:, :-1]) / 2
    assert slope(found.output, want, found.weight) == pytest.approx(1.0, abs=0.02)
    assert miss(found.output, want, found.weight) < 0.25
    assert found.weight.mean() > 0.8


def test_nothing_lacks_where_the_world_is_right(smooth: Robot) -> None:
    """Load, gains, delay and encoder bias are the world's: no torque is left to explain."""
    effects = Effects(delay=0.023, encoder_bias=np.array([0.1, -0.1]))
    told = Conditions(payloads={"gripper": Payload(0.2)}, gains={"elbow_flex": (12.0, 0.1)})
    world = nominal(smooth, effects=effects)
    asked = np.asarray(multisine(smooth, 6.0, 50, seed=3))
    clip = record(world, asked, "a", start=world.home(), conditions=told)
    right = torque_targets(world, cut([clip], smooth), BOTH)
    wrong = torque_targets(nominal(smooth), cut([clip], smooth), BOTH)
    size = [np.sqrt((t.weight * t.output**2).sum() / t.weight.sum()) for t in (right, wrong)]
    assert size[0] < 0.1 * size[1]


def test_a_moved_target_comes_back(pair: Robot) -> None:
    """A robot that holds all its targets 0.05 rad too high is told by Gauss-Newton, despite dry
    friction and a delay."""
    world = nominal(pair, effects=Effects(delay=0.02))
    asked = np.asarray(multisine(pair, 6.0, 50, seed=1))
    clip = record(world, asked + 0.05, "a", start=world.home())
    windows = cut([replace(clip, target=asked, channels={})], pair)
    found = gauss_newton_targets(world, windows, "action", BOTH)
    used = found.weight > 0
    assert np.median(found.output[used]) == pytest.approx(0.05, abs=0.003)
    assert found.output[used].std() < 0.02
    assert used[:, :-4].all() and not used[:, -4:].any()


def test_one_step_of_the_right_world_lacks_nothing(pair: Robot) -> None:
    """States that a world recorded itself are where it goes."""
    world = nominal(pair)
    clip = record(world, np.asarray(multisine(pair, 4.0, 50, seed=0)), "a", start=world.home())
    windows = drawn_windows([clip], pair, 1.0, 100, 0)
    found = state_targets(world, windows, np.arange(4))
    # A window starts from a smoothed state; all others are as they were recorded.
    assert np.abs(found.output[:, 1:]).max() < 1e-9
    assert (found.weight == 1).all()


def test_smoothing_takes_noise_off_and_moves_nothing(soft: Robot) -> None:
    """The noise of encoders falls by half or more, the motion stays, and gaps do not leak."""
    clean, noisy = (recorded(soft, ["a"], noise=n)[0] for n in (0.0, 2e-3))
    left = smoothed([noisy])[0].q - clean.q
    assert left.std() < 0.7 * 2e-3
    mask = clean.mask.copy()
    mask[100] = False
    q = np.where(mask, clean.q, 99.0)
    gap = smoothed([replace(clean, q=q, mask=mask)])[0]
    assert not gap.mask[95:106].any() and gap.mask[:95].all()
    assert np.abs(gap.q[gap.mask] - clean.q[gap.mask]).max() < 0.01


def test_where_torques_cannot_be_told(pair: Robot) -> None:
    """Free robots and actuators beyond the PD law are refused with the reason."""
    assert why_not_dynamics(nominal(pair)) == ""
    assert "depend on more" in why_not_dynamics(nominal(pair, effects=Effects(backlash=0.01)))
    assert "meets a floor" in why_not_dynamics(MujocoWorld(Robot.load("kbot_legs", mount="free")))
