"""Curricula: harder where episodes last, easier where they do not, within bounds."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.tracking.curricula import EPISODES, LONG, SHORT, Curricula

NONE = np.zeros(0)


def settled(length: float, **options: float) -> Curricula:
    """One whose episodes have lasted so long all along."""
    return Curricula(length=length, **options)


def test_it_tightens_where_episodes_last() -> None:
    """The distance shrinks, the penalties grow twice as fast; each by its share a step."""
    now = settled(LONG + 1)
    now.advance(NONE)
    assert now.distance == pytest.approx(1.5 * (1 - 2e-4))
    assert now.penalties == pytest.approx(0.1 * (1 + 4e-4))
    for _ in range(20_000):
        now.advance(NONE)
    assert (now.distance, now.penalties) == (now.nearest, 1.0)


def test_it_loosens_where_they_do_not() -> None:
    """Down to nothing, up to the farthest."""
    now = settled(SHORT - 1)
    now.advance(NONE)
    assert now.distance > 1.5 and now.penalties < 0.1
    for _ in range(20_000):
        now.advance(NONE)
    assert now.distance == now.farthest and 0 <= now.penalties < 1e-3


def test_between_the_two_it_stays() -> None:
    """Nor does a speed of nothing change anything."""
    for now in (settled((SHORT + LONG) / 2), settled(100.0, speed=0.0), settled(0.0, speed=0.0)):
        before = now.arrays()
        now.advance(NONE)
        assert (now.arrays()["curricula"] == before["curricula"]).all()


def test_lengths_are_averaged_over_many_episodes() -> None:
    """One long episode says little; as many as count say all."""
    now = Curricula()
    now.advance(np.array([100.0]))
    assert now.length == pytest.approx(100 / EPISODES)
    now.advance(np.full(10 * int(EPISODES), 60.0))
    assert now.length == pytest.approx(60.0)
    now.advance(np.array([0.0, 120.0]))  # the mean of those that ended together
    assert now.length == pytest.approx(60.0)


def test_short_motions_have_a_target_of_their_own() -> None:
    """Episodes of twenty steps are long where they cannot be longer."""
    now = settled(21.0, target=20.0)
    now.advance(NONE)
    assert now.distance < 1.5
    short = settled(20.0 * SHORT / LONG - 0.1, target=20.0)
    short.advance(NONE)
    assert short.distance > 1.5


def test_soft_limits_narrow_with_the_penalties() -> None:
    """From beyond the range to ASAP's shares of it."""
    assert Curricula(penalties=1.0).soft == pytest.approx(
        {"position": 0.95, "velocity": 0.95, "torque": 0.85}
    )
    assert Curricula(penalties=0.0).soft == pytest.approx(
        {"position": 1.15, "velocity": 1.15, "torque": 1.15}
    )


def test_what_is_kept_is_restored() -> None:
    """As a checkpoint does it."""
    now, again = Curricula(distance=0.7, penalties=0.4, length=33.3), Curricula()
    again.restore({k: np.array(v) for k, v in now.arrays().items()})
    assert again == now
