"""A matrix of evaluations: policies by worlds by seeds, each cell a file that is made once."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gapless.artifact import file_name
from gapless.errors import FormatError, nearest
from gapless.evaluation.evaluating import evaluate
from gapless.evaluation.evaluation import Evaluation, WorldScores
from gapless.evaluation.policies_side_by_side import Spreads, plain_scores, score_table, spread
from gapless.evaluation.scenario import Scenario
from gapless.motions.references import read_motions
from gapless.policies import Policy
from gapless.printing import PrintsAsTables
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.worlds.named_worlds import world_of

SEED = "{seed}"
"""In the path of a policy: the number of its training."""


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
        push: speed given to the base at once, m/s.
        out: folder of the cells.
    """

    robot: str
    policies: Mapping[str, str]
    worlds: tuple[str, ...]
    motion: str = ""
    seeds: tuple[int, ...] = (0, 1, 2)
    episodes: int = 32
    push: float = 0.0
    out: Path = Path("cells")

    @classmethod
    def read(cls, path: Path) -> EvaluationMatrix:
        """The matrix of a file; its paths are seen from where it lies."""
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FormatError(f"{path} is no matrix of evaluations: {error}") from error
        known = [f.name for f in fields(cls)]
        for key in data:
            if key not in known:
                raise FormatError(f"{path}: {key!r} is not known.{nearest(key, known)}")
        lacking = [k for k in ("robot", "policies", "worlds") if not data.get(k)]
        if lacking:
            raise FormatError(f"{path} lacks {', '.join(lacking)}; see docs/track.md")
        data |= {k: tuple(data[k]) for k in ("worlds", "seeds") if k in data}
        places = {k: str(path.parent / v) for k, v in data["policies"].items()}
        motion = str(path.parent / data["motion"]) if data.get("motion") else ""
        out = path.parent / data.get("out", f"{path.stem}_cells")
        return cls(**{**data, "policies": places, "motion": motion, "out": out})

    def cells(self) -> Iterator[MatrixCell]:
        """Every cell, row by row."""
        for name, place in self.policies.items():
            for world in self.worlds:
                for seed in self.seeds:
                    file = self.out / f"{file_name(name)}__{file_name(world)}__{seed}.json"
                    yield MatrixCell(name, world, seed, Path(place.replace(SEED, str(seed))), file)

    def run(self, watch: Watch | None = None) -> EvaluationMatrix:
        """Make the cells that are not there yet; a stop loses none that is whole."""
        robot, cells = Robot.load(self.robot, mount="free"), list(self.cells())
        reporter = ProgressReporter(watch, "cells", len(cells))
        for k, cell in enumerate(cells, 1):
            if not cell.file.exists():
                self._made(cell, robot).save(cell.file)
            reporter.tell(k)
        return self

    def _made(self, cell: MatrixCell, robot: Robot) -> Evaluation:
        policy = Policy.load(cell.path, robot)
        place = self.motion or (
            policy.contract.reference and policy.source.parent / policy.contract.reference
        )
        motion = read_motions(place, robot)[0] if place else None
        asked = Scenario(episodes=self.episodes, push=self.push, seed=cell.seed)
        return evaluate(policy, {cell.world: world_of(cell.world, robot)}, asked, motion=motion)

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
