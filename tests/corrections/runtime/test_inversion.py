"""Commands that a correction turns into what is wanted; where there are none, that is said."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.runtime.inversion import METHODS, NEAR, InversionCount, invert
from gapless.errors import GaplessError

ROWS, JOINTS = 6, 4
COLUMNS = np.array([0, 2, 3])
WANTED = np.random.default_rng(0).normal(0, 0.5, (ROWS, JOINTS))


def adding(gain: float, bend: float = 0.0, seed: int = 1):
    """What is added to some of the joints: a mixture of their targets, a little bent."""
    mixing = np.random.default_rng(seed).normal(size=(len(COLUMNS), len(COLUMNS)))
    mixing *= gain / np.abs(mixing).sum(axis=1).max()

    def add(target: np.ndarray) -> np.ndarray:
        found = np.zeros_like(target)
        mixed = target[:, COLUMNS] @ mixing.T
        found[:, COLUMNS] = mixed + bend * np.sin(target[:, COLUMNS]) + 0.05
        return found

    return add


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("gain", "bend"), [(0.3, 0.0), (0.8, 0.0), (0.4, -0.4), (-0.8, 0.0)])
def test_what_is_found_becomes_what_was_wanted(method: str, gain: float, bend: float) -> None:
    """Other joints are left alone."""
    add = adding(gain, bend)
    found, failed = invert(add, WANTED, COLUMNS, method)
    assert not failed.any()
    assert np.abs(found + add(found) - WANTED).max() <= NEAR
    np.testing.assert_array_equal(found[:, 1], WANTED[:, 1])


def test_both_ways_agree() -> None:
    """Where both find something, it is the same."""
    ways = [invert(adding(0.5, 0.3), WANTED, COLUMNS, method)[0] for method in METHODS]
    assert np.abs(ways[0] - WANTED).max() > 0.05
    np.testing.assert_allclose(*ways, atol=5 * NEAR)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("gain", [1.5, -1.5, 4.0])
def test_a_correction_that_outruns_its_command_is_caught(method: str, gain: float) -> None:
    """What is wanted is sent instead, and counted; the damped steps might well have ended."""
    found, failed = invert(lambda target: gain * target, WANTED, np.arange(JOINTS), method)
    assert failed.all()
    np.testing.assert_array_equal(found, WANTED)
    count = InversionCount()
    count.add(WANTED, found, failed)
    assert count.to_dict()["share_fell_back"] == 1
    assert count.to_dict()["mean_change_rad"] == 0


@pytest.mark.parametrize("method", METHODS)
def test_one_environment_that_fails_leaves_the_others(method: str) -> None:
    """Gains differ from row to row; one gives no number."""
    gains = np.array([0.3, 2.0, -0.4, np.nan, 0.0, -3.0])[:, None]
    found, failed = invert(lambda target: gains * target, WANTED, np.arange(JOINTS), method)
    assert failed.tolist() == [False, True, False, True, False, True]
    assert np.isfinite(found).all()
    good = ~failed
    np.testing.assert_allclose(
        (found + np.nan_to_num(gains) * found)[good], WANTED[good], atol=NEAR
    )


def test_an_unknown_way_is_refused() -> None:
    """With those that are known."""
    with pytest.raises(GaplessError, match="fixed-point"):
        invert(adding(0.1), WANTED, COLUMNS, "newton")
