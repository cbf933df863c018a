"""train() and finetune(): a motion becomes a policy, and a policy is tuned in another world."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import refuse_occupied
from gapless.errors import DataError
from gapless.evaluation.policy_episodes import really
from gapless.evaluation.scenario import Scenario
from gapless.learning.adam_state import Arrays
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.mlp_actor import acts, load_weights, weights_of
from gapless.learning.ppo_loop import PpoLoop
from gapless.learning.ppo_progress import JUDGEMENT
from gapless.learning.threads import torch_threads
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.trackability import refuse_untrackable
from gapless.policies import Policy
from gapless.policies.contract_json import contract_text
from gapless.policies.mlp_weights import MlpWeights, read_mlp
from gapless.policies.policy_contract import PolicyContract
from gapless.progress import Progress, Watch
from gapless.robots import Robot
from gapless.tracking.curricula import LONG, Curricula
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracker_episodes import whole_episodes
from gapless.tracking.tracker_files import Tracker
from gapless.tracking.tracking_contract import MOTION_FILE, PORTS, tracking_contract
from gapless.tracking.tracking_task import SensorNoise, TrackingTask
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training_worlds import world_to_train_in
from gapless.worlds.world import World

NEAR = 0.05
"""Seconds by which what a policy says of its motion may differ from the motion's frames."""
JUDGES = 16
"""Episodes that choose between the rounds of a training."""
JUDGED = StartNoise(Scenario().start_noise, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Their starts, as `evaluate` has them: a policy that does not see where it is cannot make good
what a start is turned or moved by, so that such starts would hide what it does."""


@dataclass(frozen=True)
class TrackerTraining:
    """What is trained, on what, from where."""

    world: World
    frames: MotionFrames
    contract: PolicyContract
    settings: TrainSettings
    begun: MlpWeights | None
    seed: int

    @property
    def robot(self) -> Robot:
        """That is trained."""
        return self.world.robot

    def task(
        self, world: World, environments: int, where: str, judging: bool = False
    ) -> TrackingTask:
        """Episodes of it; those that judge have no noise but that of their joints at the start."""
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
            sensors=sensed if how.sensor_noise and not judging else None,
            push=0.0 if judging else how.push,
            action_noise=0.0 if judging else how.action_noise,
            truth=partial(really, world),
            seed=self.seed + 1_000_003 * judging,
        )


def train(
    motion: Motion,
    robot: Robot | World,
    out: str | Path,
    settings: TrainSettings | None = None,
    *,
    seed: int = 0,
    checkpoint: Path | None = None,
    restart: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Policy:
    """Train a tracker of a motion.

    Args:
        motion: what it shall follow.
        robot: in its simulator; or the world to train in.
        out: folder of the policy.
        settings: of the training.
        seed: of everything drawn.
        checkpoint: file that a stopped training resumes from.
        restart: forget that file.
        overwrite: replace a policy that is already there.
        watch: told how far it is.
    """
    settings = settings or TrainSettings()
    world = world_to_train_in(robot, settings, seed)
    refuse_untrackable(motion, world.robot)
    frames = MotionFrames.of(motion, world.robot, world.rate)
    step = _physics_step(world)
    contract = tracking_contract(frames, world.robot, settings.preset, settings.action, step)
    contract = replace(contract, name=Path(out).name)
    job = TrackerTraining(world, frames, contract, settings, None, seed)
    return _trained(job, out, _kept(checkpoint, job, restart), overwrite, watch)


def finetune(
    policy: Policy,
    world: World,
    out: str | Path,
    settings: TrainSettings | None = None,
    *,
    motion: Motion | None = None,
    seed: int = 0,
    checkpoint: Path | None = None,
    restart: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Policy:
    """Go on training a tracker in another world, such as the corrected simulator of a run.

    Args:
        policy: ours, or other people's: its network must be a chain of dense layers.
        world: to train in; the policy runs without its corrections afterwards.
        out: folder of the new policy.
        settings: of the training; the critic begins anew, and warms up before the policy moves.
            With `vary`, in so many simulators like this one at once.
        motion: what it follows; the one beside the policy by default.
        seed: of everything drawn.
        checkpoint: file that a stopped training resumes from.
        restart: forget that file.
        overwrite: replace a policy that is already there.
        watch: told how far it is.
    """
    settings = settings or FINETUNED
    world = world_to_train_in(world, settings, seed).at_rate(policy.contract.rate)
    motion = motion or followed(policy, world.robot)
    refuse_untrackable(motion, world.robot)
    frames = MotionFrames.of(motion, world.robot, world.rate)
    begun = read_mlp(policy.network.path)
    contract = own_contract(policy, frames, Path(out).name)
    job = TrackerTraining(
        world, frames, contract, replace(settings, actor=begun.sizes), begun, seed
    )
    return _trained(job, out, _kept(checkpoint, job, restart), overwrite, watch)


FINETUNED = replace(
    TrainSettings(),
    noise=0.1,
    warm_up=10,
    distance=0.6,
    penalties=1.0,
    tightening=0.0,
    ppo=replace(TrainSettings().ppo, rate=2e-5, gamma=0.99),
).with_samples(1.2e6)
"""Of `finetune` by default: a third of the samples of a training, less noise, and the reward as it
is at the end of a training. Steps begin small and grow with what they change: the first ones of a
training's size undo a good policy, which does not come back. What drifts, drifts over seconds: the
reward is looked at over as long."""


def followed(policy: Policy, robot: Robot) -> Motion:
    """The motion beside a policy."""
    from gapless.motions.references import read_motions

    if not policy.contract.reference:
        raise DataError(f"policy {policy.name!r} does not say which motion it follows: --motion")
    return read_motions(policy.source.parent / policy.contract.reference, robot)[0]


def own_contract(policy: Policy, frames: MotionFrames, name: str) -> PolicyContract:
    """The contract of a policy as our folders have it: ports by name, its motion beside it."""
    before = policy.contract.motion_seconds or np.inf
    return replace(
        policy.contract,
        name=name,
        ports=PORTS,
        reference=MOTION_FILE,
        bodies=frames.names,
        # Of its own motion it keeps its own figure, which frames round.
        motion_seconds=before if abs(before - frames.seconds) < NEAR else frames.seconds,
    )


def _physics_step(world: World) -> float:
    return float(world.identity.timestep)


def _kept(file: Path | None, job: TrackerTraining, restart: bool) -> Checkpoint:
    return Checkpoint(file, _question(job), restart, precious=True)


def _question(job: TrackerTraining) -> dict[str, Any]:
    """What the result depends on."""
    from gapless.artifact import version

    return {
        "motion": job.frames.name,
        "frames": digest_of(job.frames.state.fields.values()),
        "contract": contract_text(job.contract),
        "world": job.world.identity.key,
        "settings": job.settings.to_dict(),
        "seed": job.seed,
        "begun": "" if job.begun is None else digest_of(sum(job.begun.layers, ())),
        "rsl_rl": version("rsl-rl-lib"),
        "torch": version("torch"),
    }


def digest_of(arrays: Iterable[np.ndarray]) -> str:
    """Short hash of numbers: a checkpoint of others is not gone on from."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array, np.float64).tobytes())
    return found.hexdigest()[:16]


def _trained(
    job: TrackerTraining,
    out: str | Path,
    checkpoint: Checkpoint,
    overwrite: bool,
    watch: Watch | None,
) -> Policy:
    refuse_occupied(Path(out).resolve(), overwrite)  # before the work, not after it
    how, course = job.settings, []
    where = "failures" if how.preset == "beyondmimic" else "anywhere"
    task = job.task(job.world, how.environments, where)
    env = WorldVecEnv(job.world, task, how.environments)
    judge, judging = _judge(job)

    def tell(now: Progress) -> None:
        if JUDGEMENT in now.figures:
            course.append([now.done, now.figures[JUDGEMENT]])
        if watch is not None:
            watch(now)

    with torch_threads(how.ppo.threads):
        actor = how.ppo.actor_of(env, ["policy"], how.actor, how.noise, job.seed, _activation(job))
        if job.begun is not None:
            load_weights(actor, job.begun)
        critic = how.ppo.critic_of(env, ["policy", "privileged"], job.seed)
        loop = PpoLoop(
            *(env, how.ppo.algorithm(env, actor, critic), how.ppo.iterations, how.ppo.seconds),
            judge=judge,
            seed=job.seed,
            memory=task,
            warm_up=how.warm_up,
        )
        best = loop.run(checkpoint, tell)
        weights = replace(weights_of(best), activation=_activation(job))
        looked: list[np.ndarray] = []
        error = float(whole_episodes(*judging, weights, looked).mean())
        seen = np.concatenate(looked)
        acted = acts(actor, best, {"policy": seen})
    training = {
        "motion": job.frames.name,
        "robot": job.robot.name,
        "world": asdict(job.world.identity),
        "settings": how.to_dict(),
        "seed": job.seed,
        "samples": how.environments * how.ppo.steps * loop.progress.iteration,
        "seconds": loop.progress.seconds,
        "error_m": error,
        "course": course,
        "tuned": job.begun is not None,
    }
    tracker = Tracker(job.contract, weights, job.frames, training)
    made = tracker.save(out, seen, acted, overwrite)
    checkpoint.clear()
    return made


def _activation(job: TrackerTraining) -> str:
    return "elu" if job.begun is None else job.begun.activation


def _judge(
    job: TrackerTraining,
) -> tuple[Callable[[Arrays], float], tuple[World, TrackingTask]]:
    """The error of an actor over whole motions in the world that it is trained in."""
    world = job.world.twin()
    task = job.task(world, JUDGES, "first", judging=True)

    def error(arrays: Arrays) -> float:
        weights = replace(weights_of(arrays), activation=_activation(job))
        return float(whole_episodes(world, task, weights).mean())

    return error, (world, task)
