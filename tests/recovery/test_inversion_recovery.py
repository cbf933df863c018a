"""Recovery without training: what weak motors cost is won back by undoing their correction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.corrections.runtime.inversion import METHODS
from gapless.evaluation.inverted_policy import InvertedPolicy
from gapless.policies import Policy
from gapless.worlds import MujocoWorld
from gapless.worlds.world import State, World
from known_correction import share_of_error
from pendulum import pendulum, swings, weakened

WEAK = 0.7


def error(policy: Policy, world: World) -> float:
    """Mean distance from the motion, rad."""
    names, motion = world.robot.joints.names, swings().q
    controller = policy.start(names, world.robot.joints.default)
    state = State(motion[:1].copy(), np.zeros((1, 1)))
    world.reset(state)
    away = []
    for wanted in motion[1:]:
        state = world.step(controller.act(state, {}))
        away.append(abs(float(state.q[0, 0] - wanted[0])))
    return float(np.mean(away))


@pytest.mark.parametrize("method", METHODS)
def test_a_planted_weakness_is_undone(swinger: Policy, tmp_path: Path, method: str) -> None:
    """Drives that make 70 % of a gain, and the correction that says so: two thirds at least."""
    robot = pendulum(tmp_path)
    nominal = MujocoWorld(robot, physics_step=0.005)
    weak = MujocoWorld(weakened(robot, WEAK), physics_step=0.005)
    before, lost = error(swinger, nominal), error(swinger, weak)
    assert lost > 2 * before
    better = InvertedPolicy.of(swinger, share_of_error(nominal, WEAK - 1), method)
    assert lost - error(better, weak) > 0.67 * (lost - before)
    assert better.count.fell_back == 0
    assert better.count.solved == len(swings().q) - 1


def test_a_correction_without_an_inverse_changes_nothing(swinger: Policy, tmp_path: Path) -> None:
    """Every step falls back to the policy's own target, and is counted."""
    world = MujocoWorld(pendulum(tmp_path), physics_step=0.005)
    wild = InvertedPolicy.of(swinger, share_of_error(world, 1.5))
    assert error(wild, world) == error(swinger, world)
    assert wild.count.solved == 0
    assert wild.count.fell_back == len(swings().q) - 1
