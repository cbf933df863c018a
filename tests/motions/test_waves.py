"""Excitation: inside the limits, at home at both ends, reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.motions import CATALOGUE, excitation, waves
from gapless.motions.postures import hold
from gapless.robots import Robot

WAVES = [name for name, maker in CATALOGUE.items() if "joints" in maker.options]
"""Motions of any joints; the others move a limb or stand."""


@pytest.mark.parametrize("name", WAVES)
@pytest.mark.parametrize("robot", ["arms", "so101"])
def test_every_wave_obeys_limits_by_construction(
    name: str, robot: str, request: pytest.FixtureRequest
) -> None:
    """Positions with a margin, speeds; every joint moves, from home and back to it."""
    body: Robot = request.getfixturevalue(robot)
    motion = CATALOGUE[name].function(body, 40.0, seed=3, amplitude=1.0)
    joints = body.joints
    spare = 0.04 * (joints.upper - joints.lower) if name != "multisine" else 0
    assert (motion.q >= joints.lower + spare).all() and (motion.q <= joints.upper - spare).all()
    speed = np.abs(np.diff(motion.q, axis=0)) * motion.rate
    assert (speed <= joints.velocity).all()
    assert (np.ptp(motion.q, axis=0) > 0.02).all()
    assert np.allclose(motion.q[0], joints.default, atol=1e-9)
    assert np.allclose(motion.q[-1], joints.default, atol=1e-9)
    assert (motion.rate, len(motion), motion.joints) == (body.rate, 2000, joints.names)


@pytest.mark.parametrize("name", WAVES)
def test_a_seed_decides_the_motion(name: str, so101: Robot) -> None:
    """One seed, one motion; another seed, another one where anything is random."""
    first, again, other = (CATALOGUE[name].function(so101, 20.0, seed=s).q for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert name == "chirp" or not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["ramp", "steps", "chirp", "prbs", "sweep"])
def test_joints_take_turns_or_move_together(name: str, so101: Robot) -> None:
    """By default one joint moves at a time."""
    make = CATALOGUE[name].function
    moving = np.abs(np.diff(make(so101, 30.0).q, axis=0)) > 1e-9
    assert moving.sum(axis=1).max() == 1
    assert (np.abs(np.diff(make(so101, 30.0, together=True).q, axis=0)) > 1e-9).sum(
        axis=1
    ).max() == 6


@pytest.mark.parametrize("name", WAVES)
def test_only_the_joints_asked_for_move(name: str, arms: Robot) -> None:
    """Joints and groups by name; unknown ones are refused."""
    motion = CATALOGUE[name].function(arms, 20.0, 100, joints=["wrists", "left_elbow_joint"])
    moved = {j for j, span in zip(motion.joints, np.ptp(motion.q, axis=0), strict=True) if span > 0}
    assert moved == {*arms.joint_groups["wrists"], "left_elbow_joint"}
    with pytest.raises(NameMismatchError, match="wrists"):
        CATALOGUE[name].function(arms, 20.0, joints=["wrist"])


def test_multisine_is_the_one_that_was(so101: Robot) -> None:
    """The targets of `excitation.multisine`, as a Motion."""
    targets = excitation.multisine(so101, 4.0, 50, seed=7)
    assert np.array_equal(waves.multisine(so101, 4.0, 50, seed=7).q, targets)


def test_fourier_is_at_rest_and_unpushed_at_both_ends(so101: Robot) -> None:
    """Position, velocity and acceleration vanish there."""
    q = waves.fourier(so101, 10.0, 1000).q - so101.joints.default
    speed, push = np.diff(q, axis=0) * 1e3, np.diff(q, 2, axis=0) * 1e6
    for end in (0, -1):
        assert np.abs(q[end]).max() < 1e-9
        assert np.abs(speed[end]).max() < 1e-4
        assert np.abs(push[end]).max() < 0.01 * np.abs(push).max()


def test_chirp_rises_through_its_band(so101: Robot) -> None:
    """Few zero crossings in the first third, many in the last."""
    q = waves.chirp(so101, 30.0, joints=["shoulder_pan"], band=(0.2, 2.0)).q[:, 0]
    turns = np.diff(np.sign(np.diff(q))) != 0
    assert turns[:500].sum() < 8 < 20 < turns[1000:].sum()


def test_sweep_is_slow_and_wide(so101: Robot) -> None:
    """Quasi-static, through the range less its margin where there is time for it."""
    q = waves.sweep(so101, 40.0, joints=["shoulder_pan"], fastest=0.4).q
    assert np.abs(np.diff(q, axis=0)).max() * 50 <= 0.4 + 1e-9
    assert np.ptp(q[:, 0]) > 0.85 * (so101.joints.upper[0] - so101.joints.lower[0])


def test_hold_rests_in_its_postures(so101: Robot) -> None:
    """More than half of the time nothing moves."""
    moving = np.abs(np.diff(hold(so101, 30.0, dwell=3.0).q, axis=0)).max(axis=1)
    assert (moving < 1e-9).mean() > 0.5


def test_a_joint_without_limits_stays_near_its_home(so101: Robot) -> None:
    """Unlimited joints and unknown speeds get bounds of our own."""
    free = so101.with_joints(lower=-np.inf, upper=np.inf, velocity=np.inf)
    q = waves.steps(free, 30.0, amplitude=1.0).q - free.joints.default
    assert 0.5 < np.abs(q).max() <= np.pi / 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"seconds": 0.0}, "0.0 s at 50.0 Hz"),
        ({"seconds": float("nan")}, "nan s"),
        ({"seconds": 0.2}, "samples for each of 6 joints"),
        ({"rate": -1.0}, "at -1.0 Hz"),
        ({"amplitude": 1.5}, "amplitude is 1.5"),
        ({"band": (0.0, 1.0)}, "band is 0.0"),
        ({"joints": []}, "no joint of so101 is left"),
    ],
)
def test_nonsense_is_refused(so101: Robot, options: dict, problem: str) -> None:
    """The message says the value and what to give."""
    with pytest.raises(DataError, match=problem):
        waves.chirp(so101, **{"seconds": 10.0, **options})
