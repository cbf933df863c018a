"""Memory: frames in order, and environments that are reset on their own."""

from __future__ import annotations

import numpy as np

from gapless.corrections.runtime.memory import Memory


def frame(value: float, environments: int = 3) -> dict[str, np.ndarray]:
    """A frame of signals, all of one value."""
    return {k: np.full((environments, 2), value) for k in ("q", "error")}


def test_a_new_memory_is_full_of_the_present() -> None:
    """As if the present had always been: no zeros that nobody measured."""
    memory = Memory.begun(frame(4.0), 3, np.zeros((3, 2)), None)
    assert [f["q"][0, 0] for f in memory.frames] == [4.0] * 3
    np.testing.assert_array_equal(memory.start_error, 4.0)


def test_frames_are_kept_oldest_first() -> None:
    """And no more than asked for."""
    memory = Memory.begun(frame(0.0), 3, np.zeros((3, 2)), None)
    for value in (1.0, 2.0, 3.0, 4.0):
        memory = memory.after(frame(value), np.full((3, 2), value), None)
    assert [f["q"][0, 0] for f in memory.frames] == [2.0, 3.0, 4.0]
    np.testing.assert_array_equal(memory.output, 4.0)
    np.testing.assert_array_equal(memory.start_error, 0.0)


def test_some_copies_are_renewed() -> None:
    """Those alone, hidden state and all."""
    old = Memory.begun(frame(0.0), 2, np.zeros((3, 2)), np.zeros((2, 3, 4)))
    new = Memory.begun(frame(5.0), 2, np.ones((3, 2)), np.ones((2, 3, 4)))
    mixed = old.renewed(np.array([False, True, False]), new)
    np.testing.assert_array_equal(mixed.frames[0]["q"][:, 0], [0, 5, 0])
    np.testing.assert_array_equal(mixed.output[:, 0], [0, 1, 0])
    assert mixed.hidden is not None
    np.testing.assert_array_equal(mixed.hidden[1, :, 0], [0, 1, 0])
    np.testing.assert_array_equal(mixed.start_error[:, 1], [0, 5, 0])
