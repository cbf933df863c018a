"""Motions of an earlier split are known again by what they command."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gapless.recordings import Conditions, Recording, Split, split_recordings
from gapless.recordings.earlier_split import EarlierSplit, remembered


def commanding(name: str, target: np.ndarray, rate: float = 50.0) -> Recording:
    """A recording of one joint that moves, and one that is held."""
    both = np.stack([target, np.full(len(target), 0.3)], axis=1)
    q, mask = np.zeros_like(both), np.ones_like(both, dtype=bool)
    return Recording(name, ("elbow", "wrist"), rate, q, both, mask)


TIME = np.arange(200) / 50
WAVE, SLOW = np.sin(3 * TIME), np.sin(TIME)


def known(split: Split) -> EarlierSplit:
    """As a file has it."""
    return EarlierSplit(json.loads(json.dumps(remembered(split))))


TAUGHT = known(Split.of([commanding("wave", WAVE)], [commanding("slow", SLOW)]))


def test_the_same_command_is_known_under_another_name() -> None:
    """Also nearly the same, at another rate, in another order of joints, with holes."""
    again = commanding("x", WAVE)
    turned = replace(again, joints=("wrist", "elbow"), target=np.flip(again.target, axis=1))
    holes = commanding("x", np.where(np.arange(200) % 7 == 3, np.nan, WAVE))
    fast = commanding("x", np.sin(3 * np.arange(400) / 100), 100.0)
    for one in (again, turned, holes, fast, commanding("x", WAVE + 0.015)):
        assert TAUGHT.parts_of(one) == {"learn"}
    assert TAUGHT.parts_of(commanding("x", WAVE + 0.03)) == set()
    assert TAUGHT.parts_of(commanding("x", SLOW)) == {"choose"}


def test_the_beginning_of_what_taught_is_known_but_not_what_only_begins_alike() -> None:
    """All that the one shows was taught, and most of what the other shows was not."""
    assert TAUGHT.parts_of(commanding("x", WAVE[:60])) == {"learn"}
    assert TAUGHT.parts_of(commanding("x", WAVE[:2])) == set()
    longer = np.concatenate([WAVE, np.sin(5 * np.arange(300) / 50)])
    assert TAUGHT.parts_of(commanding("x", longer)) == set()


def test_names_count_too_and_of_a_policy_they_alone() -> None:
    """Feedback changes targets; without commands there are only names."""
    assert TAUGHT.parts_of(commanding("wave", WAVE + 1.0)) == {"learn"}
    walk = replace(commanding("0.5 m/s", WAVE), conditions=Conditions(policy="walker"))
    before = known(Split.of([walk]))
    assert before.parts_of(replace(walk, target=walk.target + 1.0)) == {"learn"}
    assert before.parts_of(replace(walk, name="1 m/s")) == set()
    named = EarlierSplit({"learn": ["wave"], "choose": [], "test": []})
    assert named.parts_of(commanding("wave", SLOW)) == {"learn"}
    assert named.parts_of(commanding("x", WAVE)) == set()


def test_recordings_that_are_nearly_alike_keep_their_parts() -> None:
    """A chain of small steps: neighbours are of two motions, and none is taken for a leak."""
    chain = [commanding(str(k), WAVE + 0.015 * k) for k in range(24)]
    split = split_recordings(chain)
    assert any(
        np.abs(a.target - b.target).max() < 0.02 for a, b in pairwise(sorted_by_start(split))
    )
    before = known(split)
    assert before.leaks(split) == []
    assert split_recordings(chain, like=before.facts).motions == split.motions


def sorted_by_start(split: Split) -> list[Recording]:
    """Of what taught and what tests."""
    return sorted([*split.learn, *split.test], key=lambda r: float(r.target[0, 0]))


def test_it_is_small() -> None:
    """A number for a joint that is held, and takes of one command once."""
    split = Split.of([commanding(f"take {k}", WAVE + 0.001 * k) for k in range(9)])
    (kept,) = remembered(split)["commands"]["prints"]
    assert len(kept["targets"]["wrist"]) == 1 and len(kept["targets"]["elbow"]) == 32
