"""HALO's two stages: the robot from unloaded recordings, then its load from loaded ones.

An error of the base model would otherwise be taken for a load; so the load is what the second stage
finds beyond the first, never beyond the data sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import DataError
from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate
from gapless.identification.plans.base_errors import with_base_errors
from gapless.measurement.judge import without_loads
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.identification.plans.fitter import Fitter


@dataclass(frozen=True)
class Load:
    """What a link carries, as found by the second stage.

    Attributes:
        link: where.
        mass: kg.
        std: of the mass, kg.
        com: where in the link's frame, m; None where the load is too light to say.
    """

    link: str
    mass: float
    std: float
    com: tuple[float, float, float] | None


def by_load(
    recordings: Sequence[Recording], loaded: Sequence[str] | None
) -> tuple[list[Recording], list[Recording]]:
    """Unloaded and loaded recordings."""
    full = [is_loaded(r, loaded) for r in recordings]
    return (
        [r for r, is_full in zip(recordings, full, strict=True) if not is_full],
        [r for r, is_full in zip(recordings, full, strict=True) if is_full],
    )


def is_loaded(recording: Recording, loaded: Sequence[str] | None) -> bool:
    """Whether patterns name it as loaded; without patterns, whether it states a load."""
    if loaded is None:
        return bool(recording.conditions.payload_mass)
    return any(fnmatchcase(recording.name, pattern) for pattern in loaded)


def two_stage(
    fitter: Fitter,
    recordings: Sequence[Recording],
    parameters: str | Sequence[str],
    payload: str | Sequence[str],
    loaded: Sequence[str] | None,
) -> Calibration:
    """Fit the robot to unloaded recordings, then only its load, from there, to loaded ones."""
    empty, full = by_load(recordings, loaded)
    _require(empty, full)
    base = fitter.calibration(empty, parameters, stage="robot")
    robot, effects = base.apply(fitter.robot)
    world = fitter.world(full[0].rate, robot, effects)
    bare = without_loads(full)
    found = fitter.fit(bare, world, payload, stage="load")
    load = fitter.described(with_base_errors(found, base, fitter, bare))
    notes = (*load.notes, *load_lines(load))
    return replace(base, loaded=replace(load, carries=True, notes=notes))


def one_stage(
    fitter: Fitter,
    recordings: Sequence[Recording],
    payload: str | Sequence[str],
    loaded: Sequence[str] | None,
) -> Calibration:
    """The baseline: only the load, on the nominal robot; a wrong base model goes into it."""
    found = fitter.calibration(without_loads(carried(recordings, loaded)), payload, stage="load")
    return replace(found, carries=True, notes=(*found.notes, *load_lines(found)))


def carried(recordings: Sequence[Recording], loaded: Sequence[str] | None) -> list[Recording]:
    """The loaded recordings; all of them where nothing says which are."""
    return by_load(recordings, loaded)[1] or list(recordings)


def loads(calibration: Calibration) -> list[Load]:
    """What each link carries beyond the robot the calibration started from."""
    links = dict.fromkeys(
        e.parameter.places[0] for e in calibration.estimates if e.parameter.places
    )
    found = []
    for link in links:
        own = {e.parameter.kind: e for e in calibration.estimates if link in e.parameter.places}
        mass = own.get("payload") or own.get("mass")
        if mass is None:
            continue
        before = 0.0 if mass.parameter.kind == "payload" else mass.nominal[0]
        found.append(Load(link, mass.value - before, mass.std, _centre(own, mass, before)))
    return found


def _centre(
    own: dict[str, Estimate], mass: Estimate, before: float
) -> tuple[float, float, float] | None:
    """Where the load is: what must be added to the old centre to get the new one."""
    if mass.parameter.kind == "payload":
        found = [own.get(f"payload_{axis}") for axis in "xyz"]
        return None if None in found else tuple(e.value for e in found)  # type: ignore[union-attr,return-value]
    found = [own.get(f"com_{axis}") for axis in "xyz"]
    added = mass.value - before
    if None in found or abs(added) < 0.05 * before:
        return None
    moved = [(mass.value * e.value - before * e.nominal[0]) / added for e in found if e]
    return tuple(np.round(moved, 6).tolist())  # type: ignore[return-value]


def load_lines(calibration: Calibration) -> list[str]:
    """The loads in words."""
    lines = []
    for load in loads(calibration):
        at = "" if load.com is None else " at ({:.3f}, {:.3f}, {:.3f}) m".format(*load.com)
        lines.append(f"{load.link} carries {load.mass:.3f} ± {1.96 * load.std:.3f} kg{at}")
    return lines


def _require(empty: Sequence[Recording], full: Sequence[Recording]) -> None:
    if not empty or not full:
        lacking = "unloaded" if not empty else "loaded"
        raise DataError(
            f"the two-stage plan found no {lacking} recording; recordings state their load in "
            "their conditions, or say which are loaded with --loaded 'pattern'"
        )
