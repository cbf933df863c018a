"""Which parameter costs survival: the one that was made to."""

from __future__ import annotations

import numpy as np

from gapless import Calibration, CorrectedWorld, MujocoWorld, Policy, Robot, Scenario
from gapless.evaluation.sensitivity import find_sensitivity
from gapless.identification.estimate import Estimate, nominal_figures
from gapless.parameters import parameters_of
from gapless.worlds import Effects


def calibration(robot: Robot, stds: dict[str, float]) -> Calibration:
    """Parameters at their priors, each as uncertain as it is told."""
    found = parameters_of(robot, list(stds))
    nominal = nominal_figures(robot, Effects(), found)
    estimates = tuple(
        Estimate(p, p.prior, std, True, False, n)
        for p, std, n in zip(found, stds.values(), nominal, strict=True)
    )
    return Calibration(robot.name, estimates, np.eye(len(estimates)))


def test_weak_motors_cost_more_than_a_little_armature(still: Policy, go2: Robot) -> None:
    """A strength of 0.1 at the lower end lets the robot down; armature hardly matters."""
    known = calibration(go2, {"strength@all": 0.45, "armature@all": 0.01})
    raw = MujocoWorld(go2)
    found = find_sensitivity(
        *(still, raw, CorrectedWorld(raw, known), known, Scenario(episodes=4, seconds=1.5))
    )
    cost = {one.parameter.split("/")[0]: one.cost for one in found}
    assert cost["strength"] == 1.0
    assert cost["armature"] == 0.0
    assert all(one.survival[0] == 1.0 for one in found)
