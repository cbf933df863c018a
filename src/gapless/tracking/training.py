"""train() and finetune(): a motion becomes a policy, and a policy is tuned in another world."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from gapless.artifact import refuse_occupied
from gapless.errors import DataError
from gapless.evaluation.path_prediction import PathPrediction
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.mlp_actor import acts, load_weights, weights_of
from gapless.learning.ppo_loop import PpoLoop
from gapless.learning.threads import torch_threads
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.trackability import refuse_untrackable
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights, read_mlp
from gapless.policies.policy_contract import PolicyContract
from gapless.progress import Watch
from gapless.recordings.recording import Recordings
from gapless.robots import Robot
from gapless.tracking.tracker_files import Tracker
from gapless.tracking.tracker_training import TrackerJudge, TrackerTraining
from gapless.tracking.tracking_contract import (
    MOTION_FILE,
    PORTS,
    require_trackable,
    tracking_contract,
)
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training_worlds import world_to_train_in
from gapless.tracking.trim_fit import TrimFit
from gapless.tracking.varied_worlds import can_be_varied
from gapless.worlds.world import World

NEAR = 0.05
"""Seconds by which what a policy says of its motion may differ from the motion's frames."""


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
    takes: Recordings = (),
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
            With `vary`, in so many simulators like this one at once. By default
            `finetuned_in(world)`.
        motion: what it follows; the one beside the policy by default.
        takes: recordings of this very policy on the robot, with its base. What the world misses of
            their mean path it will miss of the new policy's too, more or less: bodies shall be
            where that brings them onto the motion.
        seed: of everything drawn.
        checkpoint: file that a stopped training resumes from.
        restart: forget that file.
        overwrite: replace a policy that is already there.
        watch: told how far it is.
    """
    settings = settings or finetuned_in(world)
    refuse_occupied(Path(out).resolve(), overwrite)  # before takes are played
    require_trackable(policy.contract, world.robot)  # as it was given, not as it is varied
    world = world_to_train_in(world, settings, seed).at_rate(policy.contract.rate)
    motion = motion or followed(policy, world.robot)
    refuse_untrackable(motion, world.robot)
    frames = MotionFrames.of(motion, world.robot, world.rate)
    begun = read_mlp(policy.network.path)
    contract = own_contract(policy, frames, Path(out).name)
    missed = missed_path(PathPrediction(policy, list(takes)), world, frames) if len(takes) else None
    how = replace(settings, actor=begun.sizes)
    job = TrackerTraining(world, frames, contract, how, begun, seed, missed)
    return _trained(job, out, _kept(checkpoint, job, restart), overwrite, watch)


FINETUNED = replace(
    TrainSettings(),
    noise=0.2,
    sensor_noise=1.0,
    push=0.3,
    vary=8,
    ranges="narrow",
    warm_up=10,
    distance=0.6,
    penalties=1.0,
    tightening=0.0,
    ppo=replace(TrainSettings().ppo, rate=5e-5, gamma=0.99),
).with_samples(1.2e6)
"""Of `finetune` by default: a third of the samples of a training, less noise, and the reward as it
is at the end of a training. Steps begin small and grow with what they change: the first ones of a
training's size undo a good policy, which does not come back. What drifts, drifts over seconds: the
reward is looked at over as long. No simulator is right to the last millimetre or radian: a policy
that is tuned in one alone learns what is particular to it, and falls on the robot."""


def finetuned_in(world: World, environments: int = FINETUNED.environments) -> TrainSettings:
    """FINETUNED with so many environments, but for what a world cannot do.

    Hidden robots and worlds that differ already are not varied, and who is held is not pushed.
    """
    vary = min(FINETUNED.vary, environments) if can_be_varied(world) else 0
    return replace(
        FINETUNED,
        environments=environments,
        vary=vary,
        ranges=FINETUNED.ranges if vary else "",
        push=FINETUNED.push if world.robot.mount == "free" else 0.0,
    )


def missed_path(path: PathPrediction, world: World, frames: MotionFrames) -> np.ndarray:
    """(T, B, 3) from where a world takes a motion's bodies to where the robot took them, m."""
    found = path.missed(world)
    return found[np.minimum(np.arange(len(frames)), len(found) - 1)]


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
    kept = Checkpoint(file, job.question(), restart, precious=True)
    if restart:
        _trim_checkpoint(kept).clear()
    return kept


def _trained(
    job: TrackerTraining,
    out: str | Path,
    checkpoint: Checkpoint,
    overwrite: bool,
    watch: Watch | None,
) -> Policy:
    refuse_occupied(Path(out).resolve(), overwrite)  # before the work, not after it
    how = job.settings
    where = "failures" if how.preset == "beyondmimic" else "anywhere"
    task = job.task(job.world, how.environments, where)
    env = WorldVecEnv(job.world, task, how.environments)
    judge, trimming = TrackerJudge(job), _trim_checkpoint(checkpoint)

    with torch_threads(how.ppo.threads):
        begun, spent = _begun_with(job, judge, trimming, watch)
        rest = how.with_samples(max(1, how.samples - spent)) if spent else how
        actor = how.ppo.actor_of(env, ["policy"], how.actor, how.noise, job.seed, job.activation)
        if begun is not None:
            load_weights(actor, begun)
        critic = how.ppo.critic_of(env, ["policy", "privileged"], job.seed)
        loop = PpoLoop(
            *(env, how.ppo.algorithm(env, actor, critic), rest.ppo.iterations, how.ppo.seconds),
            judge=judge.of_arrays,
            seed=job.seed,
            memory=task,
            warm_up=how.warm_up,
        )
        best = loop.run(checkpoint, watch)
        weights = replace(weights_of(best), activation=job.activation)
        looked: list[np.ndarray] = []
        error = judge.error(weights, looked)
        seen = np.concatenate(looked)
        acted = acts(actor, best, {"policy": seen})
    training = {
        "motion": job.frames.name,
        "robot": job.robot.name,
        "world": asdict(job.world.identity),
        "settings": how.to_dict(),
        "seed": job.seed,
        "samples": how.environments * how.ppo.steps * loop.progress.iteration + spent,
        "trimmed": spent,
        "seconds": loop.progress.seconds,
        "error_m": error,
        "course": loop.progress.course,
        "tuned": job.begun is not None,
    }
    tracker = Tracker(job.contract, weights, job.frames, training)
    made = tracker.save(out, seen, acted, overwrite)
    checkpoint.clear()
    trimming.clear()
    return made


def _begun_with(
    job: TrackerTraining, judge: TrackerJudge, checkpoint: Checkpoint, watch: Watch | None
) -> tuple[MlpWeights | None, int]:
    """The network that PPO begins with, trimmed where that helps, and the control steps it took."""
    if job.begun is None or not job.settings.trim:
        return job.begun, 0
    fit = TrimFit(job, watch)
    if not fit.rounds:
        return job.begun, 0
    trimmed = fit.found(checkpoint)
    helps = judge.error(trimmed) < judge.error(job.begun)
    return trimmed if helps else job.begun, fit.samples


def _trim_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """Beside that of the whole training, and about the same question."""
    file = checkpoint.path
    beside = None if file is None else file.with_name(f"{file.name}.trim")
    return Checkpoint(beside, checkpoint.question, precious=True)
