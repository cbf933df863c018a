"""Windows: drawn by seed, with the recordings' side beside them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import drawn_windows, recorded_signals
from gapless.errors import DataError
from gapless.recordings.recording import Recording
from gapless.robots import Robot


def test_the_same_seed_draws_the_same(task: Task) -> None:
    """And another draw draws others."""
    first, again, other = (task.windows(0.5, 10, d) for d in (0, 0, 1))
    np.testing.assert_array_equal(first.targets, again.targets)
    np.testing.assert_array_equal(first.start.q, again.start.q)
    assert not np.array_equal(first.targets, other.targets)


def test_no_more_than_asked_for(task: Task) -> None:
    """Of the length that was asked for."""
    windows = task.windows(0.5, 7)
    assert len(windows) == 7
    assert windows.targets.shape == (7, windows.before + 25, 2)
    assert windows.real.q.shape == (7, 25, 2)


def test_signals_are_of_the_moment_the_target_is_given(waves: list[Recording], pair: Robot) -> None:
    """Sample t is the state before target t acts, as a correction sees it in use."""
    windows = drawn_windows(waves[:1], pair, 0.5, 5, 0)
    seen = recorded_signals(windows)
    wave = waves[0]
    at = [int(np.abs(wave.q - q).sum(axis=1).argmin()) for q in seen["q"][:, 1]]
    assert wave.target is not None
    np.testing.assert_allclose(seen["target"][:, 1], wave.target[at], atol=1e-12)
    np.testing.assert_allclose(seen["q"][:, 1:], windows.real.q[:, :-1])


def test_velocity_commands_are_folded_into_the_target(waves: list[Recording], pair: Robot) -> None:
    """kd·target_dq/kp further, as the drive acts."""
    speed = np.full_like(waves[0].q, 0.5)
    told = replace(waves[0], channels={**waves[0].channels, "target_dq": speed})
    plain, folded = (drawn_windows([w], pair, 0.5, 5, 0) for w in (waves[0], told))
    moved = 0.5 * pair.joints.kd / pair.joints.kp
    np.testing.assert_allclose(folded.targets - plain.targets, moved + 0 * plain.targets)


def test_recordings_shorter_than_a_window_are_refused(task: Task) -> None:
    """With the way out."""
    with pytest.raises(DataError, match="--horizon"):
        task.windows(60.0, 5)
