"""Many units of one robot: what they share, how much they differ, and each one's own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_parts import fitter_of, make_parts
from gapless.identification.plans.fitted import Fit
from gapless.identification.plans.fitter import Fitter
from gapless.parameters import Parameter
from gapless.progress import Watch
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording
from gapless.worlds.mujoco_world import MujocoWorld

LEAST_SPREAD = 0.02
"""Units are never taken to be more alike than this share of the prior std."""


def by_unit(recordings: Sequence[Recording]) -> dict[str, list[Recording]]:
    """Recordings of each unit; those that name none are one unit together."""
    found: dict[str, list[Recording]] = {}
    for recording in recordings:
        found.setdefault(recording.conditions.unit or "unknown", []).append(recording)
    return found


def fleet(
    fitter: Fitter, recordings: Sequence[Recording], parameters: str | Sequence[str]
) -> Calibration:
    """Fit every unit with a prior that the others give it.

    Returns:
        The mean robot, whose intervals hold 95 % of the units; `made_by["units"]` has each
        unit's own values and standard deviations.
    """
    units = by_unit(recordings)
    if len(units) < 2:
        raise DataError(
            f"the fleet plan needs recordings of two units or more, found {', '.join(units)}; "
            "state the unit at import (conditions.unit), or use another --plan"
        )
    world = fitter.world(recordings[0].rate)
    shared = fitter.fit(recordings, world, parameters, stage="all units")
    prior = _prior(shared.problem.parameters, shared.values, np.ones(len(shared.problem)))
    fits = _each(fitter, units, world, prior, "alone")
    # The spread is judged by fits that no fleet has drawn together.
    mean, spread = _population(fits, shared)
    prior = _prior(shared.problem.parameters, mean, spread)
    fits = _each(fitter, units, world, prior, "of the fleet")
    return _fleet_calibration(fitter, shared, fits, mean, spread)


def _each(
    fitter: Fitter,
    units: dict[str, list[Recording]],
    world: MujocoWorld,
    prior: list[Parameter],
    stage: str,
) -> dict[str, Fit]:
    """Every unit by itself, with the same prior; workers may make them all at once."""
    own = {name: fitter.of_unit(f"{name} {stage}") for name in units}
    told = {"stage": stage, "prior": [asdict(p) for p in prior]}
    asked = {own[name]: (clips, {**told, "unit": name}) for name, clips in units.items()}
    make_parts(fitter, f"{__name__}:fit_unit", asked)
    return {
        name: own[name].fit(clips, world, prior, stage=f"{name} {stage}")
        for name, clips in units.items()
    }


def fit_unit(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of one unit."""
    fitter, clips = fitter_of(asked, files, out, watch), list(Dataset.open(files["recordings"]))
    prior = [Parameter(**{**p, "places": tuple(p["places"])}) for p in asked["prior"]]
    stage = f"{asked['unit']} {asked['stage']}"
    fitter.fit(clips, fitter.world(clips[0].rate), prior, stage=stage)


def _prior(
    parameters: Sequence[Parameter], mean: np.ndarray, spread: np.ndarray
) -> list[Parameter]:
    """Parameters around a mean; spread in shares of their own."""
    return [
        replace(p, prior=float(np.clip(m, p.lower, p.upper)), prior_std=float(p.prior_std * s))
        for p, m, s in zip(parameters, mean, spread, strict=True)
    ]


def _population(fits: dict[str, Fit], shared: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the units, and how far they differ beyond the errors of their own fits."""
    sizes = np.array([p.prior_std for p in shared.problem.parameters])
    values = np.array([f.values for f in fits.values()])
    own = np.array([_errors(f) for f in fits.values()])
    beyond = values.var(axis=0, ddof=1) - (own**2).mean(axis=0)
    beyond = np.maximum(beyond, (LEAST_SPREAD * sizes) ** 2)
    weight = 1 / (own**2 + beyond)
    return (weight * values).sum(axis=0) / weight.sum(axis=0), np.sqrt(beyond) / sizes


def _errors(fit: Fit) -> np.ndarray:
    """(P,) 1 sigma of a unit's values."""
    return np.array([e.std for e in fit.estimates()])


def _fleet_calibration(
    fitter: Fitter,
    shared: Fit,
    fits: dict[str, Fit],
    mean: np.ndarray,
    spread: np.ndarray,
) -> Calibration:
    calibration = fitter.described(replace(shared, z=shared.problem.z_of(mean)))
    sizes = np.array([p.prior_std for p in shared.problem.parameters])
    wide = np.sqrt((spread * sizes) ** 2 + np.array([e.std for e in calibration.estimates]) ** 2)
    estimates = tuple(
        replace(e, std=float(w)) if e.identifiable else e
        for e, w in zip(calibration.estimates, wide, strict=True)
    )
    units = {
        name: {
            e.name: {"value": e.value, "std": e.std, "identifiable": e.identifiable}
            for e in f.estimates()
        }
        for name, f in fits.items()
    }
    return replace(
        calibration,
        estimates=estimates,
        notes=(*calibration.notes, f"intervals hold 95 % of units, judged by {len(fits)} of them"),
        made_by=calibration.made_by | {"units": units},
    )
