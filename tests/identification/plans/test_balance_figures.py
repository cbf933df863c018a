"""Figures of balance: which they are, what was known of them, and that a path finds them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless import Policy, Robot
from gapless.evaluation.path_prediction import PathPrediction
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.identification.plans import balance_figures
from gapless.identification.plans.balance_figures import balance_names
from gapless.identification.plans.loop_fit import LoopFit, by_motor
from gapless.parameters import parameters_of
from gapless.worlds import Effects, MujocoWorld
from leaning_policy import takes_in, write_leaning_policy


def known(robot: Robot, *names: str) -> Calibration:
    """Figures that replays found, at their priors."""
    estimates = [
        Estimate(p, p.prior, 0.1 * p.prior_std, True, False, (p.prior,))
        for p in parameters_of(robot, names)
    ]
    return Calibration(robot.name, tuple(estimates), np.eye(len(estimates)))


def with_balance_figures(found: Calibration, robot: Robot) -> Calibration:
    """All of them, with the usual bounds."""
    wanted = parameters_of(robot, balance_names(robot))
    return balance_figures.with_balance_figures(found, robot, wanted)


@pytest.fixture(scope="module")
def go2() -> Robot:
    """On its feet."""
    return Robot.load("go2", mount="free")


def test_they_are_of_what_carries() -> None:
    """Legs and waist of a humanoid, not its arms; its torso, and how its IMU sits."""
    names = balance_names(Robot.load("g1_23dof", mount="free"))
    assert sum(name.startswith("encoder_bias/") for name in names) == 15
    assert not any("shoulder" in name or "elbow" in name for name in names)
    assert {"imu_roll", "imu_pitch", "mass/torso_link", "com_x/torso_link"} < set(names)


def test_what_is_known_stays_as_it_is(go2: Robot) -> None:
    """Under whatever name; the rest is unknown. A robot that is held does not balance."""
    before = known(go2, "imu_pitch", "com_x/root", "encoder_bias@all")
    after = with_balance_figures(before, go2)
    names = [e.name for e in after.estimates]
    assert after.estimates[: len(before.estimates)] == before.estimates
    assert len(set(names)) == len(names) and "imu_roll" in names and "mass/base" in names
    assert not any(n.startswith("encoder_bias/") for n in names[len(before.estimates) :])
    assert names.count("imu_pitch") == 1 and names.count("com_x/base") == 1
    assert not any(e.identifiable for e in after.estimates[len(before.estimates) :])
    assert after.correlation.shape == (len(names),) * 2
    assert not balance_names(Robot.load("go2", mount="fixed"))


def test_zeros_stay_each_its_own(go2: Robot) -> None:
    """Though the motors of several joints are alike."""
    begun = with_balance_figures(known(go2, "kp"), go2)
    together = by_motor(begun.estimates, go2)
    zeros = [e.parameter.kind == "encoder_bias" for e in begun.estimates]
    assert together[:, zeros].sum() == sum(zeros) == (together[:, zeros] > 0).any(axis=1).sum()
    assert len(together) < len(begun.estimates)


def test_a_path_finds_what_replays_left_out(go2: Robot, tmp_path: Path) -> None:
    """A tilted IMU, of which the calibration said nothing, with an interval that holds it."""
    policy = Policy.load(write_leaning_policy(tmp_path))
    askew = MujocoWorld(go2, effects=Effects(imu_pitch=0.03))
    path = PathPrediction(policy, takes_in(askew, policy))
    begun = with_balance_figures(known(go2, "floor_friction"), go2)
    found = LoopFit(begun, lambda c: c.world(go2, 50), path).found()
    errors = [path.error(c.world(go2, 50)) for c in (begun, found)]
    assert errors[1] < 0.5 * errors[0]
    tilt = found["imu_pitch"]
    low, high = tilt.interval
    assert tilt.identifiable and tilt.std < tilt.parameter.prior_std and low < 0.03 < high
    assert abs(found["imu_roll"].value) < 0.01
