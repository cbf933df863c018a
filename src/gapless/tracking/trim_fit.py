"""A trim found by least squares: whole motions in a simulator, before reinforcement learning.

The mean path of some episodes, against the motion, changes smoothly with a trim, so that one round
of finite differences tells which way to go. PPO begins from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.learning.checkpoint import Checkpoint
from gapless.policies.mlp_weights import MlpWeights
from gapless.progress import Progress, Watch
from gapless.tracking.policy_trim import TrimmedNetwork, trim_size
from gapless.tracking.tracker_episodes import FAR, whole_episodes
from gapless.tracking.tracker_training import TrackerTraining
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds.mixed_world import MixedWorld

EPISODES = 8
"""Of each trim; in several simulators, as many of each."""
AT_ONCE = 512
"""Environments of one play."""
STEP = 0.5
"""Of a finite difference, in units of a trim: touches make smaller ones say nothing."""
PULL = 0.1
"""Towards no trim, per unit."""
SIZE = 0.02
"""What counts as PULL does, m."""
DAMPED = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Levenberg's steps, all of which are tried at once."""
EVERY = 4
"""Control steps of which one is fitted."""
SHARE = 0.5
"""Of a training's control steps that trimming may take."""
SEED = 500_009
"""Its starts are neither those of rounds nor those that judge."""


@dataclass(frozen=True)
class _TrimsPlayed:
    residuals: np.ndarray
    errors: np.ndarray


class TrimFit:
    """Levenberg-Marquardt on the trim of the network that a training begins with.

    Args:
        job: whose world and motion count.
        watch: told after every round.
    """

    def __init__(self, job: TrackerTraining, watch: Watch | None = None) -> None:
        assert job.begun is not None
        self._job, self._watch = replace(job, seed=job.seed + SEED), watch
        self._weights = job.begun
        self._size = trim_size(job.begun, job.contract)
        self._worlds = len(job.world.worlds) if isinstance(job.world, MixedWorld) else 1
        self._episodes = self._worlds * -(-EPISODES // self._worlds)
        self.rounds = min(job.settings.trim, int(SHARE * job.settings.samples / self.round_samples))

    @property
    def round_samples(self) -> int:
        """Control steps of a round."""
        played = 1 + self._size + len(DAMPED)
        return played * self._episodes * (len(self._job.frames) - 1)

    @property
    def samples(self) -> int:
        """Control steps of all rounds."""
        return self.rounds * self.round_samples

    def found(self, checkpoint: Checkpoint) -> MlpWeights:
        """The network with the best trim, from a checkpoint where there is one."""
        trim, done = np.zeros(self._size), 0
        if kept := checkpoint.load():
            trim, done = kept[0]["trim"], kept[1]["done"]
        for k in range(done, self.rounds):
            trim, error = self._stepped(trim)
            checkpoint.keep({"trim": trim}, {"done": k + 1})
            if self._watch:
                told = {"error_mm": 1000 * error}
                self._watch(Progress("trimming", k + 1, self.rounds, told))
        return self._network(trim[None]).folded()

    def _network(self, trims: np.ndarray) -> TrimmedNetwork:
        return TrimmedNetwork(self._weights, self._job.contract, trims)

    def _stepped(self, trim: np.ndarray) -> tuple[np.ndarray, float]:
        """One round: slopes, then the best of several steps; or where it was, with its error."""
        around = self._play(trim + STEP * np.eye(1 + self._size, self._size, -1))
        here = around.residuals[0] / SIZE
        slopes = (around.residuals[1:] / SIZE - here).T / STEP
        normal = slopes.T @ slopes + PULL**2 * np.eye(self._size)
        gradient = slopes.T @ here + PULL**2 * trim
        tried = np.stack(
            [
                trim - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
                for damping in DAMPED
            ]
        )
        errors = self._play(tried).errors
        best = int(np.argmin(errors))
        if errors[best] < around.errors[0]:
            return tried[best], float(errors[best])
        return trim, float(around.errors[0])

    def _play(self, trims: np.ndarray) -> _TrimsPlayed:
        """Whole motions with each of (P, K) trims, from the same starts."""
        most = max(1, AT_ONCE // self._episodes)
        parts = [self._part(trims[k : k + most]) for k in range(0, len(trims), most)]
        return _TrimsPlayed(
            np.concatenate([p.residuals for p in parts]), np.concatenate([p.errors for p in parts])
        )

    def _part(self, trims: np.ndarray) -> _TrimsPlayed:
        many = len(trims) * self._episodes
        world = self._job.world.twin()  # of its own: a play depends on its trims alone
        task = self._job.task(world, many, "first", judging=True, calm=True)
        act = self._network(np.repeat(trims, self._episodes, axis=0))
        paths: list[np.ndarray] = []

        def each(step: int, failed: np.ndarray) -> None:
            if step % EVERY == EVERY - 1:
                paths.append(_mean_path(task, failed, len(trims), self._worlds))

        errors = whole_episodes(world, task, act, starts=self._episodes, each=each)
        residuals = np.concatenate(paths, axis=1) / np.sqrt(max(1, len(paths)))
        return _TrimsPlayed(residuals, errors.reshape(len(trims), -1).mean(axis=1))


def _mean_path(task: TrackingTask, failed: np.ndarray, count: int, worlds: int) -> np.ndarray:
    """(count, R) how far bodies are off in the mean of those who follow, m, and who does not.

    In each simulator by itself: a trim that is right for their mean may be wrong in all of them.
    """
    follows = ~failed.reshape(count, -1, worlds)
    off = np.where(failed[:, None, None], 0.0, task.offsets).reshape(*follows.shape, -1)
    mean = off.sum(axis=1) / np.maximum(follows.sum(axis=1), 1)[..., None]
    lost = FAR * (1 - follows.mean(axis=1))
    found = np.concatenate([mean / np.sqrt(task.offsets.shape[1]), lost[..., None]], axis=-1)
    return found.reshape(count, -1) / np.sqrt(worlds)
