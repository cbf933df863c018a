"""Readings that repeat one error do not outvote what was known before."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.identification.optimisers.gauss_newton import gauss_newton
from gapless.identification.plans.fitting import fit
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.parameters import parameters_of
from gapless.worlds import Effects, MujocoWorld
from hidden_pair import STEP, nominal_pair, recorded


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Encoder biases, of which there are none, from drives whose friction the model lacks."""
    pair, rough = nominal_pair(), Effects(load_friction=0.3, backlash=0.03)
    windows = windows_of(recorded(pair, ["a", "b"], effects=rough), pair, 0.5, 6)
    world = MujocoWorld(pair, physics_step=STEP)
    return Problem(world, parameters_of(pair, ["encoder_bias", "armature"]), windows)


def test_priors_count_as_much_more_as_the_data_count_less(problem: Problem) -> None:
    """And never less than as they are."""
    z = np.ones((1, len(problem)))
    assert problem.with_discounted_data(9.0).prior_cost(z) == 9 * problem.prior_cost(z)
    assert problem.with_discounted_data(0.1).prior_cost(z) == problem.prior_cost(z)


def test_a_fit_ends_nearer_to_its_priors_than_its_readings_would(problem: Problem) -> None:
    """What the errors of the model pull away comes back, here to the truth: no bias."""
    found = fit(problem, quick_start=False)
    assert found.uncertainty.discount > 2
    plain = gauss_newton(found.problem, np.zeros(len(problem)))
    biases = [p.kind == "encoder_bias" for p in problem.parameters]
    assert np.linalg.norm(found.z[biases]) < np.linalg.norm(plain.z[biases])
