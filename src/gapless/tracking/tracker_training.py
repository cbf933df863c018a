"""What a tracker's training is about, and how its rounds are judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gapless.evaluation.policy_episodes import really
from gapless.evaluation.scenario import Scenario
from gapless.learning.adam_state import Arrays
from gapless.learning.mlp_actor import weights_of
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.contract_json import contract_text
from gapless.policies.mlp_weights import MlpWeights
from gapless.policies.policy_contract import PolicyContract
from gapless.robots import Robot
from gapless.tracking.curricula import LONG, Curricula
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracker_episodes import whole_episodes
from gapless.tracking.tracking_task import SensorNoise, TrackingTask
from gapless.tracking.train_settings import TrainSettings
from gapless.worlds.world import World

JUDGES = 48
"""Episodes that choose between the rounds of a training."""
JUDGED = StartNoise(Scenario().start_noise, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Their starts, as `evaluate` has them: a policy that does not see where it is cannot make good
what a start is turned or moved by, so that such starts would hide what it does."""


@dataclass(frozen=True)
class TrackerTraining:
    """What is trained, on what, from where; and what the world misses of the robot's path."""

    world: World
    frames: MotionFrames
    contract: PolicyContract
    settings: TrainSettings
    begun: MlpWeights | None
    seed: int
    missed: np.ndarray | None = None

    @property
    def robot(self) -> Robot:
        """That is trained."""
        return self.world.robot

    @property
    def activation(self) -> str:
        """Between the layers of its network."""
        return "elu" if self.begun is None else self.begun.activation

    def task(
        self,
        world: World,
        environments: int,
        where: str,
        judging: bool = False,
        calm: bool = False,
    ) -> TrackingTask:
        """Episodes of it; those that judge have starts of their own, calm ones no disturbance.

        A round that follows closely and falls when it is nudged is not the best one.
        """
        how = self.settings
        sensed = SensorNoise(**{k: how.sensor_noise * v for k, v in asdict(SensorNoise()).items()})
        return TrackingTask(
            *(self.frames, self.robot, self.contract, how.weights, environments),
            curricula=Curricula(
                distance=how.distance,
                penalties=how.penalties,
                speed=how.tightening,
                target=min(LONG, 0.5 * self.frames.seconds * self.frames.rate),
            ),
            starts=JUDGED if judging else StartNoise().scaled(how.start_noise),
            where=where,
            sensors=sensed if how.sensor_noise and not calm else None,
            push=0.0 if calm else how.push,
            action_noise=0.0 if judging else how.action_noise,
            truth=partial(really, world),
            missed=self.missed,
            seed=self.seed + 1_000_003 * judging,
        )

    def question(self) -> dict[str, Any]:
        """What the result depends on."""
        from gapless.artifact import version

        missed = {} if self.missed is None else {"missed": digest_of([self.missed])}
        return missed | {
            "motion": self.frames.name,
            "frames": digest_of(self.frames.state.fields.values()),
            "contract": contract_text(self.contract),
            "world": self.world.identity.key,
            "settings": self.settings.to_dict(),
            "seed": self.seed,
            "begun": "" if self.begun is None else digest_of(sum(self.begun.layers, ())),
            "rsl_rl": version("rsl-rl-lib"),
            "torch": version("torch"),
        }


class TrackerJudge:
    """The error of a network over whole motions in the world that it is trained in."""

    def __init__(self, job: TrackerTraining) -> None:
        self._job, self._world = job, job.world.twin()
        self._task = job.task(self._world, JUDGES, "first", judging=True)

    def error(self, weights: MlpWeights, seen: list[np.ndarray] | None = None) -> float:
        """Mean distance of bodies, m; `seen` is given every observation, where it is there."""
        return float(whole_episodes(self._world, self._task, weights, seen).mean())

    def of_arrays(self, arrays: Arrays) -> float:
        """The same of an actor by its arrays."""
        return self.error(replace(weights_of(arrays), activation=self._job.activation))


def digest_of(arrays: Iterable[np.ndarray]) -> str:
    """Short hash of numbers: a checkpoint of others is not gone on from."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array, np.float64).tobytes())
    return found.hexdigest()[:16]
