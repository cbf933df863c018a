"""The motions of a plan: files as they are, and as many drawn ones as its hours take."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gapless.collection.plan import CollectionPlan
from gapless.errors import DataError, unknown
from gapless.motions.catalogue import CATALOGUE, make
from gapless.motions.levels import level_motions
from gapless.motions.limits import check_motion
from gapless.motions.motion import Motion
from gapless.motions.references import read_motions
from gapless.robots import Robot


@dataclass(frozen=True, eq=False)
class Repertoire:
    """The distinct motions that a plan plays.

    Attributes:
        robot: the nominal robot that plays them.
        motions: each once, with a name of its own.
        levels: level of each, or what it comes from.
    """

    robot: Robot
    motions: tuple[Motion, ...]
    levels: tuple[str, ...]

    @property
    def names(self) -> list[tuple[str, str]]:
        """Name and level of each motion."""
        return [(m.name, level) for m, level in zip(self.motions, self.levels, strict=True)]

    def targets(self, rate: float) -> dict[str, np.ndarray]:
        """(T, J) targets of each motion by name, all resampled from the same curve."""
        return {m.name: m.targets(self.robot, rate) for m in self.motions}

    def fingerprint(self) -> str:
        """Short hash of every sample of every motion."""
        digest = hashlib.sha256()
        for motion in self.motions:
            digest.update(f"{motion.name} {motion.rate} {motion.joints}".encode())
            digest.update(np.ascontiguousarray(motion.q).tobytes())
        return digest.hexdigest()[:16]


def repertoire(plan: CollectionPlan) -> Repertoire:
    """Choose and make the motions of a plan; what cannot be played is refused by name."""
    robot = plan.load_robot()
    files = _files(plan, robot)
    sources = [*plan.levels, *(name for name in plan.motions if name in CATALOGUE)]
    counts = _counts(plan, files, sources)
    pairs = [(motion, "file") for motion in files[: counts.pop("file")]]
    for source, count in counts.items():
        pairs += [(motion, source) for motion in _drawn(plan, robot, source, count)]
    _refuse_twins([motion.name for motion, _ in pairs])
    # Levels are drawn within the limits; anything else is checked with the heaviest load.
    loaded = robot.with_payloads(plan.loads(robot, max(plan.payloads)))
    for motion, source in pairs:
        if source not in plan.levels:
            _refuse_unsafe(motion, loaded)
    return Repertoire(robot, *(tuple(column) for column in zip(*pairs, strict=True)))


def _counts(plan: CollectionPlan, files: list[Motion], sources: list[str]) -> dict[str, int]:
    """How many motions come from files and from each source that can draw new ones.

    Whole motions, each with all its payloads, rates, units and repeats: the design stays balanced.
    """
    if plan.hours is None:
        return {"file": len(files)} | dict.fromkeys(sources, 1)
    wanted = plan.hours * 3600 / plan.takes
    before = np.cumsum([0.0, *(motion.seconds for motion in files)])
    used = int((before[:-1] < wanted - 1e-6).sum())
    lacking = max(0, math.ceil((wanted - before[used]) / plan.seconds - 1e-6))
    if lacking and not sources:
        raise DataError(
            f"the motions named last {before[-1] * plan.takes / 3600:.3g} h in all sequences, "
            f"{plan.hours:g} h were asked for; give fewer --hours, more --repeats, or --levels, "
            "whose motions do not run out"
        )
    share = {s: -(-(lacking - i) // len(sources)) for i, s in enumerate(sources)}
    return {"file": used} | share


def _drawn(plan: CollectionPlan, robot: Robot, source: str, count: int) -> list[Motion]:
    """New motions at the highest rate; other rates are resampled from them."""
    rate = float(max(plan.rates))
    if source not in CATALOGUE:
        return level_motions(robot, source, count, plan.seconds, rate, plan.seed)
    made = [make(source, robot, plan.seconds, rate=rate, seed=plan.seed + i) for i in range(count)]
    if count > 1 and np.array_equal(made[0].q, made[1].q):
        raise DataError(
            f"{source!r} is always the same motion, {count} different ones were asked for; "
            "give fewer --hours, more --repeats, or --levels"
        )
    return [replace(motion, name=f"{source}_{i:04d}") for i, motion in enumerate(made)]


def _files(plan: CollectionPlan, robot: Robot) -> list[Motion]:
    named = [name for name in plan.motions if name not in CATALOGUE]
    motions = [motion for name in named for motion in _read(name, robot)]
    return motions


def _refuse_twins(names: list[str]) -> None:
    """Sequences are told apart by the names of their motions."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"two motions are named {twice[0]!r}; rename one of the files")


def _refuse_unsafe(motion: Motion, robot: Robot) -> None:
    report = check_motion(motion, robot)
    if not report.ok:
        raise DataError(
            f"motion {motion.name!r} leaves the limits of {robot.name}:\n{report}\n"
            "make it fit (gapless motion ... --fit --out FILE) and play the file, or choose another"
        )


def _read(name: str, robot: Robot) -> list[Motion]:
    """The motions of a file or folder."""
    if not Path(name).suffix and not Path(name).exists():
        raise unknown("motion", name, CATALOGUE)
    return read_motions(name, robot)
