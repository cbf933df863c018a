"""A Run: the folder that `close` fills, stage by stage, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from gapless.artifact import MARKER, provenance, read_json, write_json
from gapless.closing.run_folder import CALIBRATION as CALIBRATION
from gapless.closing.run_folder import CORRECTION as CORRECTION
from gapless.closing.run_folder import FACTS as FACTS
from gapless.closing.run_folder import REPLAYS as REPLAYS
from gapless.closing.run_folder import ROBOT, forget_run, refuse_foreign, refuse_other_software
from gapless.closing.stage import STAGES, Stage
from gapless.corrections import CorrectedWorld, Correction
from gapless.errors import ArtifactError, FormatError
from gapless.identification import Calibration
from gapless.measurement.side_by_side import SideBySide, load_side_by_side
from gapless.printing import PrintsAsTables
from gapless.robots import Robot
from gapless.robots.saved import load_robot, save_robot
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World

FORMAT = "gapless run 2"


@dataclass(frozen=True)
class Run(PrintsAsTables):
    """A folder with everything that was found; complete when `summary` is there.

    Attributes:
        path: of the folder.
        facts: robot, data, settings, split, software.
    """

    path: Path
    facts: dict[str, Any]

    @classmethod
    def begin(cls, path: Path, robot: Robot, facts: dict[str, Any], restart: bool = False) -> Run:
        """Begin a run, or resume one that asked the same.

        The robot is copied into the folder: a run is whole on any machine.

        Raises:
            ArtifactError: the folder holds something else.
        """
        file = path / FACTS
        if restart:
            if file.exists() and not (path / ROBOT / MARKER).is_file():
                cls.open(path)  # only what is a run is forgotten
            forget_run(path)
        if file.exists():
            before = cls.open(path).facts
            wrong = [k for k, v in facts.items() if before.get(k) != v]
            if wrong:
                raise ArtifactError(
                    f"{path} is a run that asked something else: {', '.join(wrong)} differ. Choose "
                    "another --out, or start over with --restart (in Python, restart=True)"
                )
            if not (path / "summary.json").exists():
                refuse_other_software(path, before.get("made_by", {}))
            return cls(path, before)
        path.mkdir(parents=True, exist_ok=True)
        refuse_foreign(path)
        save_robot(robot, path / ROBOT, overwrite=True)  # one is there if this was killed here
        write_json(file, {"format": FORMAT, **facts, "made_by": provenance(time=True)})
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a folder that `close` made, finished or not."""
        path = Path(path)
        if not (path / FACTS).is_file():
            raise ArtifactError(
                f"{path} is no run: it has no {FACTS}; make one with gapless close DATA --out RUN"
            )
        facts = read_json(path / FACTS)
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise FormatError(f"{path / FACTS} is no run of this version ({FORMAT!r})")
        return cls(path, facts)

    def record(self, name: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What a file of the run holds; found now where it is not there yet."""
        file = self.path / f"{name}.json"
        if not file.exists():
            write_json(file, find())
        return self.read(name)

    def read(self, name: str) -> dict[str, Any]:
        """The same; {} where the run has not come that far."""
        file = self.path / f"{name}.json"
        found = read_json(file) if file.exists() else {}
        if not isinstance(found, dict):
            raise _damaged(file, f"it holds a {type(found).__name__}")
        return found

    def stage(self, name: str, find: Callable[[], Stage]) -> Stage:
        """A stage; found now where it is not there yet."""
        self.record(name, lambda: find().to_dict())
        return self._stage(name)

    def _stage(self, name: str) -> Stage:
        try:
            return Stage.from_dict(self.read(name))
        except (KeyError, TypeError, ValueError, AttributeError, FormatError) as error:
            raise _damaged(self.path / f"{name}.json", str(error)) from error

    @property
    def stages(self) -> dict[str, Stage]:
        """The raw, the identified and the corrected simulator, as far as the run has come."""
        there = [name for name in STAGES if (self.path / f"{name}.json").exists()]
        return {name: self._stage(name) for name in there}

    def keeps(self, name: str) -> bool:
        """Whether a stage is there and was kept."""
        return bool(self.read(name).get("kept"))

    @property
    def summary(self) -> dict[str, Any]:
        """Errors of every stage and what was kept; {} where the run is not finished."""
        return self.read("summary")

    @property
    def taught(self) -> frozenset[str]:
        """Motions that taught or chose: figures on them would mean nothing."""
        return frozenset(
            str(name)
            for part in ("learn", "choose")
            for name in self.fact("split", part, kind=list)
        )

    def fact(self, *keys: str, kind: type | UnionType = object) -> Any:
        """What the run was begun with, under one key within another."""
        found: Any = self.facts
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is None or not isinstance(found, kind):
            raise FormatError(f"{self.path / FACTS} is damaged: {'.'.join(keys)} is {found!r}")
        return found

    @property
    def robot(self) -> Robot:
        """The nominal robot."""
        return load_robot(self.path / ROBOT)

    @property
    def calibration(self) -> Calibration | None:
        """The identified parameters, where they help."""
        kept = self.keeps("identified")
        return Calibration.load(self.path / CALIBRATION) if kept else None

    @property
    def correction(self) -> Correction | None:
        """The learned correction, where it helps."""
        kept = self.keeps("corrected")
        return Correction.load(self.path / CORRECTION) if kept else None

    @property
    def replays(self) -> list[SideBySide]:
        """Held-out recordings beside the simulators; none where the run has not come that far."""
        file = self.path / REPLAYS
        return load_side_by_side(file) if file.exists() else []

    def world(self) -> CorrectedWorld:
        """The simulator that behaves like the robot."""
        correction = self.correction
        return CorrectedWorld(self.raw(), self.calibration, [correction] if correction else [])

    def raw(self) -> MujocoWorld:
        """The simulator of the nominal robot."""
        step = self.fact("settings", "physics_step", kind=float | int)
        rate = self.fact("data", "rate", kind=float | int)
        return MujocoWorld(self.robot, rate, physics_step=step)

    def worlds(self) -> dict[str, World]:
        """The raw simulator, and those of the steps that were kept, by the names of the stages."""
        found: dict[str, World] = {"raw": self.raw()}
        if self.calibration is not None:
            found["identified"] = CorrectedWorld(self.raw(), self.calibration)
        if self.correction is not None:
            found["corrected"] = self.world()
        return found

    def __rich__(self) -> Any:
        from gapless.closing.run_table import summary_table

        try:
            return summary_table(self)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(self.path / "summary.json", repr(error)) from error


def _damaged(file: Path, why: str) -> FormatError:
    return FormatError(
        f"{file} is damaged ({why}); delete it, and the same gapless close makes it again"
    )
