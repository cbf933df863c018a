"""What a correction may be taught, chosen and tested by, on top of a calibration."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapless.corrections.correcting import split_for
from gapless.errors import DataError
from gapless.identification import Calibration
from gapless.recordings import Recording, Split, split_recordings
from gapless.recordings.earlier_split import remembered
from gapless.recordings.recording import Recordings
from hidden_pair import nominal_pair, recorded


@pytest.fixture(scope="module")
def waves() -> list[Recording]:
    """Five motions of one unit."""
    clips = recorded(nominal_pair(), list("abcde"), seconds=1)
    return [replace(c, conditions=replace(c.conditions, unit="1")) for c in clips]


def fitted(split: Split) -> Calibration:
    """A calibration that was made with a split."""
    return made_with(remembered(split))


def made_with(facts: dict[str, Any], **others: Any) -> Calibration:
    """A calibration that keeps these facts; it was written to a file, and read."""
    kept = {"split": json.loads(json.dumps(facts))}
    return Calibration("so101", (), np.zeros((0, 0)), made_by=kept, **others)


def renamed(recordings: Recordings, shift: float = 0.0) -> list[Recording]:
    """The same under other names, each commanded a little differently."""
    return [replace(r, name=f"new {r.name}", target=r.target + shift) for r in recordings]


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
        with pytest.raises(DataError, match="would choose or test here"):
            split_for(Split.of(*parts), made_with(before.to_dict()))


@pytest.mark.parametrize("shift", [0.0, 0.015])
def test_other_names_hide_nothing(waves: list[Recording], shift: float) -> None:
    """What was commanded decides: a split goes as before, and a leak is refused."""
    before = split_recordings(waves)
    calibration, again = fitted(before), renamed(waves[::-1], shift)
    for parts in ((before.choose, before.learn, before.test), (before.learn, (), before.choose)):
        with pytest.raises(DataError, match="would choose or test here"):
            split_for(Split.of(*(renamed(part, shift) for part in parts)), calibration)
    found = split_for(again, calibration)
    assert len(found.choose) == len(before.choose)
    for r in found.choose:
        assert any(np.abs(r.target - other.target).max() < 0.02 for other in before.choose)


def test_a_turned_log_is_known_again(waves: list[Recording]) -> None:
    """Signs of joints are the calibration's business, not another command."""
    before = split_recordings(waves)
    turned = made_with(remembered(before), signs={waves[0].joints[0]: -1.0})
    for split in (before, before.each(turned.recordings)):
        assert split_for(split, turned).motions == before.motions
    with pytest.raises(DataError, match="would choose or test here"):
        split_for(Split.of(before.choose, turned.recordings(renamed(before.learn))), turned)


def test_folds_build_on_the_fit_that_did_not_see_their_motion(waves: list[Recording]) -> None:
    """In whatever order, and under whatever names, the recordings come."""
    before = split_recordings(waves[:3], test=0.0)
    assert before.cross_validated
    folds = tuple(made_with({}) for _ in before.folds)
    again = split_for(
        split_recordings(renamed(waves[2::-1]), test=0.0),
        made_with(remembered(before), folds=folds),
    )
    for fold, other in zip(again.folds, before.folds, strict=True):
        np.testing.assert_array_equal(fold.choose[0].target, other.choose[0].target)
    with pytest.raises(DataError, match="would choose or test here"):
        split_for(before, made_with(remembered(before), folds=folds[1:]))


def test_a_split_by_unit_serves_both(waves: list[Recording]) -> None:
    """Its motions recur on the units that test, which the calibration never saw."""
    others = [replace(r, conditions=replace(r.conditions, unit="2")) for r in waves]
    split = split_recordings([*waves, *others], by="unit", test=0.5)
    assert set(split.motions["learn"]) < set(split.motions["test"])
    for before in (split, split.without_test()):
        assert split_for(split, fitted(before)).motions == split.motions
        old = {part: before.to_dict()[part] for part in ("learn", "choose", "test")}
        assert split_for(split, made_with(old)).motions == split.motions


def test_the_unit_that_taught_does_not_test(waves: list[Recording]) -> None:
    """Units that change places are a leak, though the motions agree."""
    others = [replace(r, conditions=replace(r.conditions, unit="2")) for r in waves]
    split = split_recordings([*waves, *others], by="unit", units=["2"])
    swapped = split_recordings([*waves, *others], by="unit", units=["1"])
    assert split_for([*waves, *others], fitted(split)).motions == split.motions
    with pytest.raises(DataError, match="would choose or test here"):
        split_for(swapped, fitted(split))
