"""Samples look ahead within an episode, never into the next."""

from __future__ import annotations

import numpy as np

from gapless.imitation.samples import Samples


def test_what_comes_next_is_of_the_same_episode() -> None:
    """After the last step of an episode, or of a rollout, its action stays."""
    wanted = np.arange(8.0).reshape(4, 2, 1)  # step 0 is (0, 1), step 1 is (2, 3), ...
    ended = np.zeros((4, 2), bool)
    ended[1, 0] = True
    found = Samples.of_rollout(np.zeros((4, 2, 5)), wanted, ended, 3)
    chunks = found.chunks(np.arange(8))
    assert chunks[0].tolist() == [0, 2, 2]
    assert chunks[1].tolist() == [1, 3, 5]
    assert chunks[4].tolist() == [4, 6, 6]
    assert chunks[7].tolist() == [7, 7, 7]


def test_joined_samples_keep_their_own_futures() -> None:
    """Rows move with their part."""
    part = Samples.of_rollout(
        np.zeros((3, 1, 2)), np.arange(3.0)[:, None, None], np.zeros((3, 1), bool), 2
    )
    both = Samples.joined([part, part])
    np.testing.assert_array_equal(both.chunks(np.arange(6))[3:], part.chunks(np.arange(3)))
    assert both.ahead.max() == 5
