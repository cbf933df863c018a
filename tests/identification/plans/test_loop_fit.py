"""A fit in the loop: what only a policy's path shows is found by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless import Policy, Robot
from gapless.evaluation.path_prediction import PathPrediction
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.identification.plans.loop_fit import LoopFit, by_motor
from gapless.parameters import parameters_of
from gapless.parameters.motors import motor_of
from gapless.progress import Progress
from gapless.worlds import Effects, MujocoWorld
from leaning_policy import takes_in, write_leaning_policy


def nothing_found(robot: Robot, *names: str) -> Calibration:
    """Every figure at its prior."""
    estimates = [
        Estimate(p, p.prior, 0.1 * p.prior_std, True, False, (p.prior,))
        for p in parameters_of(robot, names)
    ]
    return Calibration(robot.name, tuple(estimates), np.eye(len(estimates)))


@pytest.fixture(scope="module")
def go2() -> Robot:
    """On its feet."""
    return Robot.load("go2", mount="free")


def test_a_tilted_imu_comes_back(go2: Robot, tmp_path: Path) -> None:
    """Of a robot that leans as its IMU tells it, against the pull of what replays had found."""
    policy = Policy.load(write_leaning_policy(tmp_path))
    askew = MujocoWorld(go2, effects=Effects(imu_pitch=0.06))
    path, begun = PathPrediction(policy, takes_in(askew, policy)), nothing_found(go2, "imu_pitch")
    told: list[Progress] = []
    found = LoopFit(begun, lambda c: c.world(go2, 50), path, told.append).found()
    assert 0.02 < found["imu_pitch"].value < 0.07
    low, high = found["imu_pitch"].interval
    assert low < 0 < 0.06 < high  # where it began, and the truth
    errors = [path.error(c.world(go2, 50)) for c in (begun, found)]
    assert errors[1] < 0.7 * errors[0]
    assert [p.done for p in told] == list(range(1, len(told) + 1))


class Bowl:
    """A path that is right at one friction of the floor alone, at or beyond its bound."""

    def __init__(self, best: float) -> None:
        self.best = best

    def residuals(self, world: MujocoWorld) -> np.ndarray:
        """(1,) m."""
        return np.array([0.1 * (world.robot.floor.friction - self.best)])

    def error(self, world: MujocoWorld) -> float:
        """In m."""
        return float(abs(self.residuals(world)[0]))


@pytest.mark.parametrize("best", [0.5, 100.0])
def test_figures_stay_within_their_bounds(go2: Robot, best: float) -> None:
    """And are found where they can be."""
    begun = nothing_found(go2, "floor_friction")
    found = LoopFit(begun, lambda c: c.world(go2, 50), Bowl(best)).found()["floor_friction"]  # type: ignore[arg-type]
    wanted = min(best, found.parameter.upper)
    before = abs(begun["floor_friction"].value - wanted)
    assert found.parameter.lower <= found.value <= found.parameter.upper
    assert abs(found.value - wanted) < 0.5 * before


def test_of_very_many_figures_those_of_a_motor_move_as_one(go2: Robot) -> None:
    """By the same share of what was unknown of each; others stay."""
    begun = nothing_found(go2, "kp", "floor_friction")
    together = by_motor(begun.estimates, go2)
    kinds = {motor_of(go2, joint) for joint in go2.joints.names}
    assert together.shape == (len(kinds) + 1, len(go2.joints) + 1)
    assert (together.sum(axis=0) == 1).all()

    class Weak(Bowl):
        """A path that asks for weaker knees."""

        def residuals(self, world: MujocoWorld) -> np.ndarray:
            knees = [i for i, j in enumerate(go2.joints.names) if "calf" in j]
            kp = world.robot.joints.kp[knees] / go2.joints.kp[knees]
            return 0.1 * (kp[:1] - self.best)

    found = LoopFit(begun, lambda c: c.world(go2, 50), Weak(0.8), together=together).found()  # type: ignore[arg-type]
    calves = [e.value / e.nominal[0] for e in found.estimates if "calf" in e.name]
    assert calves == pytest.approx([calves[0]] * 4) and 0.78 < calves[0] < 0.95
    assert found["floor_friction"].value == begun["floor_friction"].value


def test_a_path_that_nothing_changes_leaves_all_as_it_was(go2: Robot) -> None:
    """No step is better than none."""
    begun = nothing_found(go2, "imu_pitch", "imu_roll")
    same = Bowl(go2.floor.friction + 1.0)
    found = LoopFit(begun, lambda c: c.world(go2, 50), same).found()  # type: ignore[arg-type]
    assert found.values == begun.values
