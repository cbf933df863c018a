"""Slopes predict what a small change of a state, a target or a torque does, many steps later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from free_states import free_states
from gapless.corrections.linearised.slopes import Trajectories, slopes
from gapless.corrections.linearised.tangent import difference, joint_columns, moved, positions
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.world import State
from hidden_pair import STEP

STEPS, ENVIRONMENTS = 12, 3
COLUMNS = np.array([0, 1])


@pytest.fixture
def smooth(pair: Robot) -> Robot:
    """Without dry friction, which has no slope."""
    return pair.with_joints(frictionloss=0.0)


def path_of(world: MujocoWorld, torques: np.ndarray | None = None) -> Trajectories:
    """A gentle motion, with what was commanded before it."""
    rng = np.random.default_rng(0)
    before = 10
    targets = np.cumsum(0.005 * rng.normal(size=(ENVIRONMENTS, before + STEPS, 2)), axis=1)
    start = replace(world.home(ENVIRONMENTS), dq=0.1 * rng.normal(size=(ENVIRONMENTS, 2)))
    play = world.rollout(start, targets[:, before:], torques=torques, history=targets[:, :before])
    states = State(play.q, play.dq)
    return Trajectories(states, targets, torques, before, [Conditions()] * ENVIRONMENTS)


def predicted(path: Trajectories, found, change: np.ndarray, given: np.ndarray) -> np.ndarray:
    """(n, T, 2V) changes by the slopes alone."""
    later = []
    for t in range(path.steps):
        change = np.einsum("nij,nj->ni", found.state[:, t], change)
        for lag in range(min(t + 1, found.output.shape[2])):
            change = change + np.einsum("nik,nk->ni", found.output[:, t, lag], given[:, t - lag])
        later.append(change)
    return np.stack(later, axis=1)


def missed(path: Trajectories, play: State, guess: np.ndarray) -> float:
    """Part of the true change of the positions that was not predicted."""
    true = difference(State(play.q, play.dq), path.states)[:, 1:, :2]
    assert np.abs(true).max() > 1e-3
    return float(np.linalg.norm(guess[..., :2] - true) / np.linalg.norm(true))


@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_a_change_of_the_targets_is_predicted(smooth: Robot, delay: float) -> None:
    """To a few per cent over all steps, those on their way through a delay included."""
    world = MujocoWorld(smooth, effects=Effects(delay=delay), physics_step=STEP)
    path = path_of(world)
    found = slopes(world, path, "action", COLUMNS)
    assert found.output.shape[2] == 1 + world.history_steps
    given = 0.01 * np.random.default_rng(1).normal(size=(ENVIRONMENTS, STEPS, 2))
    targets = path.targets.copy()
    targets[:, path.before :] += given
    play = world.rollout(
        path.states[:, 0], targets[:, path.before :], history=path.targets[:, : path.before]
    )
    assert missed(path, play, predicted(path, found, np.zeros((ENVIRONMENTS, 4)), given)) < 0.03


def test_a_change_of_the_torques_is_predicted(smooth: Robot) -> None:
    """On top of torques that act already."""
    world = MujocoWorld(smooth, physics_step=STEP)
    torques = np.full((ENVIRONMENTS, STEPS, 2), 0.1)
    path = path_of(world, torques)
    found = slopes(world, path, "torque", COLUMNS)
    given = 0.1 * np.random.default_rng(1).normal(size=(ENVIRONMENTS, STEPS, 2))
    play = world.rollout(
        path.states[:, 0],
        path.targets[:, path.before :],
        torques=torques + given,
        history=path.targets[:, : path.before],
    )
    assert missed(path, play, predicted(path, found, np.zeros((ENVIRONMENTS, 4)), given)) < 0.03


def test_a_change_of_the_start_is_predicted(smooth: Robot) -> None:
    """Also where slopes are computed at every third step only."""
    world = MujocoWorld(smooth, physics_step=STEP)
    path = path_of(world)
    change = np.random.default_rng(1).normal(size=(ENVIRONMENTS, 4)) * [0.01, 0.01, 0.1, 0.1]
    play = world.rollout(
        moved(path.states[:, 0], change),
        path.targets[:, path.before :],
        history=path.targets[:, : path.before],
    )
    nothing = np.zeros((ENVIRONMENTS, STEPS, 2))
    for stride, most in ((1, 0.03), (3, 0.05)):
        found = slopes(world, path, "action", COLUMNS, stride)
        assert missed(path, play, predicted(path, found, change, nothing)) < most


def test_a_change_of_state_is_itself(smooth: Robot) -> None:
    """The slope by what is added to a state is one."""
    world = MujocoWorld(smooth, physics_step=STEP)
    found = slopes(world, path_of(world), "state", np.arange(4))
    np.testing.assert_array_equal(found.output[1, 2, 0], np.eye(4))


def test_differences_and_moves_undo_each_other() -> None:
    """For a base that turns, far and near."""
    states, others = free_states(50), free_states(50, 1)
    assert difference(states, others).shape == (50, 18)
    again = moved(others, difference(states, others))
    np.testing.assert_allclose(difference(again, states), 0, atol=1e-7)
    assert again.base_quat_wxyz is not None
    np.testing.assert_allclose(np.linalg.norm(again.base_quat_wxyz, axis=1), 1)
    by = np.random.default_rng(2).uniform(-1, 1, (50, 18))
    np.testing.assert_allclose(difference(moved(states, by), states), by, atol=1e-9)
    np.testing.assert_allclose(difference(moved(states, 1e-9 * by), states), 1e-9 * by, atol=1e-15)


def test_columns_of_a_state(pair: Robot) -> None:
    """With and without a base that moves."""
    assert joint_columns(free_states(1)) == (slice(6, 9), slice(15, 18))
    assert positions(pair) == 2
    assert positions(replace(pair, mount="free")) == 8
