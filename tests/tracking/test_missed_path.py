"""What a simulator misses of a robot's path is made up for, though nothing in it explains it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tracking_tasks import N, begun, on_course, task_of

from gapless import Policy, Robot, finetune, train
from gapless.errors import DataError
from gapless.evaluation.path_prediction import PathPrediction
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.ppo_settings import PpoSettings
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.mlp_weights import read_mlp
from gapless.tracking import TrainSettings
from gapless.tracking.tracker_training import TrackerJudge, TrackerTraining
from gapless.tracking.training import missed_path, own_contract
from gapless.tracking.trim_fit import TrimFit
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.world import World
from leaning_policy import takes_in

TINY = TrainSettings(
    environments=8, actor=(16,), ppo=PpoSettings(iterations=2, steps=8, critic=(16,))
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Stiff enough to stand by itself."""
    go2 = Robot.load("go2", mount="free")
    return go2.with_joints(kp=np.full(12, 80.0), kd=np.full(12, 3.0))


@pytest.fixture(scope="module")
def stands(robot: Robot) -> Motion:
    """A second and a half in which nothing moves."""
    count = 76
    place = np.tile([0.0, 0.0, robot.standing_height], (count, 1))
    q, turn = np.tile(robot.joints.default, (count, 1)), np.tile([1.0, 0, 0, 0], (count, 1))
    return Motion("stands", robot.joints.names, 50.0, q, place, turn)


@pytest.fixture(scope="module")
def policy(robot: Robot, stands: Motion, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Hardly trained, and it need not be."""
    return train(stands, robot, tmp_path_factory.mktemp("stands") / "policy", TINY)


def bent(robot: Robot) -> World:
    """The robot: its knees are bent by 0.1 rad more than its encoders say."""
    calves = np.array(["calf" in name for name in robot.joints.names])
    return MujocoWorld(robot, 50, effects=Effects(encoder_bias=0.1 * calves))


def test_the_goal_is_moved(walker: Robot, frames: MotionFrames) -> None:
    """Bodies that are as far off as was missed since the start are where they should be.

    The motion that a policy sees is not moved.
    """
    missed = np.zeros_like(frames.bodies.pos)
    missed[:, :, 0] = 0.2
    missed[1:, :, 1] = 0.1
    task = task_of(frames, walker, missed=missed)
    begun(task)
    task.command(np.zeros((N, 23)), True)
    aside = on_course(frames, 1)
    assert aside.base_pos is not None
    task.reward(replace(aside, base_pos=aside.base_pos - [0.0, 0.1, 0.0]), np.zeros(N, bool))
    np.testing.assert_allclose(task.distance, 0, atol=1e-9)
    np.testing.assert_allclose(task.offsets, 0, atol=1e-9)
    own = task_of(frames, walker)
    for either in (task, own):
        begun(either)
    np.testing.assert_array_equal(task.observed, own.observed)


def test_a_trim_in_a_simulator_that_knows_nothing_helps_the_robot(
    robot: Robot, stands: Motion, policy: Policy
) -> None:
    """By what recordings of the policy show; without them it makes good what sags here, too."""
    nominal, real = MujocoWorld(robot, 50), bent(robot)
    frames, begun = MotionFrames.of(stands, robot, 50), read_mlp(policy.network.path)
    how = replace(TINY, trim=2, actor=begun.sizes).with_samples(1e6)
    told = frames, own_contract(policy, frames, "trimmed"), how, begun, 0
    missed = missed_path(PathPrediction(policy, takes_in(real, policy)), nominal, frames)
    assert missed.shape == frames.bodies.pos.shape and np.abs(missed).max() > 0.01
    judge = TrackerJudge(TrackerTraining(real, *told))
    own = TrackerJudge(TrackerTraining(nominal, *told)).error(begun)
    with_takes = TrimFit(TrackerTraining(nominal, *told, missed)).found(Checkpoint(None))
    without = TrimFit(TrackerTraining(nominal, *told)).found(Checkpoint(None))
    lost, left, sagging = (judge.error(w) - own for w in (begun, with_takes, without))
    assert lost > 0.005
    assert left < 0.4 * lost and left < 0.6 * sagging


def test_finetune_takes_takes(robot: Robot, policy: Policy, tmp_path: Path) -> None:
    """They are part of the question; logs without a base are refused, and nothing is written."""
    how = replace(TINY, warm_up=1, trim=0)
    takes = takes_in(bent(robot), policy)
    tuned = finetune(policy, MujocoWorld(robot, 50), tmp_path / "tuned", how, takes=takes)
    assert tuned.source.exists()
    blind = [replace(take, channels={}) for take in takes]
    with pytest.raises(DataError, match="without a base"):
        finetune(policy, MujocoWorld(robot, 50), tmp_path / "blind", how, takes=blind)
    assert not (tmp_path / "blind").exists()
