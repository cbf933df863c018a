"""Tables of ranges: what differs, by how much, and what stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld
from gapless.errors import DataError, NameMismatchError
from gapless.robots import Payload, Robot
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.varied_worlds import varied_world
from gapless.worlds import MujocoWorld

LINKS = ("torso_link", "left_knee_link")


@pytest.fixture(scope="module")
def loaded(walker: Robot) -> MujocoWorld:
    """A humanoid with something on its back."""
    return MujocoWorld(walker.with_payloads({"torso_link": Payload(3.0, (-0.1, 0.0, 0.2))}))


def masses(robot: Robot) -> np.ndarray:
    """Of some links, kg."""
    return np.array([robot.inertia(link).mass for link in LINKS])


def test_narrow_stays_near_the_model(loaded: MujocoWorld) -> None:
    """Its load stays where and what it is; no delay is added."""
    many = varied_world(loaded, 4, ranges="narrow")
    shares = np.array([masses(w.robot) / masses(loaded.robot) for w in many.worlds])
    assert np.ptp(shares) > 0 and np.abs(shares - 1).max() <= 0.02
    for world in many.worlds:
        assert isinstance(world, MujocoWorld)
        assert world.robot.payloads == loaded.robot.payloads
        moved = np.subtract(world.robot.inertia(LINKS[0]).com, loaded.robot.inertia(LINKS[0]).com)
        assert 0 < np.abs(moved).max() <= 0.005
        assert np.all(np.asarray(world.effects.delay) == 0)
        assert 0 < np.abs(world.effects.encoder_bias).max() <= 0.01


def test_wide_carries_what_nobody_knows(walker: Robot) -> None:
    """Torso and hands share it, up to 30 % of the robot."""
    many = varied_world(MujocoWorld(walker), 6, ranges="wide")
    own = sum(walker.inertia(link).mass for link in walker.links)
    carried = [sum(p.mass for p in w.robot.payloads.values()) for w in many.worlds]
    assert len(set(carried)) == 6 and max(carried) <= 0.3 * 1.2 * own and max(carried) > 2.0
    assert set(many.worlds[0].robot.payloads) == {"torso_link", *walker.link_groups["hands"]}


def test_what_was_corrected_stays_corrected(loaded: MujocoWorld) -> None:
    """A table varies the world underneath; without a calibration there are no intervals."""
    many = varied_world(CorrectedWorld(loaded), 2, ranges="narrow")
    assert all(isinstance(world, CorrectedWorld) for world in many.worlds)
    with pytest.raises(DataError, match="no intervals to vary within"):
        varied_world(loaded, 2, ranges="intervals")


def test_ranges_that_mean_nothing_are_told() -> None:
    """A table that is unknown, or one for a single simulator."""
    with pytest.raises(NameMismatchError, match=r"unknown table of ranges 'narow'. Did you mean"):
        TrainSettings(vary=2, ranges="narow")
    with pytest.raises(DataError, match="say how many with vary"):
        TrainSettings(ranges="narrow")
    assert replace(TrainSettings(vary=2), ranges="intervals").to_dict()["ranges"] == "intervals"
