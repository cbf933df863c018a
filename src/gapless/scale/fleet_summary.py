"""A Fleet: runs of several units, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gapless.closing import Run
from gapless.closing.run_folder import FACTS
from gapless.errors import ArtifactError
from gapless.identification.estimate import Estimate
from gapless.parameters import KINDS
from gapless.printing import PrintsAsTables
from gapless.scale.fleet_statistics import UnitSpread, spread_of, unlike_errors
from gapless.tasks import Failures

FILE = "fleet.json"
FORMAT = "gapless fleet 1"


@dataclass(frozen=True)
class FleetUnit:
    """One unit of a fleet.

    Attributes:
        name: of the unit, and of its run's folder.
        robot: name of the nominal robot.
        horizon: seconds of the replays.
        errors: stage -> replay error on held-out motions, rad.
        kept: stages that are part of its simulator.
        estimates: identified parameters, where they were kept.
    """

    name: str
    robot: str
    horizon: float
    errors: Mapping[str, float | None]
    kept: tuple[str, ...]
    estimates: Mapping[str, Estimate] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, run: Run) -> FleetUnit:
        """What a finished run found."""
        rows = run.summary["rows"]
        found = run.calibration
        known = {e.name: e for e in found.estimates if e.identifiable} if found else {}
        return cls(
            run.path.name,
            run.facts["robot"]["name"],
            run.summary["horizon"],
            {stage: row["error"] for stage, row in rows.items()},
            tuple(stage for stage, row in rows.items() if row["kept"]),
            known,
        )

    @property
    def final(self) -> float | None:
        """Error of the simulator that is handed out, rad."""
        return self.errors[self.kept[-1]] if self.kept else None


@dataclass(frozen=True)
class Fleet(PrintsAsTables):
    """Units side by side, which parameters differ between them, and who is unlike the others.

    Attributes:
        path: folder of the runs.
        units: those that were closed.
        failed: the others, and why.
    """

    path: Path
    units: tuple[FleetUnit, ...]
    failed: Failures

    @classmethod
    def of(cls, path: Path, names: Sequence[str], failed: Failures) -> Fleet:
        """The runs of a folder."""
        runs = [Run.open(path / name) for name in names if name not in failed]
        return cls(path, tuple(FleetUnit.of(run) for run in runs), dict(failed))

    @classmethod
    def open(cls, path: str | Path) -> Fleet:
        """A fleet that `close_fleet` left behind."""
        from gapless.artifact import read_json

        path = Path(path)
        if not cls.is_at(path):
            raise ArtifactError(
                f"{path} is no fleet: it has no {FILE}; make one with gapless close"
            )
        facts = read_json(path / FILE)
        names = [unit["name"] for unit in facts["units"]]
        return cls.of(path, [n for n in names if (path / n / FACTS).exists()], facts["failed"])

    @staticmethod
    def is_at(path: str | Path) -> bool:
        """Whether a folder holds one."""
        return (Path(path) / FILE).is_file()

    @cached_property
    def spreads(self) -> tuple[UnitSpread, ...]:
        """Every parameter that two units or more have; those that differ most clearly first."""
        names = dict.fromkeys(name for unit in self.units for name in unit.estimates)
        shared = {n: own for n in names if len(own := self._having(n)) > 1}
        found = [_spread(name, own, len(shared)) for name, own in shared.items()]
        return tuple(sorted(found, key=lambda spread: spread.chance))

    def _having(self, name: str) -> dict[str, Estimate]:
        return {u.name: u.estimates[name] for u in self.units if name in u.estimates}

    @property
    def unlike(self) -> dict[str, list[str]]:
        """Unit -> in what it is unlike the others."""
        found: dict[str, list[str]] = {}
        for spread in self.spreads:
            for unit in spread.outliers:
                found.setdefault(unit, []).append(spread.name)
        for stage in ("raw", "final"):
            for unit in unlike_errors(self.errors(stage)):
                found.setdefault(unit, []).append(f"{stage} error")
        return found

    def errors(self, stage: str) -> dict[str, float]:
        """Unit -> replay error of a stage, or of what is handed out ("final"), rad."""
        pairs = [(u.name, u.final if stage == "final" else u.errors.get(stage)) for u in self.units]
        return {name: error for name, error in pairs if error is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        units = [
            {
                "name": u.name,
                "robot": u.robot,
                "horizon": u.horizon,
                "errors": dict(u.errors),
                "final": u.final,
                "kept": list(u.kept),
            }
            for u in self.units
        ]
        spreads = [asdict(spread) for spread in self.spreads]
        told = {"units": units, "failed": dict(self.failed), "parameters": spreads}
        return {"format": FORMAT, **told, "unlike": self.unlike}

    def __rich__(self) -> Any:
        from gapless.scale.fleet_tables import fleet_tables

        return fleet_tables(self)


def _spread(name: str, own: Mapping[str, Estimate], looked_at: int) -> UnitSpread:
    first = next(iter(own.values()))
    values = {unit: (e.value, e.std) for unit, e in own.items()}
    kind = KINDS[first.parameter.kind]
    return spread_of(name, kind.unit, float(np.mean(first.nominal)), values, looked_at)
