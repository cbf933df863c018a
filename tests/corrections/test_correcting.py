"""What a correction may be taught, chosen and tested by, on top of a calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.correcting import split_for
from gapless.errors import DataError
from gapless.identification import Calibration
from gapless.recordings import Recording, Split, split_recordings
from hidden_pair import nominal_pair, recorded


@pytest.fixture(scope="module")
def waves() -> list[Recording]:
    """Five motions of one unit."""
    clips = recorded(nominal_pair(), list("abcde"), seconds=1)
    return [replace(c, conditions=replace(c.conditions, unit="1")) for c in clips]


def fitted(split: Split) -> Calibration:
    """A calibration that was made with a split."""
    return Calibration("so101", (), np.zeros((0, 0)), made_by={"split": split.to_dict()})


def test_what_taught_or_chose_a_calibration_does_not_judge_a_correction(
    waves: list[Recording],
) -> None:
    """Fitted motions neither choose nor test; those that chose it do not test."""
    before = split_recordings(waves)
    calibration = fitted(before)
    assert split_for(before, calibration).motions == before.motions
    for parts in (
        (before.choose, before.learn, before.test),
        (before.choose, before.test, before.learn),
        (before.learn, before.test, before.choose),
    ):
        with pytest.raises(DataError, match="would choose or test here"):
            split_for(Split.of(*parts), calibration)


def test_a_split_by_unit_serves_both(waves: list[Recording]) -> None:
    """Its motions recur on the units that test, which the calibration never saw."""
    others = [replace(r, conditions=replace(r.conditions, unit="2")) for r in waves]
    split = split_recordings([*waves, *others], by="unit", test=0.5)
    assert set(split.motions["learn"]) < set(split.motions["test"])
    for before in (split, split.without_test()):
        assert split_for(split, fitted(before)).motions == split.motions
