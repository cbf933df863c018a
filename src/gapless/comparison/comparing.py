"""compare(): methods on the same recordings, judged by the same others, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance, read_json, write_json
from gapless.comparison.comparison import BODIES, JOINT, Comparison, Row, Score
from gapless.comparison.methods import METHODS, ONCE, Bench, refuse_unknown, run
from gapless.corrections.correcting import fingerprint
from gapless.errors import ArtifactError, DataError, FormatError, GaplessError
from gapless.measurement import measure
from gapless.measurement.measuring import HORIZONS
from gapless.measurement.spans import Horizon
from gapless.progress import Progress, Watch
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import as_split
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

FORMAT = "gapless comparison progress 1"


def compare(
    data: Split | Recordings,
    robot: Robot,
    methods: Sequence[str] = tuple(METHODS),
    *,
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
    watch: Watch | None = None,
) -> Comparison:
    """Compare methods on one split.

    Args:
        data: a split of recordings, or all, which are then split as `Dataset.split` does.
        robot: the nominal robot.
        methods: keys of `comparison.methods.METHODS`; the raw simulator is always measured.
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
        watch: told the method, its seed, and how far its training is.
    """
    names = tuple(dict.fromkeys(("raw", *methods)))
    refuse_unknown([*names, *(settings or {})])
    if seeds < 1:
        raise DataError(f"seeds is {seeds}; expected 1 or more")
    split = as_split(data)
    if not len(split.test):
        raise DataError("nothing is held out to test on; give a share, motions or recordings")
    world = MujocoWorld(robot, split.learn[0].rate, physics_step=physics_step)
    bench = Bench(world, split.without_test(), horizon, budget, settings=settings or {})
    judge = _Judge(list(split.test), tuple(horizons), windows, robot.mount == "free")
    kept = _Kept(checkpoint, _question(bench, judge, seed), restart)
    rows = []
    for name in names:
        each = range(seed, seed + (1 if name in ONCE else seeds))
        scores = [
            kept.score(name, s, lambda n=name, s=s: _scored(n, s, bench, judge, watch))
            for s in each
        ]
        rows.append(Row(name, tuple(scores)))
    facts = {"split": split.to_dict(), **_facts(bench, judge, seeds, seed)}
    return Comparison(tuple(rows), judge.metrics, tuple(map(str, judge.horizons)), facts)


class _Judge:
    """The held-out recordings, and how they are replayed."""

    def __init__(
        self,
        recordings: list[Recording],
        horizons: tuple[Horizon, ...],
        windows: int | None,
        free: bool,
    ) -> None:
        self.recordings, self.horizons, self.windows = recordings, horizons, windows
        self.metrics = (*BODIES, *JOINT) if free else JOINT

    def score(self, name: str, bench: Bench) -> Score:
        """Run a method and measure its world."""
        world, seconds = run(name, bench)
        gap = measure(self.recordings, world, horizons=self.horizons, windows=self.windows)
        return Score.of(gap, self.metrics, bench.seed, seconds)


def _scored(name: str, seed: int, bench: Bench, judge: _Judge, watch: Watch | None) -> Score:
    """The score of a method; one that fails is shown, and the others go on."""

    def tell(now: Progress) -> None:
        if watch is not None:
            watch(now.within(f"{name}, seed {seed}"))

    tell(Progress(""))
    try:
        return judge.score(name, replace(bench, seed=seed, watch=tell))
    except GaplessError as error:
        return Score(seed, 0.0, failed=str(error))


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
                "Ask the same again to go on, or pass --restart to start over"
            )
        return dict(data["scores"])

    def score(self, name: str, seed: int, find: Callable[[], Score]) -> Score:
        """A score that is there already, or found now; a failure is tried again next time."""
        key = f"{name} {seed}"
        if key in self._scores:
            return Score(**self._scores[key])
        found = find()
        if found.failed is None:
            self._scores[key] = asdict(found)
            self._write()
        return found

    def _write(self) -> None:
        if self._path is not None:
            facts = {"format": FORMAT, "question": self._question, "scores": self._scores}
            write_json(self._path, facts)


def _question(bench: Bench, judge: _Judge, seed: int) -> dict[str, Any]:
    """What scores depend on, as it is read back from JSON."""
    import json

    found = {
        "world": bench.world.identity.key,
        "learning recordings": fingerprint(bench.split.learn),
        "choosing recordings": fingerprint(bench.split.choose),
        "held-out recordings": fingerprint(judge.recordings),
        "horizons": [*map(str, judge.horizons), judge.windows],
        "training horizon": bench.horizon,
        "budget": bench.budget,
        "seed": seed,
        "settings": bench.settings,
        "version": provenance()["gapless"],
    }
    return json.loads(json.dumps(found))


def _facts(bench: Bench, judge: _Judge, seeds: int, seed: int) -> dict[str, Any]:
    return {
        "robot": bench.world.robot.name,
        "identity": asdict(bench.world.identity),
        "learn": _described(bench.split.learn),
        "choose": _described(bench.split.choose),
        "test": _described(judge.recordings),
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
