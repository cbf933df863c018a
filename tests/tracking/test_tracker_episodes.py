"""Whole motions under a network: what is chosen by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracking_tasks import N, task_of

from gapless.motions.motion_frames import MotionFrames
from gapless.policies.mlp_weights import MlpWeights
from gapless.robots import Robot
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracker_episodes import FAR, whole_episodes
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds import MujocoWorld
from gapless.worlds.world import Health, State
from pendulum import swings


def constant(task: TrackingTask, action: float) -> MlpWeights:
    """The same action, whatever it sees."""
    width, joints = task.contract.width, task.num_actions
    first = np.zeros((4, width), np.float32), np.zeros(4, np.float32)
    return MlpWeights((first, (np.zeros((joints, 4), np.float32), np.full(joints, action, "f4"))))


def test_the_error_is_the_mean_distance_of_bodies(rod: Robot) -> None:
    """As a rollout of the same targets has it."""
    frames = MotionFrames.of(swings(), rod)
    task, world = task_of(frames, rod), MujocoWorld(rod, physics_step=0.005)
    found = whole_episodes(world, task, constant(task, 0.1))
    start = frames.state[[0]]
    played = world.rollout(start, frames.state.q[None, :-1] + 0.1)
    off = played.q[0, 1:, 0] - frames.state.q[1:, 0]
    wanted = (
        np.mean(2 * 2 * np.abs(np.sin(off / 2))) / 2
    )  # a chord of two metres; one of two bodies
    np.testing.assert_allclose(found, np.full(N, wanted), rtol=1e-6)


def test_it_can_be_asked_again_and_hands_out_what_was_seen(rod: Robot) -> None:
    """The same starts, the same error; every observation of it."""
    frames = MotionFrames.of(swings(), rod)
    task = task_of(frames, rod, starts=StartNoise())
    world, seen = MujocoWorld(rod, physics_step=0.005), []
    first = whole_episodes(world, task, constant(task, 0.0))
    again = whole_episodes(world, task, constant(task, 0.0), seen)
    np.testing.assert_array_equal(first, again)
    assert len({*first}) == N
    assert len(seen) == task.max_episode_length == 50 and seen[0].shape == (N, task.contract.width)
    assert (seen[0] != seen[1]).any()


def test_a_failure_counts_from_then_on(rod: Robot) -> None:
    """However near a body comes again by chance."""
    frames = MotionFrames.of(swings(), rod)
    task, world = task_of(frames, rod), MujocoWorld(rod, physics_step=0.005)
    found = whole_episodes(world, task, constant(task, 3.0))
    assert (found > 0.7 * FAR).all() and (found <= FAR).all()


class Breaking(MujocoWorld):
    """One environment breaks down at the third step."""

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """As ever, but for that."""
        self.count = getattr(self, "count", 0) + 1
        seen = super().step(target, torque)
        return seen.map(lambda a: np.where(self._lost[:, None], np.nan, a))

    @property
    def _lost(self) -> np.ndarray:
        return (np.arange(N) == 1) & (getattr(self, "count", 0) > 2)

    @property
    def health(self) -> Health:
        """Of all."""
        return Health(self._lost, np.where(self._lost, 0.0, np.nan))


@pytest.mark.parametrize("steps", [10, 50])
def test_one_that_diverges_has_failed(rod: Robot, steps: int) -> None:
    """The others are judged as if it had not; every number is finite."""
    frames = MotionFrames.of(replace(swings(), q=swings().q[: steps + 1]), rod)
    task = task_of(frames, rod)
    plain = whole_episodes(MujocoWorld(rod, physics_step=0.005), task, constant(task, 0.0))
    found = whole_episodes(Breaking(rod, physics_step=0.005), task, constant(task, 0.0))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[[0, 2, 3]], plain[[0, 2, 3]])
    assert found[1] > plain[1] and found[1] > FAR * (steps - 3) / steps


def test_pushes_are_felt(walker: Robot, frames: MotionFrames) -> None:
    """What disturbs a training disturbs the episodes that judge it."""
    errors = []
    for push in (0.0, 1.0):
        task = task_of(frames, walker, push=push, push_every=0.1)
        world = MujocoWorld(walker, 50, physics_step=0.005)
        errors.append(whole_episodes(world, task, constant(task, 0.0)).mean())
    assert errors[1] > 1.05 * errors[0]
