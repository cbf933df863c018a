"""identify(): from recordings to a calibration, by one of several plans."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance
from gapless.errors import GaplessError, unknown
from gapless.identification import sign_conventions
from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.fleet import fleet
from gapless.identification.plans.judging import Verdicts, verdicts_on
from gapless.identification.plans.ladder import AUTO, Ladder
from gapless.identification.plans.two_stage import is_loaded, one_stage, two_stage
from gapless.identification.settings import IdentifySettings
from gapless.progress import Watch
from gapless.recordings.earlier_split import remembered
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import as_split
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
        if not any(e.identifiable for part in parts for e in part.estimates):
            super().__init__(
                "none of the parameters is identifiable from these recordings, so there is no "
                "calibration; see "
                "which motions excite them (gapless motion optimal), or narrow --set"
            )
            return
        worse = [c.choose for c in parts if c.choose and not c.choose.improved]
        super().__init__(
            "the calibration does not improve replays of motions it was not fitted to: "
            f"{worse[0]}; it is refused. Fit fewer parameters (--set), "
            "more varied motions, or a shorter --horizon; --keep-anyway keeps it all the same"
        )


@dataclass(frozen=True)
class _Question:
    """What is looked for, and in which order."""

    plan: str
    parameters: str | Sequence[str]
    payload: str | Sequence[str]
    loaded: Sequence[str] | None

    @property
    def climbs(self) -> bool:
        """Whether a ladder finds which parameters are free."""
        return self.parameters == AUTO or tuple(self.parameters) == (AUTO,)

    @property
    def names(self) -> list[str]:
        """Parameters of all stages."""
        stages = {"one-stage": [self.payload], "two-stage": [self.parameters, self.payload]}
        asked = stages.get(self.plan, [self.parameters])
        return [n for p in asked for n in ([p] if isinstance(p, str) else p)]

    def is_loaded(self, recording: Recording) -> bool:
        """Whether it teaches the second stage of a plan that has one."""
        return self.plan in ("one-stage", "two-stage") and is_loaded(recording, self.loaded)

    def answer(self, fitter: Fitter, recordings: Recordings) -> Calibration:
        """Follow the plan."""
        clips = list(recordings)
        if self.plan == "two-stage":
            return two_stage(fitter, clips, self.parameters, self.payload, self.loaded)
        if self.plan == "one-stage":
            return one_stage(fitter, clips, self.payload, self.loaded)
        if self.plan == "fleet":
            return fleet(fitter, clips, self.parameters)
        quick = self.plan == "per-joint"
        return fitter.calibration(clips, self.parameters, quick_start=quick)


def identify(
    data: Split | Recordings,
    robot: Robot,
    parameters: str | Sequence[str] = "actuators",
    *,
    plan: str = "per-joint",
    settings: IdentifySettings | None = None,
    payload: str | Sequence[str] = "payload",
    loaded: Sequence[str] | None = None,
    find_signs: bool = False,
    keep_anyway: bool = False,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
) -> Calibration:
    """Find the physical parameters with which a simulator repeats recordings.

    Args:
        data: recordings of the robot, with commands: a split of them, or all, which are then split
            as `Dataset.split` does.
        robot: the nominal robot.
        parameters: "auto" (a ladder: few shared parameters first, more as long as the choosing
            motions improve), or sets, kinds or names; see `gapless.parameters.parameters_of`.
        plan: "per-joint" (quick pass joint by joint, then all together), "whole" (all together),
            "two-stage" (HALO: the robot from unloaded recordings, then what it carries from loaded
            ones), "one-stage" (its baseline: what it carries, on the nominal robot), "fleet" (many
            units: what they share, and each one's own).
        settings: how the fit is made.
        payload: what the second stage finds.
        loaded: names (or patterns) of the loaded recordings; by default those that state a load.
        find_signs: first find joints that the log counts the other way.
        keep_anyway: return a calibration even where the choosing motions do not improve.
        checkpoint: file that keeps the best point so far; a run with the same question resumes.
        watch: told the stage and its progress after every iteration.

    Raises:
        CalibrationRefusedError: replays of the choosing motions are no better; it carries the
            calibration.
    """
    if plan not in PLANS:
        raise unknown("plan", plan, PLANS)
    began = time.perf_counter()
    question = _Question(plan, parameters, payload, loaded)
    if question.climbs and plan not in ("per-joint", "whole"):
        raise GaplessError(
            f"the plan {plan!r} needs to be told what to find; expected a set such as 'actuators' "
            "(--set actuators), or another plan with 'auto'"
        )
    split = as_split(data, stratum=question.is_loaded)
    facts = remembered(split)  # before signs are turned: as later logs will have them
    fitter = Fitter(robot, settings or IdentifySettings(), FitCheckpoint(checkpoint), watch)
    if not question.climbs:
        fitter.refuse_unknown_settings(question.names)
    learn = list(split.learn)
    world = fitter.world(learn[0].rate)
    signs = sign_conventions.find_signs(learn, world) if find_signs else {}
    if signs:
        split = split.each(lambda part: [sign_conventions.with_signs(r, signs) for r in part])
    if question.climbs:
        whole, folds = Ladder(fitter.on_simple_feet(), split).climb()
        found = replace(whole, signs=signs, folds=folds)
    else:
        found = replace(question.answer(fitter.on_simple_feet(), split.learn), signs=signs)
    found = _judged(found, split, fitter, question)
    found = replace(found, made_by=_made_by(found, question, facts, fitter.settings, began))
    chosen = [c.choose for c in (found, found.loaded) if c is not None and c.choose]
    if not all(verdict.improved for verdict in chosen) and not keep_anyway:
        raise CalibrationRefusedError(found)
    return found


def _judged(found: Calibration, split: Split, fitter: Fitter, question: _Question) -> Calibration:
    """The calibration with its verdicts; folds are fitted where the learning motions choose."""

    def on(recordings: Recordings, motions: Sequence[str], calibration: Calibration) -> Verdicts:
        plan, loaded = question.plan, question.loaded
        return verdicts_on(recordings, motions, calibration, fitter, plan, loaded)

    folds = []
    if split.cross_validated:
        motions = split.motions["learn"]
        pairs = list(zip(motions, split.folds, strict=True))
        folds = list(found.folds) or [
            question.answer(fitter.on_simple_feet().without(m), fold.learn) for m, fold in pairs
        ]
        chosen = Verdicts.mean(
            [on(f.choose, [m], c) for (m, f), c in zip(pairs, folds, strict=True)]
        )
    else:
        chosen = on(split.choose, split.motions["choose"], found)
    tested = on(split.test, split.motions["test"], found)
    if found.loaded is not None:
        load = replace(found.loaded, choose=chosen.loaded, test=tested.loaded)
        found = replace(found, loaded=load)
    notes = found.notes
    if not split.folds:
        notes = (*notes, "no motion chose, so nothing says whether this is better elsewhere")
    return replace(
        found,
        choose=chosen.own,
        test=tested.own,
        notes=(*notes, *split.notes),
        folds=tuple(replace(fold, signs=found.signs) for fold in folds),
    )


def _made_by(
    found: Calibration,
    question: _Question,
    split: dict[str, Any],
    settings: IdentifySettings,
    began: float,
) -> dict[str, Any]:
    parameters = question.parameters
    return {
        **provenance(),
        **found.made_by,
        "plan": question.plan,
        "parameters": [parameters] if isinstance(parameters, str) else list(parameters),
        "optimiser": settings.optimiser,
        "horizon": settings.horizon,
        "split": split,
        "seconds": round(time.perf_counter() - began, 1),
    }
