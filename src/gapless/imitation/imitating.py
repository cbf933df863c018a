"""imitate(): trackers become one student, by behaviour cloning and then by DAgger.

In the first round the teachers act and are recorded; in every other the student acts, and its
teachers say what they would have done where it came to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import refuse_occupied
from gapless.errors import DataError
from gapless.imitation.imitate_settings import ImitateSettings
from gapless.imitation.rollouts import record_rollouts
from gapless.imitation.rounds_kept import RoundsKept
from gapless.imitation.samples import Samples
from gapless.imitation.student_contract import student_contract
from gapless.imitation.student_files import Student
from gapless.imitation.student_learning import StudentLearning
from gapless.imitation.teachers import Teacher, require_agreement
from gapless.learning.threads import torch_threads
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.trackability import refuse_untrackable
from gapless.policies import Policy
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.tracking.curricula import Curricula
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracker_episodes import Acting, whole_episodes
from gapless.tracking.tracker_training import JUDGED, digest_of
from gapless.tracking.tracking_task import TrackingTask
from gapless.tracking.training import followed
from gapless.tracking.training_worlds import nominal_world, quick_world
from gapless.worlds.world import World

JUDGES = 8
"""Episodes of each motion that choose between rounds."""
FAR = 0.6
"""Distance of any body from its reference at which an episode ends, m."""
STARTS = ("first", "anywhere")
"""Half of the environments begin at the first frame, as a student in use does; the others
anywhere, so that no part of a motion is seen less because students fall before it."""


@dataclass(frozen=True)
class Imitation:
    """Who is imitated, where, and how."""

    teachers: tuple[Teacher, ...]
    world: World
    settings: ImitateSettings
    seed: int

    @property
    def robot(self) -> Robot:
        """That teachers and student move."""
        return self.world.robot

    def task(self, k: int, environments: int, where: str, judging: bool = False) -> TrackingTask:
        """Episodes of the k-th motion; those that judge are as `evaluate` has them."""
        how, held = self.settings, self.robot.mount != "free"
        return TrackingTask(
            *(self.teachers[k].frames, self.robot, student_contract(self.teachers, k, "student")),
            weights={},
            environments=environments,
            curricula=Curricula(distance=FAR, farthest=FAR, nearest=FAR, speed=0.0),
            starts=JUDGED if judging else StartNoise().scaled(how.start_noise),
            where=where,
            push=0.0 if judging or held else how.push,
            push_every=2.0,
            action_noise=0.0 if judging else how.action_noise,
            seed=self.seed + 1_000_003 * judging,
        )


def imitate(
    policies: Sequence[Policy],
    robot: Robot | World,
    out: str | Path,
    settings: ImitateSettings | None = None,
    *,
    motions: Sequence[Motion] = (),
    seed: int = 0,
    checkpoint: Path | None = None,
    restart: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Policy:
    """Make one student of several trackers.

    Args:
        policies: the teachers, ours or other people's.
        robot: in its simulator; or the world that teachers and student act in.
        out: folder of the student: one network, and a contract (.toml) for each motion.
        settings: of the imitation.
        motions: that the teachers follow, one each; those beside them by default.
        seed: of everything drawn.
        checkpoint: file that a stopped imitation resumes from.
        restart: forget that file.
        overwrite: replace a policy that is already there.
        watch: told how far it is.

    Returns:
        The student, told to follow the first motion.
    """
    settings = settings or ImitateSettings()
    refuse_occupied(Path(out).resolve(), overwrite)  # before the work, not after it
    teachers = _teachers(policies, motions, robot if isinstance(robot, Robot) else robot.robot)
    world = nominal_world(robot) if isinstance(robot, Robot) else quick_world(robot)
    world = world.at_rate(teachers[0].policy.contract.rate)
    job = Imitation(teachers, world, settings, seed)
    kept = RoundsKept(checkpoint, _question(job), restart)
    with torch_threads(settings.threads):
        student, seen, acted = _imitated(job, kept, watch)
    made = student.save(out, seen, acted, overwrite)
    kept.clear()
    return made


def _teachers(
    policies: Sequence[Policy], motions: Sequence[Motion], robot: Robot
) -> tuple[Teacher, ...]:
    if motions and len(motions) != len(policies):
        raise DataError(
            f"{len(motions)} motions for {len(policies)} teachers; expected one for each, or none "
            "where they lie beside the teachers"
        )
    given = list(motions) or [followed(policy, robot) for policy in policies]
    for motion in given:
        refuse_untrackable(motion, robot)
    pairs = zip(policies, given, strict=True)
    found = tuple(Teacher(p, MotionFrames.of(m, robot, p.contract.rate)) for p, m in pairs)
    require_agreement(found)
    return found


def _imitated(
    job: Imitation, kept: RoundsKept, watch: Watch | None
) -> tuple[Student, np.ndarray, np.ndarray]:
    """All rounds; the student of the best one, with what it saw and did in whole episodes."""
    began, how = time.monotonic(), job.settings
    samples = kept.samples() or [recorded(job, 0, None, watch)]
    learning = StudentLearning(samples[0], how, job.seed)
    course = kept.restore(learning)
    taught = {t.name: judged(job, t.act, only=k)[t.name] for k, t in enumerate(job.teachers)}
    for part in range(len(course), how.parts):
        if part == len(samples):
            samples.append(recorded(job, part, learning.weights(), watch))
        kept.keep_samples(part, samples[part])
        loss = learning.learn(Samples.joined(samples), part, watch)
        errors = judged(job, learning.weights())
        course.append({"round": part, "loss": loss, "errors_m": errors})
        learning.note(float(np.mean([errors[name] / taught[name] for name in taught])))
        kept.keep(learning, course)
    weights = learning.best()
    seen: list[np.ndarray] = []
    errors = judged(job, weights, seen)
    training = {
        "teachers": [t.name for t in job.teachers],
        "motions": [t.frames.name for t in job.teachers],
        "robot": job.robot.name,
        "world": asdict(job.world.identity),
        "settings": how.to_dict(),
        "seed": job.seed,
        "samples": sum(map(len, samples)),
        "parameters": learning.size,
        "seconds": time.monotonic() - began,
        "errors_m": errors,
        "teachers_errors_m": taught,
        "course": course,
    }
    looked = np.concatenate(seen)
    return Student(job.teachers, weights, training), looked, learning.acts(looked)


def recorded(job: Imitation, part: int, act: Acting | None, watch: Watch | None = None) -> Samples:
    """The rollouts of a round, of all teachers."""
    how, found = job.settings, []
    steps, many = how.steps_of(len(job.teachers)), len(job.teachers) * len(STARTS)
    reporter = ProgressReporter(watch, f"round {part}, recording", steps * many)
    count = iter(range(1, steps * many + 1))
    for k, teacher in enumerate(job.teachers):
        for i, where in enumerate(STARTS):
            half = max(1, (how.environments + i) // len(STARTS))
            task, draw = job.task(k, half, where), (part * many + k * len(STARTS) + i)
            found.append(
                record_rollouts(
                    *(job.world, task, teacher.act, act, steps, how.foreseen, draw),
                    tell=lambda: reporter.tell(next(count)),
                )
            )
    return Samples.joined(found)


def judged(
    job: Imitation, act: Acting, seen: list[np.ndarray] | None = None, only: int | None = None
) -> dict[str, float]:
    """Teacher -> mean distance of bodies over its whole motion, m; a failure counts 0.5 m on."""
    chosen = range(len(job.teachers)) if only is None else [only]
    return {
        job.teachers[k].name: float(
            whole_episodes(job.world, job.task(k, JUDGES, "first", True), act, seen).mean()
        )
        for k in chosen
    }


def _question(job: Imitation) -> dict[str, Any]:
    """What the result depends on."""
    from gapless.artifact import version
    from gapless.policies.contract_json import contract_text

    return {
        "teachers": [contract_text(t.policy.contract) for t in job.teachers],
        "networks": [
            digest_of([np.fromfile(t.policy.network.path, np.uint8)]) for t in job.teachers
        ],
        "motions": [digest_of(t.frames.state.fields.values()) for t in job.teachers],
        "world": job.world.identity.key,
        "settings": job.settings.to_dict(),
        "seed": job.seed,
        "torch": version("torch"),
    }
