"""A motion is what was commanded: recordings that command the same are of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.recordings import Conditions, Recording
from gapless.recordings.motion_identity import ALIKE, motions_of


def commanding(name: str, target: np.ndarray, joint: str = "elbow") -> Recording:
    """A recording of these commands."""
    target = target[:, None]
    return Recording(
        name, (joint,), 50.0, np.zeros_like(target), target, np.ones_like(target, dtype=bool)
    )


RAMP = np.linspace(0.0, 1.0, 50)


def test_commands_within_a_fiftieth_of_a_radian_are_one_motion() -> None:
    """At every sample: one far sample makes another motion."""
    spike = RAMP + np.where(np.arange(50) == 25, 0.1, 0.0)
    shifts = {"a": RAMP, "near": RAMP + 0.9 * ALIKE, "far": RAMP - 1.5 * ALIKE, "spike": spike}
    found = motions_of([commanding(k, v) for k, v in shifts.items()])
    assert found == ["a", "a", "far", "spike"]


def test_linkage_is_complete() -> None:
    """A chain of small steps does not become one motion: its ends are far apart."""
    chain = [commanding(str(k), RAMP + 0.015 * k) for k in range(6)]
    found = motions_of(chain)
    assert len(set(found)) == 3
    for name in set(found):
        own = [r.target for r, f in zip(chain, found, strict=True) if f == name]
        assert max(np.abs(a - b).max() for a in own for b in own) <= ALIKE


def test_a_recording_that_was_cut_short_is_of_the_same_motion() -> None:
    """But a short hold at the start of all motions is not all of them."""
    found = motions_of([commanding("a", RAMP), commanding("cut", RAMP[:30])])
    assert found == ["a", "a"]
    assert len(set(motions_of([commanding("a", RAMP), commanding("hold", RAMP[:3])]))) == 2


def test_however_short_the_beginning_of_a_motion_is_of_it_where_it_moves() -> None:
    """All it shows is in the longer one; of two that begin alike it is of one; they stay two."""
    other = np.concatenate([RAMP[:20], np.full(30, RAMP[20])])
    assert motions_of([commanding("a", RAMP), commanding("start", RAMP[:8])]) == ["a", "a"]
    found = motions_of([commanding("start", RAMP[:8]), *map(commanding, "ab", (RAMP, other))])
    assert len(set(found)) == 2 and found[0] in found[1:]


def test_joints_are_compared_by_name() -> None:
    """The order of columns says nothing about what was commanded."""
    target = np.stack([RAMP, -RAMP], axis=1)
    one = Recording(
        "a", ("hip", "knee"), 50.0, target * 0, target, np.ones_like(target, dtype=bool)
    )
    turned = replace(one, name="b", joints=("knee", "hip"), target=target[:, ::-1])
    swapped = replace(one, name="c", joints=("knee", "hip"))
    assert motions_of([one, turned, swapped]) == ["a", "a", "c"]


def test_commands_that_are_not_known_say_nothing() -> None:
    """A NaN is no command of zero: the other samples decide; where there are none, the name."""
    gone = np.isin(np.arange(50), [0, 7, 49])
    holes = np.where(gone, np.nan, RAMP)
    found = motions_of([*map(commanding, "abc", (RAMP, holes, np.where(gone, RAMP, 0.0)))])
    assert found == ["a", "a", "c"]
    nothing = np.full(50, np.nan)
    found = motions_of([*map(commanding, "abc", (RAMP, nothing, nothing))])
    assert found == ["a", "b", "c"]
    halves = [np.where(np.arange(50) < 25, *pair) for pair in ((RAMP, np.nan), (np.nan, RAMP))]
    assert motions_of([*map(commanding, "ab", halves)]) == ["a", "b"]


def test_names_that_are_stated_count_too_and_other_joints_are_others() -> None:
    """Feedback changes the targets of one motion from take to take."""
    assert motions_of([commanding("a", RAMP), commanding("a", RAMP + 0.3)]) == ["a", "a"]
    assert len(set(motions_of([commanding("a", RAMP), commanding("b", RAMP, "knee")]))) == 2


def test_of_a_policy_what_it_was_asked_to_do_counts() -> None:
    """Its targets never repeat; two policies are two motions, though asked the same."""

    def walking(policy: str, name: str, seed: int) -> Recording:
        noise = np.random.default_rng(seed).normal(0, 0.2, 50)
        told = Conditions(policy=policy)
        return replace(commanding(name, RAMP + noise), conditions=told)

    takes = [walking("a", "0.5 m/s", 0), walking("a", "0.5 m/s", 1), walking("a", "1 m/s", 2)]
    assert motions_of(takes) == ["a: 0.5 m/s", "a: 0.5 m/s", "a: 1 m/s"]
    assert len(set(motions_of([takes[0], walking("b", "0.5 m/s", 1)]))) == 2


def test_a_policy_is_stated_with_what_it_was_asked() -> None:
    """At import, where nobody else knows."""
    from gapless.errors import DataError
    from gapless.recordings import ImportOptions

    with pytest.raises(DataError, match="--policy needs --motion"):
        ImportOptions(policy="walker")
    assert ImportOptions(policy="walker", motion="0.5 m/s").policy == "walker"


def test_the_real_h1_2_has_55_motions(shared_data: Path) -> None:
    """949 ramps, each of one joint, repeat 55 commands."""
    clips = []
    for file in sorted((shared_data / "h1_2" / "origin").glob("*_joint.npz")):
        rows = np.load(file)["real_dof_positions_cmd"]
        clips += [commanding(f"{file.stem} {i}", row, file.stem) for i, row in enumerate(rows)]
    assert (len(clips), len(set(motions_of(clips)))) == (949, 55)
