"""Signals: the same numbers for a state, whoever asks."""

from __future__ import annotations

import numpy as np
import pytest

from free_states import free_states
from gapless.corrections.linearised.tangent import moved as state_moved
from gapless.corrections.runtime.signals import (
    SIGNALS,
    moved,
    of_state,
    payloads,
    refuse_impossible,
    velocity_change,
    width,
)
from gapless.errors import DataError, NameMismatchError
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds.world import State


def test_widths_add_up() -> None:
    """Joints have a column each, the base three, a payload one."""
    assert [width(s, 10, 4) for s in ("q", "previous", "gravity", "height", "payload")] == [
        10,
        4,
        3,
        1,
        1,
    ]
    with pytest.raises(NameMismatchError, match="torque_ff"):
        width("torque_ff", 10, 4)
    assert all(width(s, 2, 2) for s in SIGNALS)


def test_signals_of_a_base_need_one(pair: Robot) -> None:
    """A robot that is bolted down has no height to look at."""
    refuse_impossible(("q", "payload"), pair)
    with pytest.raises(DataError, match=r"height.*mounted"):
        refuse_impossible(("q", "height"), pair)


def test_gravity_is_seen_from_the_base() -> None:
    """A robot that lies on its back has gravity behind it."""
    back = np.array([[np.cos(np.pi / 4), 0.0, -np.sin(np.pi / 4), 0.0]])
    state = State(
        np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 3)), back, *[np.ones((1, 3))] * 2
    )
    np.testing.assert_allclose(of_state(state)["gravity"], [[-1, 0, 0]], atol=1e-12)


def test_what_is_carried_is_summed_or_unknown() -> None:
    """Nothing said is not the same as nothing carried."""
    told = [Conditions(payloads={"a": Payload(1.0), "b": Payload(0.5)}), Conditions(payloads={})]
    np.testing.assert_array_equal(payloads([*told, Conditions(), None])[:2, 0], [1.5, 0.0])
    assert np.isnan(payloads([*told, Conditions(), None])[2:]).all()


def test_moved_signals_are_those_of_moved_states() -> None:
    """To first order, for joints and base alike; NumPy and torch agree."""
    torch = pytest.importorskip("torch")
    states = free_states(5)
    by = 1e-5 * np.random.default_rng(1).normal(size=(5, 18))
    exact = of_state(state_moved(states, by))
    now = of_state(states) | {"velocity_change": velocity_change(states)}
    found = moved(now, by)
    tensors = moved({k: torch.as_tensor(v) for k, v in now.items()}, torch.as_tensor(by))
    assert found.keys() == exact.keys()
    for name, value in exact.items():
        np.testing.assert_allclose(found[name], value, atol=1e-8)
        np.testing.assert_allclose(tensors[name].numpy(), found[name], atol=1e-14)
