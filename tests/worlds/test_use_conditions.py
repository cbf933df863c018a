"""Other gains and loads in mid-run: the environments go on from where they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld, World
from gapless.worlds.hidden.true_state import true_state
from gapless.worlds.mixed_world import MixedWorld

STEPS = 30


def gains(robot: Robot, factor: float) -> Conditions:
    """The robot's own times a factor."""
    joints = robot.joints
    own = zip(joints.names, joints.kp.tolist(), joints.kd.tolist(), strict=True)
    return Conditions(gains={j: (factor * kp, factor * kd) for j, kp, kd in own})


def waved(world: World, robot: Robot, told: list[Conditions] | None) -> np.ndarray:
    """(T, n, J) positions of a small motion, with other conditions from its middle on."""
    world.reset(world.home(2), conditions=[gains(robot, 1.0)] * 2)
    seen = []
    for k in range(STEPS):
        if told is not None and k == STEPS // 2:
            world.use_conditions(told)
        target = robot.joints.default + 0.2 * np.sin(0.4 * k)
        seen.append(world.step(np.tile(target, (2, 1))).q)
    return np.stack(seen)


KINDS = [
    MujocoWorld,
    lambda r: HiddenWorld(r, "hard"),
    lambda r: CorrectedWorld(MujocoWorld(r)),
    lambda r: MixedWorld([MujocoWorld(r), MujocoWorld(r)]),
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_again_changes_nothing_and_others_only_what_follows(
    arms: Robot, kind: Callable[[Robot], World]
) -> None:
    """To the bit: clocks, delays, chance and motors go on. Each environment has its own."""
    before = waved(kind(arms), arms, None)
    np.testing.assert_array_equal(waved(kind(arms), arms, [gains(arms, 1.0)] * 2), before)
    softer = waved(kind(arms), arms, [gains(arms, 1.0), gains(arms, 0.4)])
    np.testing.assert_array_equal(softer[:, 0], before[:, 0])
    np.testing.assert_array_equal(softer[: STEPS // 2], before[: STEPS // 2])
    assert np.abs(softer[-5:, 1] - before[-5:, 1]).max() > 1e-3


def test_what_sensors_show_is_not_where_it_goes_on(arms: Robot) -> None:
    """A hidden robot stays where it truly is, however often its gains change."""
    world = HiddenWorld(arms, "hard")
    waved(world, arms, None)
    before = true_state(world)
    for factor in (0.9, 1.1, 1.0):
        world.use_conditions([gains(arms, factor)] * 2)
    for name, array in true_state(world).fields.items():
        np.testing.assert_array_equal(array, before.fields[name])
