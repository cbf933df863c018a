"""identify(): from recordings to a calibration, by one of several plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance
from gapless.errors import DataError, GaplessError, unknown
from gapless.identification import sign_conventions
from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.fleet import fleet
from gapless.identification.plans.two_stage import is_loaded, one_stage, two_stage
from gapless.identification.settings import IdentifySettings
from gapless.progress import Watch
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot

PLANS = ("per-joint", "whole", "one-stage", "two-stage", "fleet")


class CalibrationRefusedError(GaplessError):
    """A calibration that is no better than the nominal robot on motions it was not fitted to.

    Attributes:
        calibration: what was found all the same.
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        parts = [c for c in (calibration, calibration.loaded) if c is not None]
        if not any(e.told for part in parts for e in part.estimates):
            super().__init__(
                "the recordings told none of the parameters, so there is no calibration; see "
                "which motions excite them (gapless motion optimal), or narrow --set"
            )
            return
        (held,) = [c.held_out for c in parts if c.held_out and not c.held_out.improved][:1]
        super().__init__(
            f"the calibration does not improve replays it was not fitted to: {held.before:.5f} rad "
            f"before, {held.after:.5f} rad after; it is refused. Fit fewer parameters (--set), "
            "more varied motions, or a shorter --horizon; --keep-anyway keeps it all the same"
        )


def identify(
    dataset: Recordings,
    robot: Robot,
    parameters: str | Sequence[str] = "actuators",
    *,
    plan: str = "per-joint",
    held_out: Recordings | float = 0.25,
    settings: IdentifySettings | None = None,
    payload: str | Sequence[str] = "payload",
    loaded: Sequence[str] | None = None,
    find_signs: bool = False,
    keep_anyway: bool = False,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
    seed: int = 0,
) -> Calibration:
    """Find the physical figures with which a simulator repeats recordings.

    Args:
        dataset: recordings of the robot, with commands.
        robot: the nominal robot.
        parameters: sets, kinds or names; see `gapless.parameters.parameters_of`.
        plan: "per-joint" (quick pass joint by joint, then all together), "whole" (all together),
            "two-stage" (HALO: the robot from unloaded recordings, then what it carries from loaded
            ones), "one-stage" (its baseline: what it carries, on the nominal robot), "fleet" (many
            units: what they share, and each one's own).
        held_out: recordings kept for judging, or the share of motions to keep.
        settings: how the fit is made.
        payload: what the second stage finds.
        loaded: names (or patterns) of the loaded recordings; by default those that state a load.
        find_signs: first find joints that the log counts the other way.
        keep_anyway: return a calibration even where held-out replays do not improve.
        checkpoint: file that keeps the best point so far; a run with the same question goes on.
        watch: told the error after every iteration.
        seed: of the split.

    Raises:
        CalibrationRefusedError: held-out replays are no better; it carries the calibration.
    """
    if plan not in PLANS:
        raise unknown("plan", plan, PLANS)
    began = time.perf_counter()
    staged = plan in ("one-stage", "two-stage")
    train, test = split(
        dataset, held_out, seed, (lambda r: is_loaded(r, loaded)) if staged else None
    )
    run = Fitter(robot, settings or IdentifySettings(), FitCheckpoint(checkpoint), watch)
    asked = {"one-stage": [payload], "two-stage": [parameters, payload]}.get(plan, [parameters])
    run.refuse_unknown_settings([n for p in asked for n in ([p] if isinstance(p, str) else p)])
    signs = sign_conventions.find_signs(train, run.world(train[0].rate)) if find_signs else {}
    train, test = ([sign_conventions.with_signs(r, signs) for r in part] for part in (train, test))
    if plan == "two-stage":
        found = two_stage(run, train, test, parameters, payload, loaded)
    elif plan == "fleet":
        found = fleet(run, train, test, parameters)
    elif plan == "one-stage":
        found = one_stage(run, train, test, payload, loaded)
    else:
        found = run.calibration(train, test, parameters, quick_start=plan == "per-joint")
    found = replace(
        found, signs=signs, made_by=_made_by(found, plan, parameters, train, run.settings, began)
    )
    judged = [c.held_out for c in (found, found.loaded) if c is not None and c.held_out]
    if not all(held.improved for held in judged) and not keep_anyway:
        raise CalibrationRefusedError(found)
    return found


def split(
    dataset: Recordings,
    held_out: Recordings | float,
    seed: int,
    group: Callable[[Recording], bool] | None = None,
) -> tuple[list[Recording], list[Recording]]:
    """Recordings to fit and recordings to judge by; a dataset of one motion keeps none back.

    Args:
        dataset: all recordings; those flagged as unfit are left out.
        held_out: recordings to judge by, or the share of motions to keep back.
        seed: of the choice.
        group: where given, motions of both kinds of recordings are kept back.
    """
    clips = [dataset[i] for i in range(len(dataset))]
    usable = [c for c in clips if not c.provenance.get("flags")]
    if not usable:
        raise DataError(f"none of {len(clips)} recordings can be used; see gapless check")
    if not isinstance(held_out, int | float):
        return usable, [held_out[i] for i in range(len(held_out))]
    if not 0 <= held_out < 1:
        raise DataError(f"held_out is {held_out}; expected a share from 0 to below 1")
    rng, kept = np.random.default_rng(seed), set()
    for kind in (False, True):
        names = sorted({c.name for c in usable if (group is not None and group(c)) == kind})
        if len(names) > 1 and held_out and not kept & set(names):
            kept |= set(rng.permutation(names)[: max(1, round(held_out * len(names)))].tolist())
    return [c for c in usable if c.name not in kept], [c for c in usable if c.name in kept]


def _made_by(
    found: Calibration,
    plan: str,
    parameters: str | Sequence[str],
    train: Sequence[Recording],
    settings: IdentifySettings,
    began: float,
) -> dict[str, Any]:
    return {
        **provenance(),
        **found.made_by,
        "plan": plan,
        "parameters": [parameters] if isinstance(parameters, str) else list(parameters),
        "optimiser": settings.optimiser,
        "horizon": settings.horizon,
        "motions": list(dict.fromkeys(r.name for r in train)),
        "seconds": round(time.perf_counter() - began, 1),
    }
