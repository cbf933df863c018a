"""A matrix of evaluations: policies by worlds by seeds, each cell a file that is made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from gapless.artifact import file_name
from gapless.errors import FormatError, nearest
from gapless.evaluation.evaluating import evaluate
from gapless.evaluation.evaluation import Evaluation, WorldScores
from gapless.evaluation.policies_side_by_side import Spreads, plain_scores, score_table, spread
from gapless.evaluation.scenario import Scenario
from gapless.field_kinds import wrong_fields
from gapless.motions.references import read_motions
from gapless.policies import Policy
from gapless.printing import PrintsAsTables
from gapless.progress import Watch
from gapless.robots import Robot
from gapless.tasks import FileTask, InProcess, Workers, require
from gapless.toml_file import load_toml
from gapless.worlds.named_worlds import world_of

SEED = "{seed}"
"""In the path of a policy: the number of its training."""
_PLAYED = ("episodes", "seconds", "push")
"""What a matrix says of its episodes."""


@dataclass(frozen=True)
class MatrixCell:
    """One evaluation.

    Attributes:
        policy: name of the row.
        world: as `world_of` takes it.
        seed: of the training, where the path says so, and of the episodes.
        path: of the policy.
        file: where the evaluation is kept.
    """

    policy: str
    world: str
    seed: int
    path: Path
    file: Path


@dataclass(frozen=True)
class EvaluationMatrix(PrintsAsTables):
    """What is evaluated, read from a TOML file.

    Attributes:
        robot: name or path.
        policies: row -> path, seen from the file; `{seed}` in it is the number of a training.
        worlds: columns, each ENGINE[:PRESET[:UNIT]].
        motion: what trackers follow; "" is the motion beside each.
        seeds: of every cell.
        episodes: of every cell.
        seconds: of each; a tracker's end with its motion.
        push: speed given to the base at once, m/s.
        out: folder of the cells.
    """

    robot: str
    policies: Mapping[str, str]
    worlds: tuple[str, ...]
    motion: str = ""
    seeds: tuple[int, ...] = (0, 1, 2)
    episodes: int = 32
    seconds: float = Scenario.seconds
    push: float = 0.0
    out: Path = Path("cells")

    @classmethod
    def read(cls, path: Path) -> EvaluationMatrix:
        """The matrix of a file; its paths are seen from where it lies."""
        data = load_toml(path, "matrix of evaluations")
        known = [f.name for f in fields(cls)]
        for key in data:
            if key not in known:
                raise FormatError(f"{path}: {key!r} is not known.{nearest(key, known)}")
        lacking = [k for k in ("robot", "policies", "worlds") if not data.get(k)]
        if lacking:
            raise FormatError(f"{path} lacks {', '.join(lacking)}; see docs/track.md")
        data |= {k: tuple(v) for k, v in data.items() if isinstance(v, list)}
        out = data.get("out", f"{path.stem}_cells")
        data["out"] = Path(out) if isinstance(out, str) else out
        told = cls(**data)
        wrong = list(wrong_fields(told))
        if wrong:
            raise FormatError(f"{path}: {'; '.join(wrong)}; see docs/track.md")
        return told.seen_from(path.parent)

    def seen_from(self, folder: Path) -> EvaluationMatrix:
        """The same with every path seen from a folder."""
        places = {k: str(folder / v) for k, v in self.policies.items()}
        motion = str(folder / self.motion) if self.motion else ""
        return replace(self, policies=places, motion=motion, out=folder / self.out)

    def cells(self) -> Iterator[MatrixCell]:
        """Every cell, row by row."""
        for name, place in self.policies.items():
            for world in self.worlds:
                for seed in self.seeds:
                    file = self.out / f"{file_name(name)}__{file_name(world)}__{seed}.json"
                    yield MatrixCell(name, world, seed, Path(place.replace(SEED, str(seed))), file)

    def run(self, watch: Watch | None = None, workers: Workers | None = None) -> EvaluationMatrix:
        """Make the cells that are not there yet; a stop loses none that is whole.

        Args:
            watch: told how far it is.
            workers: who makes them; this process by default.
        """
        missing = [self._task(cell) for cell in self.cells() if not cell.file.exists()]
        require((workers or InProcess()).run(missing, watch), "cells")
        return self

    def _task(self, cell: MatrixCell) -> FileTask:
        robot = Path(self.robot)
        asked = {
            "robot": str(robot.absolute()) if robot.exists() else self.robot,
            "world": cell.world,
            "scenario": {k: getattr(self, k) for k in _PLAYED} | {"seed": cell.seed},
        }
        motion = {"motion": Path(self.motion)} if self.motion else {}
        files = {"policy": cell.path, **motion}
        return FileTask(cell.file.stem, f"{__name__}:make_cell", asked, files, cell.file)

    def scores(self) -> dict[str, dict[str, Spreads]]:
        """World -> policy -> score -> mean and standard deviation over seeds."""
        found: dict[str, dict[str, list[WorldScores]]] = {}
        for cell in self.cells():
            if cell.file.exists():
                rows = found.setdefault(cell.world, {})
                rows.setdefault(cell.policy, []).append(Evaluation.load(cell.file).worlds[0])
        return {w: {p: spread(s) for p, s in rows.items()} for w, rows in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; NaN, which a score without episodes is, is left out."""
        return {world: plain_scores(rows) for world, rows in self.scores().items()}

    def __rich__(self) -> Any:
        from rich.console import Group

        told = f"mean ± std over {len(self.seeds)} seeds"
        return Group(*(score_table(f"{w}: {told}", rows) for w, rows in self.scores().items()))


def make_cell(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of a cell: evaluate a policy in a world, and write what was found."""
    robot = Robot.load(asked["robot"], mount="free")
    policy = Policy.load(files["policy"], robot)
    place = files.get("motion") or (
        policy.contract.reference and policy.source.parent / policy.contract.reference
    )
    motion = read_motions(place, robot)[0] if place else None
    world, scenario = {asked["world"]: world_of(asked["world"], robot)}, asked["scenario"]
    evaluate(policy, world, Scenario(**scenario), motion=motion, watch=watch).save(out)
