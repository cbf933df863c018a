"""The 95 % intervals hold the truth about as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.identification import IdentifySettings, identify
from gapless.recordings import Split
from hidden_pair import STEP, nominal_pair, recorded
from unmodelled_arms import EFFECTS, NAMES, coverage, intervals_of, widths

LIKE_A_GAIN = "kp"
"""Its interval has room for what no log can tell from a gain."""


def test_intervals_cover_the_truth() -> None:
    """Five hidden robots, eight figures each, noisy encoders, velocities not logged."""
    held = [h for seed in range(5) for h in intervals_of(seed)]
    assert len(held) > 32
    assert coverage(held) > 0.88
    ratios = widths(held)
    assert np.median([ratios[h.kind] for h in held]) < 2
    own = [h.error / (h.half / 1.96) for h in held if h.kind != LIKE_A_GAIN]
    assert 0.5 < np.sqrt(np.mean(np.square(own))) < 1.5


@pytest.mark.slow
def test_intervals_hold_effects_that_the_fit_does_not_know() -> None:
    """One arm of each; without model error in the intervals less than 60 % hold."""
    held = [h for effect in EFFECTS for h in intervals_of(8, effect)]
    assert len(held) > 35
    assert coverage(held) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("starts", ["free", "read"])
def test_intervals_hold_unknown_effects_of_many_arms(starts: str) -> None:
    """Four arms of each effect, other ones than those that the intervals were designed on."""
    held = [
        h
        for effect in EFFECTS
        for seed in range(20, 24)
        for h in intervals_of(seed, effect, starts)
    ]
    assert len(held) > 140
    assert coverage(held) >= 0.8


def test_few_windows_give_wide_intervals() -> None:
    """Three windows of one motion know less than twenty of three; a gain never to a per mille."""
    pair = nominal_pair()
    hidden = pair.with_joints(kp=1.2 * pair.joints.kp)
    clips = recorded(hidden, ["a", "b", "c"], noise=1e-3, seconds=5.0)
    std = []
    for some, windows in ((clips[:1], 3), (clips, 20)):
        settings = IdentifySettings(physics_step=STEP, windows=windows)
        found = identify(Split.of(some), pair, NAMES, settings=settings)
        std.append([e.std / e.value for e in found.estimates if e.parameter.kind == "kp"])
    assert np.all(np.array(std[0]) > np.array(std[1]))
    assert np.min(std) >= 0.03
