"""Verdicts: what is kept must be clearly better on motions that did not teach it."""

from __future__ import annotations

import pytest

from gapless.verdict import LEAST_GAIN, Verdict


def verdict(after: float, before: float = 0.02) -> Verdict:
    """Of one motion over a second."""
    return Verdict(before, after, 1.0, ("wave",))


@pytest.mark.parametrize(
    ("after", "improved"),
    [
        (0.01, True),
        (0.02 * (1 - 2 * LEAST_GAIN), True),
        (0.019999, False),
        (0.02, False),
        (1, False),
    ],
)
def test_a_gain_that_may_be_chance_keeps_nothing(after: float, improved: bool) -> None:
    """One per cent is asked for."""
    assert verdict(after).improved is improved


def test_nothing_to_gain_keeps_nothing() -> None:
    """A simulator without error cannot be improved."""
    assert not verdict(0.0, before=0.0).improved


def test_folds_are_averaged_and_files_read_back() -> None:
    """Errors alike, motions together."""
    mean = Verdict.mean([verdict(0.01), Verdict(0.04, 0.03, 1.0, ("step",))])
    assert (mean.before, mean.after) == pytest.approx((0.03, 0.02))
    assert mean.motions == ("wave", "step")
    assert Verdict.from_dict(mean.to_dict()) == mean and Verdict.from_dict(None) is None


def test_it_reads_as_a_sentence() -> None:
    """Before, after, how much less."""
    assert str(verdict(0.01)) == "0.02000 -> 0.01000 rad (50% less; 1 s, 1 motion)"
