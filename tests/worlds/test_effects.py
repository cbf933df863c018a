"""The figures of actuators, and the road of a command."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.worlds.effects import Effects, spread_over_substeps


@pytest.mark.parametrize("substeps", [1, 4, 10])
def test_whole_step_delay_shifts_targets_exactly(substeps: int) -> None:
    """A delay of two control steps gives the targets of two steps ago."""
    targets = np.arange(6.0).reshape(1, 6, 1)
    history = np.array([[[-2.0], [-1.0]]])
    held = spread_over_substeps(targets, history, np.array([0.04]), 50, substeps)
    assert held[0, ::substeps, 0].tolist() == [-2, -1, 0, 1, 2, 3]
    assert held.shape == (1, 6 * substeps, 1)


def test_fractional_delay_switches_inside_the_step() -> None:
    """A quarter step of delay keeps the old target for a quarter of the physics steps."""
    targets = np.array([[[1.0], [2.0]]])
    held = spread_over_substeps(targets, np.zeros((1, 1, 1)), np.array([0.005]), 50, 4)
    assert held[0, :, 0].tolist() == [0, 1, 1, 1, 1, 2, 2, 2]


def test_each_joint_has_its_own_delay() -> None:
    """Delays are per joint."""
    targets = np.tile(np.arange(4.0)[None, :, None], (1, 1, 2))
    held = spread_over_substeps(targets, targets[:, :1], np.array([0.0, 0.02]), 50, 1)
    assert held[0, :, 0].tolist() == [0, 1, 2, 3]
    assert held[0, :, 1].tolist() == [0, 0, 1, 2]


def test_negative_effects_are_refused() -> None:
    """A negative delay names itself."""
    with pytest.raises(ModelError, match="delay"):
        Effects(delay=-0.01)


def test_jitter_holds_the_newest_command_that_has_arrived() -> None:
    """A late command comes into force late; one overtaken by its successor never does."""
    targets, history = np.array([[[1.0], [2.0], [3.0], [4.0]]]), np.zeros((1, 1, 1))
    late = np.array([[0.0, 0.0, 0.01, 0.045, 0.0]])
    held = spread_over_substeps(targets, history, np.zeros(1), 50, 2, late)
    assert held[0, :, 0].tolist() == [1, 1, 1, 2, 2, 2, 4, 4]


def test_no_jitter_is_the_plain_delay() -> None:
    """The two ways of finding the command in force agree."""
    rng = np.random.default_rng(0)
    targets, history = rng.normal(size=(3, 20, 2)), rng.normal(size=(3, 4, 2))
    delay = np.array([0.013, 0.031])
    plain = spread_over_substeps(targets, history, delay, 50, 5)
    tiny = spread_over_substeps(targets, history, delay, 50, 5, np.full((3, 24), 1e-12))
    assert np.allclose(plain, tiny, rtol=0, atol=1e-8)


def test_a_command_within_a_physics_step_counts_for_its_share() -> None:
    """The motion changes smoothly with the delay, for each environment by its own."""
    targets, history = np.array([[[1.0], [2.0]]] * 2), np.zeros((2, 1, 1))
    held = spread_over_substeps(targets, history, np.array([[0.0025], [0.01]]), 50, 2)
    assert held[0, :, 0].tolist() == [0.75, 1.0, 1.75, 2.0]
    assert held[1, :, 0].tolist() == [0.0, 1.0, 1.0, 2.0]
