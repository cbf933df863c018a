"""Residuals that all windows share widen intervals; those that chance gives do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.identification.optimisers.gauss_newton import gauss_newton
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.model_error import model_error
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.parameters import parameters_of
from gapless.worlds import Effects, MujocoWorld
from hidden_pair import STEP, nominal_pair, recorded


def asked(effects: Effects | None = None) -> Problem:
    """Gains and friction of two joints, from twelve windows, for drives with these effects."""
    pair = nominal_pair()
    windows = windows_of(recorded(pair, ["a", "b"], noise=1e-3, effects=effects), pair, 1.0, 12)
    world = MujocoWorld(pair, physics_step=STEP)
    return Problem(world, parameters_of(pair, ["kp", "damping", "frictionloss"]), windows)


@pytest.fixture(scope="module")
def problem() -> Problem:
    """The model is right."""
    return asked()


def test_white_residuals_count_as_they_are(problem: Problem) -> None:
    """Each reading is news."""
    linear = problem.linearised(np.zeros(len(problem)))
    sizes = [
        model_error(problem, Linear(linear.z, r, linear.slope, np.ones_like(r)))
        for r in np.random.default_rng(1).normal(size=(20, *linear.residual.shape))
    ]
    assert 0.7 < np.median(sizes) < 2.0


def test_an_error_of_the_model_is_seen_in_its_joint(problem: Problem) -> None:
    """Friction that grows with the load, in the elbow alone, after the rest was fitted."""
    loaded = asked(Effects(load_friction=np.array([0.0, 0.2])))
    sizes = [
        model_error(p, gauss_newton(p, np.zeros(len(p))).linear or pytest.fail("no slopes"))
        for p in (problem, loaded)
    ]
    elbow = np.array([p.joint == "elbow_flex" for p in problem.parameters])
    assert sizes[1][elbow].min() > 10 * sizes[0][elbow].max()
    assert sizes[1][elbow].min() > 3 * sizes[1][~elbow].max()


def test_few_windows_count_less(problem: Problem) -> None:
    """Two windows of the same residuals leave more open than twelve: by Student's t."""
    few = problem.on(problem.windows[np.arange(2)])
    noise = np.random.default_rng(2).normal(size=(12, problem.windows.steps * 2))
    sizes = []
    for asked_of in (problem, few):
        linear = asked_of.linearised(np.zeros(len(problem)))
        read = noise[: len(linear.residual)]
        sizes.append(model_error(asked_of, replace(linear, residual=read)))
    assert np.median(sizes[1]) > 5 * np.median(sizes[0])


def test_bodies_are_probed_as_joints_are(problem: Problem) -> None:
    """The objective of body positions has other readings, and a size for every parameter."""
    bodies = Problem(problem.world, problem.parameters, problem.windows, objective="bodies")
    size = model_error(bodies, bodies.linearised(np.zeros(len(bodies))))
    assert size.shape == (len(bodies),) and np.isfinite(size).all()
