"""Recovery of a tracker: what weak motors cost is won back in a simulator that has them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gapless
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import read_mlp
from gapless.tracking.tracker_episodes import whole_episodes
from gapless.tracking.tracking_rewards import ASAP
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds import MujocoWorld
from gapless.worlds.world import World
from pendulum import pendulum, swings, weakened
from quick_trackers import QUICK

TUNING = replace(QUICK, noise=0.25, warm_up=3, tightening=0.0)


def error(policy: Policy, world: World) -> float:
    """Mean distance of bodies over the whole motion from its first frame, m."""
    frames = MotionFrames.of(swings(), world.robot)
    task = TrackingTask(frames, world.robot, policy.contract, ASAP, 1, where="first")
    return float(whole_episodes(world, task, read_mlp(policy.network.path)).mean())


@pytest.mark.slow
def test_a_planted_weakness_is_won_back(swinger: Policy, tmp_path: Path) -> None:
    """Drives that make 70 % of a gain: of the error that they cost, 60 % at least."""
    robot = pendulum(tmp_path)
    nominal = MujocoWorld(robot, physics_step=0.005)
    weak = MujocoWorld(weakened(robot, 0.7), physics_step=0.005)
    before, lost = error(swinger, nominal), error(swinger, weak)
    assert lost > 3 * before
    tuned = gapless.finetune(swinger, weak, tmp_path / "tuned", TUNING)
    assert tuned.contract.gains == swinger.contract.gains  # it is told nothing of the weakness
    assert lost - error(tuned, weak) > 0.6 * (lost - before)
