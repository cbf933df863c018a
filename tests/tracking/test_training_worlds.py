"""Worlds to train in: as fast as they may be, and otherwise as they were given."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld
from gapless.robots import Robot
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training_worlds import STEP, nominal_world, quick_world, world_to_train_in
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.hidden import HiddenWorld
from gapless.worlds.mixed_world import MixedWorld


def test_a_simulator_on_a_floor_has_fewer_contacts(walker: Robot) -> None:
    """Its robot, drives, rate and physics steps stay."""
    late = np.full(len(walker.joints), 0.01)
    given = MujocoWorld(walker, 25, effects=Effects(delay=late))
    found = quick_world(given)
    assert isinstance(found, MujocoWorld) and found.rate == given.rate == 25
    assert found.timestep == given.timestep == 0.002
    assert found.robot.simple_feet and not given.robot.simple_feet
    np.testing.assert_array_equal(found.effects.delay, late)
    assert found.robot.joints == walker.joints


def test_what_it_does_there_is_nearly_what_it_does_in_the_given_world(walker: Robot) -> None:
    """Two tenths of a second of standing, joints and base."""
    given = MujocoWorld(walker)
    start, targets = given.home(1), np.tile(walker.joints.default, (1, 10, 1))
    q = [w.rollout(start, targets).q for w in (given, quick_world(given))]
    off, moved = np.abs(q[0] - q[1]).mean(), np.abs(q[0] - start.q[:, None]).mean()
    assert off < 0.2 * moved and moved > 1e-3


def test_corrections_and_mixtures_stay(walker: Robot) -> None:
    """Around the faster world."""
    corrected = quick_world(CorrectedWorld(MujocoWorld(walker)))
    assert isinstance(corrected, CorrectedWorld) and corrected.robot.simple_feet
    mixed = quick_world(MixedWorld([MujocoWorld(walker), CorrectedWorld(MujocoWorld(walker))]))
    assert isinstance(mixed, MixedWorld)
    assert all(w.robot.simple_feet for w in mixed.worlds)
    varied = world_to_train_in(walker, TrainSettings(vary=2))
    assert isinstance(varied, MixedWorld) and len(varied.worlds) == 2


@pytest.mark.parametrize("kind", ["hidden", "held"])
def test_others_are_left_as_they_are(kind: str, walker: Robot, rod: Robot) -> None:
    """A hidden robot is what it is, and one that is held has no feet on a floor."""
    given = HiddenWorld(walker, "mild", 1) if kind == "hidden" else MujocoWorld(rod)
    assert quick_world(given) is given
    assert world_to_train_in(given, TrainSettings()) is given


def test_the_nominal_world_is_quick(walker: Robot) -> None:
    """With steps as long as a nominal robot bears."""
    found = nominal_world(walker)
    assert found.identity.timestep == STEP and found.robot.simple_feet
