"""Whether an arm rests on something is seen in its joints and commands, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.identification.plans.resting_surface import RestingSurface, resting_surface
from gapless.identification.plans.rungs import rungs_for
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from table_arm import TABLE, arm, recorded

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def clips() -> list[Recording]:
    """Of an arm over a table, and one clip in which it stays above."""
    touching = recorded(arm().with_floor(TABLE), NAMES)
    return [*touching, *recorded(arm().with_floor(TABLE), ["above"], raised=0.5, first=9)]


@pytest.fixture(scope="module")
def found(clips: list[Recording]) -> RestingSurface:
    """What the clips show."""
    surface = resting_surface(arm(), clips)
    assert surface is not None
    return surface


def test_a_table_is_seen_near_where_it_is(found: RestingSurface) -> None:
    """Near enough for a fit to begin there."""
    under = 0.25 * np.array([1.0, 0.0])  # where the tool works
    heights = [f.height + under @ f.tilt for f in (found.floor, TABLE) if f.height is not None]
    assert heights[0] == pytest.approx(heights[1], abs=0.005)
    assert 0.05 < found.share < 0.3


def test_a_sentence_says_what_was_found(found: RestingSurface) -> None:
    """How far below, and how often."""
    assert f"{100 * found.depth:.1f} cm below its base in 3 of 4 recordings" in found.note
    assert found.depth == pytest.approx(0.042, abs=0.005)


def test_landings_begin_before_the_touch(found: RestingSurface) -> None:
    """As many as wanted, in recordings that touch."""
    landings = found.landings(25, 4)
    assert len(landings) == 4 and {i for i, _ in landings} <= {0, 1, 2}
    firsts = {(i, max(0, a - 25)) for i, spans in enumerate(found.touched) for a, _ in spans}
    assert set(landings) <= firsts


@pytest.mark.parametrize("friction", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("raised", [0.0, 0.3])
def test_an_arm_that_touches_nothing_shows_none(friction: float, raised: float) -> None:
    """Also where dry friction holds it above its commands."""
    hidden = arm().with_joints(frictionloss=friction)
    clips = recorded(hidden, NAMES, raised=raised)
    assert resting_surface(arm(), clips) is None
    assert "surface" not in [rung.name for rung in rungs_for(arm(), clips, None)]


def test_motion_without_rest_shows_none(clips: list[Recording]) -> None:
    """Only what stands still is held."""
    rng = np.random.default_rng(0)
    assert clips[0].target is not None
    shaken = clips[0].target + rng.normal(0, 0.01, clips[0].target.shape)
    assert resting_surface(arm(), [replace(clips[0], target=shaken)]) is None


def test_what_stands_free_or_was_not_commanded_has_none(clips: list[Recording]) -> None:
    """A free robot has its floor."""
    assert resting_surface(Robot.load("g1", mount="free"), clips) is None
    assert resting_surface(arm(), [replace(clips[0], target=None)]) is None


def test_the_rung_looks_for_all_of_the_surface(
    clips: list[Recording], found: RestingSurface
) -> None:
    """Beside all else as it was found before."""
    (rung,) = [r for r in rungs_for(arm(), clips, found) if r.name == "surface"]
    assert rung.alone
    assert set(rung.adds) == {"floor_height", "floor_tilt_x", "floor_tilt_y", "floor_friction"}
