"""Splits: a motion teaches, chooses or is reported on, never two of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.errors import DataError, NameMismatchError
from gapless.recordings import Conditions, Dataset, Recording, Split, split_recordings
from gapless.recordings.splitting import judges, unseen


def moving(name: str, motion: int, unit: str | None = "1", samples: int = 40) -> Recording:
    """A recording of one joint that follows a sine of its own."""
    q = np.sin(0.1 * (motion + 1) * np.arange(samples))[:, None]
    mask = np.ones_like(q, dtype=bool)
    return Recording(name, ("elbow",), 50.0, q, q.copy(), mask, conditions=Conditions(unit=unit))


def names(recordings: Iterable[Recording]) -> set[str]:
    """Of the recordings."""
    return {r.name for r in recordings}


@pytest.fixture
def many() -> list[Recording]:
    """Twelve motions, each on three units."""
    return [moving(f"m{i}", i, unit) for i in range(12) for unit in "123"]


def test_three_parts_hold_everything_once(many: list[Recording]) -> None:
    """Learning, choosing and testing share no motion; none is lost."""
    split = split_recordings(many)
    parts = [names(p) for p in (split.learn, split.choose, split.test)]
    assert [len(p) for p in parts] == [7, 2, 3]
    assert len(set.union(*parts)) == 12
    assert len(split.learn) + len(split.choose) + len(split.test) == 36
    assert [len(split.to_dict()[k]) for k in ("learn", "choose", "test")] == [7, 2, 3]


@given(
    motions=st.lists(st.integers(0, 7), min_size=2, max_size=20).filter(lambda m: len(set(m)) > 1),
    test=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
    by=st.sampled_from(["motion", "unit"]),
)
@settings(deadline=None, max_examples=40)
def test_case_38_a_split_never_leaks(motions: list[int], test: float, seed: int, by: str) -> None:
    """What is held out is in no other part, whatever recordings are called; the seed decides."""
    clips = [moving(f"take {i}", m, f"u{m}") for i, m in enumerate(motions)]
    split = Dataset.from_recordings(clips).split(by=by, test=test, seed=seed)  # type: ignore[arg-type]
    commands = [
        {r.conditions.unit for r in part} for part in ([*split.learn, *split.choose], split.test)
    ]
    assert commands[0] and commands[1] and not commands[0] & commands[1]
    for fold in split.folds:
        assert not names(fold.choose) & names(fold.learn)
    again = Dataset.from_recordings(clips).split(by=by, test=test, seed=seed)  # type: ignore[arg-type]
    assert again.motions == split.motions


def test_the_same_command_under_other_names_is_one_motion() -> None:
    """Sixteen takes of four commands: a look-up of a learned command never scores."""
    clips = [moving(f"take {i}", i % 4) for i in range(16)]
    split = split_recordings(clips)
    learned = {int(n.split()[1]) % 4 for n in names([*split.learn, *split.choose])}
    assert not learned & {int(n.split()[1]) % 4 for n in names(split.test)}


def test_few_motions_choose_in_turn(many: list[Recording]) -> None:
    """Three learning motions: each chooses for what the others taught; the test stays untouched."""
    split = split_recordings([r for r in many if r.name in ("m0", "m1", "m2", "m3")])
    assert split.cross_validated and len(split.folds) == 3 and not len(split.choose)
    for fold in split.folds:
        assert len(names(fold.choose)) == 1
        assert not names(fold.choose) & (names(fold.learn) | names(split.test))
    assert split.to_dict()["choosing"] == "cross-validation"
    assert any("each chose" in note for note in split.notes)


def test_one_motion_is_cut_in_time() -> None:
    """Half teaches, a quarter chooses, the last quarter is reported on; it says so."""
    one = moving("wave", 0)
    split = split_recordings([one])
    parts = [part[0] for part in (split.learn, split.choose, split.test)]
    assert [p.name for p in parts] == ["wave#learn", "wave#choose", "wave#test"]
    np.testing.assert_array_equal(np.concatenate([p.q for p in parts]), one.q)
    assert [len(p) for p in parts] == [20, 10, 10]
    assert any("cut in time" in note for note in split.notes)


def test_of_two_motions_one_is_reported_and_the_other_is_cut() -> None:
    """The held-out motion is whole."""
    split = split_recordings([moving("a", 0), moving("b", 1)])
    assert len(split.test) == 1 and len(split.test[0]) == 40
    assert split.choose[0].name.endswith("#choose") and split.learn[0].name.endswith("#learn")


def test_units_that_test_teach_nothing(many: list[Recording]) -> None:
    """Unseen motions on an unseen unit."""
    split = split_recordings(many, units=["3"])
    assert {r.conditions.unit for r in split.test} == {"3"}
    assert "3" not in {r.conditions.unit for r in (*split.learn, *split.choose)}
    assert not names(split.test) & names([*split.learn, *split.choose])
    with pytest.raises(DataError, match="of units 1, 2, 3"):
        split_recordings(many, units=["9"])
    with pytest.raises(DataError, match="1 of 2 recordings do not say their unit"):
        split_recordings([moving("a", 0), moving("b", 1, None)], by="unit")


def test_a_split_by_unit_says_so(many: list[Recording]) -> None:
    """Which units taught and which tested; a split by motion is written as it always was."""
    split = split_recordings(many, by="unit", test=0.3, seed=1)
    facts = split.to_dict()
    tested = sorted({r.conditions.unit for r in split.test})
    assert facts["by"] == "unit" and facts["units"]["test"] == tested
    assert sorted([*facts["units"]["learn"], *tested]) == ["1", "2", "3"]
    assert split.without_test().to_dict()["units"]["learn"] == facts["units"]["learn"]
    assert list(split_recordings(many).to_dict()) == ["learn", "choose", "test", "choosing"]


def test_a_split_by_unit_is_repeated(many: list[Recording]) -> None:
    """Its units test again; a new unit teaches, and the same motions choose."""
    before = split_recordings(many, by="unit", test=0.3, seed=1)
    new = [moving(f"m{i}", i, "4") for i in range(12)]
    again = split_recordings([*many, *new], like=before.to_dict(), seed=9)
    assert again.units["test"] == before.units["test"]
    assert set(again.units["learn"]) == {*before.units["learn"], "4"}
    assert again.motions["choose"] == before.motions["choose"]
    alone = split_recordings(new, like=before.to_dict())
    assert not len(alone.test) and alone.motions["choose"] == before.motions["choose"]


def test_leaks_are_found_by_what_was_commanded(many: list[Recording]) -> None:
    """Another name does not make another motion."""
    with pytest.raises(DataError, match=r"in two parts.*m4"):
        Split.of(many, test=[moving("new", 4)])
    with pytest.raises(DataError, match="in two parts"):
        split_recordings(many, test=[moving("m4", 99)])
    assert names(split_recordings(many, test=[moving("new", 30)]).test) == {"new"}
    assert names(unseen([moving("again", 4), moving("new", 30)], many)) == {"new"}


def test_an_earlier_split_is_repeated(many: list[Recording]) -> None:
    """A correction is chosen by motions that its calibration was not fitted to."""
    before = split_recordings(many, seed=3)
    again = split_recordings([*many, moving("new", 30)], like=before.to_dict(), seed=9)
    assert again.motions["test"] == before.motions["test"]
    assert again.motions["choose"] == before.motions["choose"]
    assert set(again.motions["learn"]) == {*before.motions["learn"], "new"}


def test_where_no_motion_of_an_earlier_split_is_there_others_choose(many: list[Recording]) -> None:
    """New recordings are not kept unjudged."""
    before = {"learn": ["x"], "choose": ["y"], "test": ["z"]}
    again = split_recordings(many, like=before)
    assert again.folds and len(again.choose)
    assert not set(again.motions["learn"]) & set(again.motions["choose"])


def test_every_part_has_both_kinds(many: list[Recording]) -> None:
    """Loaded and unloaded motions, where a plan needs both."""
    split = split_recordings(many, stratum=lambda r: r.name in ("m0", "m1", "m2", "m3"))
    for part in (split.learn, split.choose, split.test):
        assert names(part) & {"m0", "m1", "m2", "m3"} and names(part) - {"m0", "m1", "m2", "m3"}


def test_what_is_unfit_is_left_out(many: list[Recording]) -> None:
    """Flagged recordings, and those without commands."""
    flagged = replace(moving("bad", 40), provenance={"flags": ["stuck"]})
    silent = replace(moving("silent", 41), target=None)
    split = split_recordings([*many, flagged, silent])
    found = names([*split.learn, *split.choose, *split.test])
    assert not {"bad", "silent"} & found
    with pytest.raises(DataError, match="none of 2 recordings can be used"):
        split_recordings([flagged, silent])


def test_wrong_words_and_shares_are_refused(many: list[Recording]) -> None:
    """With what was expected."""
    for share in (1.0, -0.1, 2.0):
        with pytest.raises(DataError, match="expected 0 to below 1"):
            split_recordings(many, test=share)
        with pytest.raises(DataError, match="expected 0 to below 1"):
            split_recordings(many, choose=share)
    with pytest.raises(NameMismatchError, match="Did you mean 'motion'"):
        split_recordings(many, by="motions")  # type: ignore[arg-type]


def test_what_learned_nothing_here_is_judged_by_all(many: list[Recording]) -> None:
    """A transferred correction: some motions choose, the others are reported."""
    split = judges(many)
    assert not len(split.learn) and len(split.choose) + len(split.test) == len(many)
    assert not names(split.choose) & names(split.test)


def test_parts_by_name(many: list[Recording]) -> None:
    """What is named teaches and tests; what is named by neither is left out, and said so."""
    split = split_recordings(many, learn=["m[0-5]"], test=["m6", "m7"])
    assert names(split.test) == {"m6", "m7"}
    assert names(split.learn) | names(split.choose) == {f"m{k}" for k in range(6)}
    split = split_recordings(many, learn=["m[0-4]"], test=["m7"])
    assert "left out: m5, m6" in split.notes[0] and not names(split.test) & {"m5", "m6"}


def test_one_part_by_name(many: list[Recording]) -> None:
    """Learning is named: all others test. Testing is named: all others learn and choose."""
    every = names(many)
    split = split_recordings(many, learn=["m[0-4]"])
    assert names(split.test) == every - {f"m{k}" for k in range(5)} and split.notes == ()
    split = split_recordings(many, test=["m1", "m3"])
    assert names(split.test) == {"m1", "m3"}
    assert names(split.learn) | names(split.choose) == every - {"m1", "m3"}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"learn": ["squat*"]}, r"no motion is named as squat\*; there are: m0, m1"),
        ({"test": ["m1", "kick"]}, "no motion is named as kick; there are"),
        ({"learn": ["m[0-3]"], "test": ["m3"]}, "m3 would both teach and test"),
    ],
)
def test_names_that_part_nothing_are_refused(
    many: list[Recording], named: dict, message: str
) -> None:
    """With the names that there are."""
    with pytest.raises(DataError, match=message):
        split_recordings(many, **named)


def test_parts_by_name_never_leak(many: list[Recording]) -> None:
    """The same command under another name is found, whatever was named."""
    with pytest.raises(DataError, match="motions are in two parts"):
        split_recordings([*many, moving("kick", 0)], learn=["m*"], test=["kick"])
