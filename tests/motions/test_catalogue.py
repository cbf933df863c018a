"""Motions by name."""

from __future__ import annotations

import pytest

from gapless.errors import NameMismatchError
from gapless.motions import CATALOGUE, make
from gapless.robots import Robot


def test_every_maker_says_what_it_makes(so101: Robot) -> None:
    """One line, the common options, and a default length."""
    for name, maker in CATALOGUE.items():
        assert maker.what
        assert {"seconds", "rate", "seed"} <= set(maker.options)
        if "joints" not in maker.options:
            continue
        motion = make(name, so101, rate=20)
        turns = maker.options.get("together") is False
        assert (motion.name, len(motion)) == (name, 20 * (60 if turns else 20))


def test_unknown_motions_and_options_are_refused(so101: Robot) -> None:
    """With the nearest right name."""
    with pytest.raises(NameMismatchError, match="Did you mean 'chirp'"):
        make("chrip", so101)
    with pytest.raises(NameMismatchError, match=r"option of 'chirp' 'bands'.*Did you mean 'band'"):
        make("chirp", so101, bands=(1, 2))


def test_a_limb_and_a_standing_robot_are_in_the_catalogue(so101: Robot) -> None:
    """They take the same way as the waves."""
    assert make("ellipsoid", so101, 2.0, rate=50).seconds == pytest.approx(2.0, abs=0.05)
    assert make("stand", Robot.load("go2"), 2.0, seed=1).name == "stand_1"
