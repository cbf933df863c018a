"""Splits: a motion or a unit is learned from or judged by, never both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gapless.errors import DataError
from gapless.recordings.recording import Recording
from gapless.recordings.split import divided, refuse_leaks


def named(wave: Recording, name: str, unit: str = "1", **provenance: object) -> Recording:
    """The same recording under another name, of another unit."""
    told = replace(wave.conditions, unit=unit)
    return replace(wave, name=name, conditions=told, provenance=provenance)


@pytest.fixture
def many(waves: list[Recording]) -> list[Recording]:
    """Twelve motions, each on three units."""
    return [named(waves[0], f"m{i}", unit) for i in range(12) for unit in "123"]


def names(recordings: list[Recording]) -> set[str]:
    """Of the motions."""
    return {r.name for r in recordings}


def test_motions_are_never_shared(many: list[Recording]) -> None:
    """Between learning, choosing and judging."""
    split = divided(many)
    parts = [names(p) for p in (split.train, split.validation, split.held_out)]
    assert [len(p) for p in parts] == [8, 1, 3]
    assert len(set.union(*parts)) == 12
    assert len(split.train) + len(split.validation) + len(split.held_out) == 36


def test_the_seed_decides(many: list[Recording]) -> None:
    """The same split again, or another."""
    held = [names(divided(many, seed=s).held_out) for s in (0, 0, 1)]
    assert held[0] == held[1] != held[2]


def test_motions_of_the_calibration_judge_last(many: list[Recording]) -> None:
    """What it was fitted to flatters it; only where nothing else is left does that judge."""
    seen = [f"m{i}" for i in range(9)]
    assert names(divided(many, seen=seen).held_out) == {"m9", "m10", "m11"}
    assert names(divided(many, 0.5, seen=seen).held_out) > {"m9", "m10", "m11"}


def test_units_to_judge_by_teach_nothing(many: list[Recording]) -> None:
    """Unseen motions of an unseen unit."""
    split = divided(many, units=["3"])
    assert {r.conditions.unit for r in split.held_out} == {"3"}
    assert "3" not in {r.conditions.unit for r in (*split.train, *split.validation)}
    with pytest.raises(DataError, match=r"units 9.*of units 1, 2, 3"):
        divided(many, units=["9"])


def test_leaks_are_refused(many: list[Recording]) -> None:
    """The message names the motions."""
    with pytest.raises(DataError, match=r"1 motions are both.*m4"):
        divided(many, held_out=[named(many[0], "m4"), named(many[0], "new")])
    refuse_leaks(many[:3], many[3:])


def test_flagged_recordings_are_left_out(many: list[Recording]) -> None:
    """And it is said where none is left."""
    flagged = [named(many[0], "bad", flags=["delay"])]
    assert "bad" not in names(divided([*many, *flagged], held_out=0.0).train)
    with pytest.raises(DataError, match=r"none of 1.*gapless check"):
        divided(flagged)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2])
def test_impossible_shares_are_refused(many: list[Recording], share: float) -> None:
    """Something must be left to learn from."""
    with pytest.raises(DataError, match="share from 0 to below 1"):
        divided(many, held_out=share)


def test_one_motion_cannot_be_split(waves: list[Recording]) -> None:
    """Unless nothing is held out."""
    with pytest.raises(DataError, match=r"one motion.*--held-out 0"):
        divided(waves[:1])
    assert divided(waves[:1], held_out=0).held_out == []
