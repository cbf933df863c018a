"""A Calibration: identified parameters with their uncertainty, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from gapless.artifact import provenance, read_json, write_json
from gapless.errors import FormatError, ModelError, unknown
from gapless.identification.estimate import Estimate, from_entry, to_entry
from gapless.parameters import KINDS, apply
from gapless.parameters.kinds import EFFECT_FIELDS
from gapless.printing import PrintsAsTables
from gapless.recordings.dataset import Dataset
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.verdict import Verdict
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco_world import MujocoWorld

FORMAT = "gapless calibration 1"


@dataclass(frozen=True)
class Calibration(PrintsAsTables):
    """Named parameters that patch a robot model, and how recordings of that robot are counted.

    Example:
        recordings = calibration.recordings(dataset)  # signs and loads as it found them
        gap = measure(recordings, calibration.world(robot))

    Attributes:
        robot: name of the robot.
        estimates: in order.
        correlation: (P, P) of their errors.
        choose: the verdict that decided whether it is kept; None where nothing chose.
        test: the same on motions that decided nothing; None where none was left.
        signs: -1 for joints that the log counts the other way than the robot.
        carries: whether masses include what is carried.
        folds: where the learning motions chose in turn, the same without each of them: what is
            chosen on a motion builds on the calibration that did not see it.
        loaded: the same robot carrying its load (two-stage plan): used like any calibration, on
            the nominal robot and on recordings as they were logged.
        base: what a `loaded` one is applied on top of; it follows from where that one belongs.
        notes: what people should know.
        made_by: plan, optimiser, data and software.
    """

    robot: str
    estimates: tuple[Estimate, ...]
    correlation: np.ndarray
    choose: Verdict | None = None
    test: Verdict | None = None
    signs: dict[str, float] = field(default_factory=dict)
    carries: bool = False
    loaded: Calibration | None = None
    folds: tuple[Calibration, ...] = ()
    base: Calibration | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    made_by: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.loaded is not None:  # what it is on top of is this one, however that was made
            on_top = replace(self.loaded, base=replace(self, loaded=None))
            object.__setattr__(self, "loaded", on_top)

    @property
    def split(self) -> dict[str, Any]:
        """Which motions it learned from, was chosen by and tested on; {} where it was not split.

        With what they commanded, by which they are known again under other names (see
        `gapless.recordings.earlier_split`).
        """
        return (self.base or self).made_by.get("split", {})

    @property
    def ladder(self) -> list[dict[str, Any]]:
        """What each rung of the ladder was worth (see `plans.ladder.Step`); [] without one."""
        return self.made_by.get("ladder", [])

    def fold(self, k: int) -> Calibration:
        """The same, fitted without the k-th learning motion, for what chooses on that one."""
        if self.base is None:
            return self.folds[k]
        found = self.base.folds[k].loaded
        assert found is not None
        return found

    @property
    def values(self) -> dict[str, float]:
        """Name -> value."""
        return {e.name: e.value for e in self.estimates}

    @property
    def finds_loads(self) -> bool:
        """Whether it says what is carried; recordings' own statements then do not count."""
        return self.carries or any(e.parameter.kind.startswith("payload") for e in self.estimates)

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of a parameter."""
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate
        raise unknown("parameter", name, self.values)

    def apply(self, robot: Robot, effects: Effects | None = None) -> tuple[Robot, Effects]:
        """The robot, and the effects of its drives, as identified."""
        if self.base is not None:
            robot, effects = self.base.apply(robot, effects)
        self._check(robot, effects or Effects())
        parameters = [e.parameter for e in self.estimates]
        return apply(robot, effects or Effects(), parameters, [e.value for e in self.estimates])

    @overload
    def recordings(self, recordings: Dataset) -> Dataset: ...

    @overload
    def recordings(self, recordings: Recordings) -> Dataset | list[Recording]: ...

    def recordings(self, recordings: Recordings) -> Dataset | list[Recording]:
        """Recordings as this calibration counts them, to be replayed in its world.

        Joints that the log counts the other way are turned; loads that recordings state are left
        to the calibration where it found loads itself; a `loaded` one keeps only recordings that
        may carry something. What is counted so already stays as it is.

        Args:
            recordings: a dataset, or a sequence of recordings, as they were logged.
        """
        from gapless.identification.calibrated_recordings import calibrated_recordings

        return calibrated_recordings(self, recordings)

    def _check(self, robot: Robot, effects: Effects) -> None:
        """Refuse a robot whose figures are not those the calibration started from."""
        if robot.name != self.robot:
            raise ModelError(f"this calibration is of {self.robot!r}, not of {robot.name!r}")
        for estimate in self.estimates:
            kind = KINDS[estimate.parameter.kind]
            for place, was in zip(
                estimate.parameter.places or ("",), estimate.nominal, strict=True
            ):
                now = kind.nominal(robot, effects, place)
                if not np.isclose(now, was, rtol=1e-6, atol=1e-9):
                    raise ModelError(
                        f"{estimate.name}: the calibration was made for a {robot.name!r} with "
                        f"{was:g} {kind.unit} at {place or 'the floor'}, this one has {now:g}; "
                        "apply it to the robot it was made for"
                    )

    def world(self, robot: Robot, rate: float | None = None, **options: Any) -> MujocoWorld:
        """The calibrated robot in MuJoCo; options as those of `MujocoWorld`."""
        calibrated, effects = self.apply(robot, options.pop("effects", None))
        return MujocoWorld(calibrated, rate, effects=effects, **options)

    def ranges(self, widen: float = 1.0) -> dict[str, tuple[float, float]]:
        """Randomisation ranges for training: the 95 % intervals, times `widen`."""
        found = {}
        for e in self.estimates:
            low, high = e.interval
            low, high = (e.value + widen * (edge - e.value) for edge in (low, high))
            found[e.name] = (max(low, e.parameter.lower), min(high, e.parameter.upper))
        return found

    def sample(self, rng: np.random.Generator) -> Calibration:
        """A robot that might as well be the real one: drawn from the joint distribution."""
        std = np.array([e.std for e in self.estimates])
        drawn = rng.multivariate_normal(np.zeros(len(std)), self.correlation * np.outer(std, std))
        bounded = [
            float(np.clip(e.value + d, e.parameter.lower, e.parameter.upper))
            for e, d in zip(self.estimates, drawn, strict=True)
        ]
        return self.with_values(dict(zip(self.values, bounded, strict=True)))

    def with_values(self, values: Mapping[str, float]) -> Calibration:
        """The same with some values set by hand."""
        for name in values:
            _ = self[name]
        edited = (replace(e, value=float(values.get(e.name, e.value))) for e in self.estimates)
        return replace(self, estimates=tuple(edited))

    def beyond_mjcf(self) -> tuple[str, ...]:
        """Parameters that a plain MJCF cannot hold, where they differ from nothing."""
        return tuple(
            e.name
            for e in self.estimates
            if e.parameter.kind in EFFECT_FIELDS and e.parameter.kind and e.value != 0.0
        )

    def to_mjcf(self, robot: Robot) -> str:
        """The calibrated robot as a plain MJCF that any MuJoCo tool loads."""
        from gapless.identification.mjcf_export import calibrated_mjcf

        return calibrated_mjcf(self, robot)

    def plot(self, path: str | Path) -> Path:
        """Draw the intervals and correlations to a PNG."""
        from gapless.identification.calibration_plots import plot_calibration

        return plot_calibration(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "format": FORMAT,
            "robot": self.robot,
            "estimates": [to_entry(e) for e in self.estimates],
            "correlation": self.correlation.round(6).tolist(),
            "choose": None if self.choose is None else self.choose.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
            "signs": self.signs,
            "carries": self.carries,
            "loaded": None if self.loaded is None else self.loaded.to_dict(),
            "folds": [fold.to_dict() for fold in self.folds],
            "notes": list(self.notes),
            "made_by": self.made_by or provenance(),
        }

    @classmethod
    def from_dict(cls, data: Any, where: str = "calibration") -> Calibration:
        """Inverse of `to_dict`; a file that is something else is refused."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FormatError(
                f"{where} is no calibration: expected a JSON file that gapless identify wrote "
                f"(format {FORMAT!r})"
            )
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise FormatError(f"{where} is damaged: {error!r}") from error

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Calibration:
        loaded = data["loaded"]
        found = tuple(from_entry(entry) for entry in data["estimates"])
        correlation = np.array(data["correlation"], float).reshape(len(found), len(found))
        return cls(
            robot=str(data["robot"]),
            estimates=found,
            correlation=correlation,
            choose=Verdict.from_dict(data["choose"]),
            test=Verdict.from_dict(data["test"]),
            carries=bool(data["carries"]),
            signs={str(j): float(s) for j, s in data["signs"].items()},
            loaded=None if loaded is None else cls._read(loaded),
            folds=tuple(cls._read(fold) for fold in data["folds"]),
            notes=tuple(map(str, data["notes"])),
            made_by=dict(data["made_by"]),
        )

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_json(Path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a file that `save` wrote."""
        return cls.from_dict(read_json(Path(path)), str(path))

    def __rich__(self) -> Any:
        from gapless.identification.calibration_tables import calibration_tables

        return calibration_tables(self)
