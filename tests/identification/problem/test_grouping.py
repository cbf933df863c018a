"""Slopes of several parameters from one replay."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.identification.problem.grouping import Grouping, grouping_of
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.motions.excitation import multisine
from gapless.parameters import parameters_of
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

COLUMNS = np.array([0, 1, 2, 0, 1, 2])
"""Two steps of three joints."""


def changes(*rows: tuple[float, float, float]) -> np.ndarray:
    """(P, 1, 6) the same change at both steps."""
    return np.array([[row + row] for row in rows])


def test_what_moves_other_joints_shares_a_replay() -> None:
    """No overlap, one replay."""
    found = grouping_of(changes((1.0, 0, 0), (0, 1.0, 0), (1.0, 0, 0)), COLUMNS)
    assert sorted(map(sorted, found.groups)) == [[0, 1], [2]]


def test_what_overlaps_does_not() -> None:
    """Neighbours that move each other stay apart."""
    found = grouping_of(changes((1.0, 0.3, 0), (0, 1.0, 0.3), (0, 0, 1.0)), COLUMNS)
    assert all(len(group) < 3 for group in found.groups)
    assert not any({0, 1} <= set(group) for group in found.groups)


def test_a_small_response_is_not_drowned_by_a_large_one() -> None:
    """Overlap counts by the smaller of the two."""
    found = grouping_of(changes((100.0, 0.1, 0), (0, 0.1, 0)), COLUMNS)
    assert len(found.groups) == 2


def test_a_shared_column_goes_to_whoever_moves_it() -> None:
    """In proportion to what was seen."""
    found = Grouping(((0, 1),), np.array([[9.0, 0.0, 1.0], [0.0, 4.0, 1.0]]))
    shares = found.shares((0, 1), COLUMNS)
    assert np.allclose(shares[0], [1, 0, 0.5, 1, 0, 0.5])
    assert np.allclose(shares.sum(axis=0), 1)


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Both arms of a humanoid whose chest is held: what one arm does, the other does not feel."""
    robot = Robot.load("h1_2", mount="fixed")
    world = MujocoWorld(robot, 50)
    clip = record(world, multisine(robot, 12.0, 50, seed=1), "wave", start=world.home())
    names = [f"{kind}/{j}" for kind in ("kp", "frictionloss") for j in robot.joint_names("arms")]
    return Problem(world, parameters_of(robot, names), windows_of([clip], robot, 0.5, 24))


def test_slopes_are_those_of_single_replays(problem: Problem) -> None:
    """Grouped and single differences agree, in fewer replays."""
    z = np.full(len(problem), 0.1)
    grouped = problem.linearised(z).slope
    assert problem._grouping is not None
    assert len(problem._grouping.groups) < 0.7 * len(problem)
    problem._grouping = Grouping.single(range(len(problem)), len(problem))
    single = problem.linearised(z).slope
    problem._grouping = None
    size = np.linalg.norm(single, axis=(0, 1))
    off = np.linalg.norm(grouped - single, axis=(0, 1)) / size
    assert off.max() < 0.1
