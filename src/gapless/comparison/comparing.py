"""compare(): methods on the same recordings, judged by the same others, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance, read_json, write_json
from gapless.comparison.comparison import Comparison, Row, Score
from gapless.comparison.judged_sets import JudgedSets, judged_sets
from gapless.comparison.methods import METHODS, ONCE, Bench, refuse_unknown
from gapless.corrections.correction_training import fingerprint
from gapless.errors import ArtifactError, DataError, FormatError, GaplessError
from gapless.measurement.measuring import HORIZONS
from gapless.measurement.spans import Horizon
from gapless.progress import Progress, Watch
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import as_split
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

FORMAT = "gapless comparison progress 2"

Scores = dict[str, Score]
"""What a set of recordings is called -> the score on it."""


def compare(
    data: Split | Recordings,
    robot: Robot,
    methods: Sequence[str] = tuple(METHODS),
    *,
    test_on: Mapping[str, Recordings] | None = None,
    seeds: int = 3,
    seed: int = 0,
    horizons: Sequence[Horizon] = HORIZONS,
    horizon: float = 1.0,
    budget: float = 600.0,
    windows: int | None = None,
    physics_step: float = 0.002,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    checkpoint: Path | None = None,
    restart: bool = False,
    only: tuple[str, int] | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Compare methods on one split.

    Args:
        data: a split of recordings, or all, which are then split as `Dataset.split` does.
        robot: the nominal robot.
        methods: keys of `comparison.methods.METHODS`; the raw simulator is always measured.
        test_on: name -> other recordings to judge by, beside what the split holds out; motions that
            are learned from are left out.
        seeds: trainings of each method that draws anything.
        seed: of the first training.
        horizons: seconds that are judged, or "full".
        horizon: seconds of an episode in training.
        budget: seconds that reinforcement learning may take.
        windows: at most this many windows of each recording are judged; None takes all.
        physics_step: longest physics step, s.
        settings: method -> other fields of its `CorrectSettings` (or `IdentifySettings`).
        checkpoint: file that keeps what is finished; the same call resumes from it.
        restart: forget that.
        only: a method and a seed, the only training that is made: a part of the comparison.
        watch: told the method, its seed, and how far its training is.
    """
    names = tuple(dict.fromkeys(("raw", *methods)))
    refuse_unknown([*names, *(settings or {})])
    if seeds < 1:
        raise DataError(f"seeds is {seeds}; expected 1 or more")
    split = as_split(data)
    sets = judged_sets(split, test_on or {})
    world = MujocoWorld(robot, split.learn[0].rate, physics_step=physics_step)
    bench = Bench(world, split.without_test(), horizon, budget, settings=settings or {})
    judge = JudgedSets(sets, tuple(horizons), windows, robot.mount == "free")
    kept = _Kept(checkpoint, _question(bench, judge, seed), restart)
    scores = {}
    for name in names:
        each = [s for s in trainings(name, seeds, seed) if only in (None, (name, s))]
        if each:
            scores[name] = [
                kept.scores(name, s, lambda n=name, s=s: _scored(n, s, bench, judge, watch))
                for s in each
            ]
    facts = {"split": split.to_dict(), **_facts(bench, seeds, seed)}
    return _compared(scores, judge, facts)


def trainings(method: str, seeds: int, seed: int) -> range:
    """Seeds of the trainings of a method; one that draws nothing has one."""
    return range(seed, seed + (1 if method in ONCE else seeds))


def merge_parts(parts: Sequence[Path], checkpoint: Path) -> None:
    """Put what parts of one comparison found into its checkpoint.

    Args:
        parts: checkpoints of calls with `only`; those that are missing are left to be made.
        checkpoint: of the whole comparison, which finds them there.

    Raises:
        ArtifactError: they are of different questions.
    """
    found = [read_json(part) for part in parts if part.exists()]
    if any(part["question"] != found[0]["question"] for part in found):
        raise ArtifactError(
            f"parts of {checkpoint} were asked differently; --restart makes them again"
        )
    if found:
        scores = {key: one for part in found for key, one in part["scores"].items()}
        write_json(checkpoint, {**found[0], "scores": scores})


def _compared(
    scores: Mapping[str, list[Scores]], judge: JudgedSets, facts: dict[str, Any]
) -> Comparison:
    """A comparison for each set of recordings, the others beside the first."""

    horizons = tuple(map(str, judge.horizons))

    def on(title: str) -> Comparison:
        rows = tuple(Row(name, tuple(s[title] for s in own)) for name, own in scores.items())
        told = {"test": _described(judge.sets[title])}
        return Comparison(rows, judge.metrics, horizons, told, title)

    first, *others = map(on, judge.sets)
    return replace(first, facts={**facts, **first.facts}, others=tuple(others))


def _scored(name: str, seed: int, bench: Bench, judge: JudgedSets, watch: Watch | None) -> Scores:
    """The scores of a method; one that fails is shown, and the others go on."""

    def tell(now: Progress) -> None:
        if watch is not None:
            watch(now.within(f"{name}, seed {seed}"))

    tell(Progress(""))
    try:
        return judge.scores(name, replace(bench, seed=seed, watch=tell))
    except ArtifactError:  # of the machine: no figure of a method
        raise
    except GaplessError as error:
        return dict.fromkeys(judge.sets, Score(seed, 0.0, failed=str(error)))


class _Kept:
    """Finished scores in a file, whole at every moment."""

    def __init__(self, path: Path | None, question: dict[str, Any], restart: bool) -> None:
        self._path, self._question = path, question
        self._scores: dict[str, Any] = {}
        if path is not None and path.exists() and not restart:
            self._scores = self._read(path)

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            data = read_json(path)
        except FormatError:
            return {}  # a damaged checkpoint is a fresh start, not a failure
        before = data.get("question", {}) if data.get("format") == FORMAT else {}
        differing = [k for k, v in self._question.items() if before.get(k) != v]
        if differing:
            raise ArtifactError(
                f"{path} is the progress of another comparison: {', '.join(differing)} differ. "
                "Asked as before, it resumes; --restart starts over"
            )
        return dict(data["scores"])

    def scores(self, name: str, seed: int, find: Callable[[], Scores]) -> Scores:
        """Scores that are there already, or found now; a failure is tried again next time."""
        key = f"{name} {seed}"
        if key in self._scores:
            return {title: Score(**one) for title, one in self._scores[key].items()}
        found = find()
        if all(one.failed is None for one in found.values()):
            self._scores[key] = {title: asdict(one) for title, one in found.items()}
            self._write()
        return found

    def _write(self) -> None:
        if self._path is not None:
            facts = {"format": FORMAT, "question": self._question, "scores": self._scores}
            write_json(self._path, facts)


def _question(bench: Bench, judge: JudgedSets, seed: int) -> dict[str, Any]:
    """What scores depend on, as it is read back from JSON."""
    import json

    found = {
        "world": bench.world.identity.key,
        "learning recordings": fingerprint(bench.split.learn),
        "choosing recordings": fingerprint(bench.split.choose),
        "held-out recordings": {k: fingerprint(own) for k, own in judge.sets.items()},
        "horizons": [*map(str, judge.horizons), judge.windows],
        "training horizon": bench.horizon,
        "budget": bench.budget,
        "seed": seed,
        "settings": bench.settings,
        "version": provenance()["gapless"],
    }
    return json.loads(json.dumps(found))


def _facts(bench: Bench, seeds: int, seed: int) -> dict[str, Any]:
    return {
        "robot": bench.world.robot.name,
        "identity": asdict(bench.world.identity),
        "learn": _described(bench.split.learn),
        "choose": _described(bench.split.choose),
        "seeds": seeds,
        "seed": seed,
        "budget": bench.budget,
        "horizon": bench.horizon,
        "settings": {k: dict(v) for k, v in bench.settings.items()},
        "made_by": provenance(),
    }


def _described(recordings: Recordings) -> dict[str, Any]:
    return {
        "recordings": len(recordings),
        "seconds": round(sum(r.duration for r in recordings), 1),
        "units": sorted({str(r.conditions.unit) for r in recordings}),
    }
