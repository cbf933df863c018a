"""States: batches that are cut, joined, completed and changed without naming their fields."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.worlds.world import START, State, Trajectory


def state(
    environments: int = 3, *, base: bool = False, torque: bool = False, seed: int = 0
) -> State:
    """A random state of two joints."""
    rng = np.random.default_rng(seed)
    sizes = {"q": 2, "dq": 2} | ({"torque": 2} if torque else {})
    sizes |= dict(zip(START[2:], (3, 4, 3, 3), strict=True)) if base else {}
    return State(
        **{name: rng.standard_normal((environments, size)) for name, size in sizes.items()}
    )


def trajectory(environments: int = 3, samples: int = 4) -> Trajectory:
    """A random trajectory of a free robot."""
    states = [state(environments, base=True, torque=t > 0, seed=t) for t in range(samples)]
    return Trajectory.over_time(states, np.arange(environments)[:, None] + np.arange(samples) < 5)


def equal(one: State, other: State) -> bool:
    """Whether two states are of one class and have the same arrays."""
    mine, theirs = one.fields, other.fields
    return (
        type(one) is type(other)
        and mine.keys() == theirs.keys()
        and all(np.array_equal(v, theirs[k], equal_nan=v.dtype != bool) for k, v in mine.items())
    )


@pytest.mark.parametrize("whole", [state(), state(base=True, torque=True), trajectory()])
def test_batches_are_cut_and_joined_again(whole: State) -> None:
    """Nothing is lost, whichever class it is."""
    kind = type(whole)
    assert equal(kind.concatenate([whole[:1], whole[1:]]), whole)
    assert equal(kind.stack([whole[i] for i in range(len(whole))]), whole)
    assert equal(kind.concatenate([whole, whole])[len(whole) :], whole)
    assert kind.stack([whole, whole], axis=1).q.shape == (3, 2, *whole.q.shape[1:])


def test_fields_are_those_that_are_there() -> None:
    """In the order of the attributes, and the dictionary is the caller's."""
    bare = state()
    assert list(bare.fields) == ["q", "dq"]
    bare.fields.clear()
    assert list(bare.fields) == ["q", "dq"]
    assert list(trajectory().fields) == [*START, "torque", "valid"]


def test_what_one_state_lacks_is_left_out_of_both() -> None:
    """A start has no torque: it has none beside states that have one."""
    joined = State.concatenate([state(), state(torque=True, seed=1)])
    assert list(joined.fields) == ["q", "dq"]
    assert len(joined) == 6


def test_trajectories_joined_as_states_are_states() -> None:
    """The class that is asked decides; a State has no `valid`."""
    joined = State.concatenate([trajectory(), trajectory()])
    assert type(joined) is State
    assert list(joined.fields) == [*START, "torque"]


def test_a_start_has_no_torque() -> None:
    """Nor a temperature, nor `valid`."""
    begun = trajectory().start()
    assert type(begun) is State
    assert list(begun.fields) == list(START)
    assert list(state(torque=True).start().fields) == ["q", "dq"]


def test_map_keeps_what_is_not_there_away() -> None:
    """And keeps the class."""
    turned = state().map(lambda v: v[::-1])
    assert turned.base_pos is None
    assert np.array_equal(turned.q, state().q[::-1])
    halves = trajectory().map(lambda v: v[:, ::2])
    assert type(halves) is Trajectory
    assert halves.valid.shape == (3, 2)


@pytest.mark.parametrize("rows", [np.array([2, 0]), np.array([True, False, True])])
def test_some_copies_of_another_state(rows: np.ndarray) -> None:
    """The others stay, and the state that is asked is not changed."""
    whole, other = state(torque=True), state(2, torque=True, seed=1)
    kept = np.array(whole.q)
    changed = whole.with_rows(rows, other)
    assert equal(changed[rows], other)
    assert equal(changed[[1]], whole[[1]])
    assert np.array_equal(whole.q, kept)


def test_rows_of_a_state_that_lacks_a_field_are_unknown() -> None:
    """A reset copy has no torque until it is stepped."""
    changed = state(torque=True).with_rows([1], state(1))
    assert changed.torque is not None
    assert np.isnan(changed.torque[1]).all()
    assert np.isfinite(changed.torque[[0, 2]]).all()


def test_a_state_is_completed_by_another() -> None:
    """What it has stays its own; what only a Trajectory has is not taken over."""
    whole = state().completed(state(base=True, torque=True, seed=1))
    assert np.array_equal(whole.q, state().q)
    assert list(whole.fields) == [*START, "torque"]
    assert list(state().completed(trajectory()).fields) == [*START, "torque"]


def test_states_over_time() -> None:
    """The start's torque is unknown; each sample is had back."""
    seen = trajectory()
    assert seen.q.shape == (3, 4, 2)
    assert seen.torque is not None
    assert np.isnan(seen.torque[:, 0]).all()
    assert equal(seen.at(-1), state(base=True, torque=True, seed=3))
    assert equal(seen.at(0).start(), state(base=True, seed=0))
