"""identify(): from recordings to a calibration, by one of several plans."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance
from gapless.errors import GaplessError, unknown
from gapless.identification import sign_conventions
from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fit_parts import refuse_nowhere
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.judging import Verdicts, verdicts_on
from gapless.identification.plans.ladder import Ladder
from gapless.identification.plans.loop_fit import RecordedPath
from gapless.identification.plans.question import PLANS, Question
from gapless.identification.settings import IdentifySettings
from gapless.progress import Watch
from gapless.recordings.earlier_split import remembered
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import as_split
from gapless.robots import Robot
from gapless.tasks import Workers


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
    closed_loop: RecordedPath | None = None,
    checkpoint: Path | None = None,
    watch: Watch | None = None,
    workers: Workers | None = None,
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
        closed_loop: takes of the robot under a known policy, as a
            `gapless.evaluation.path_prediction.PathPrediction`: "auto" keeps what predicts them,
            too, and its last rung is fitted to them.
        checkpoint: file that keeps the best point so far; a run with the same question resumes.
        watch: told the stage and its progress after every iteration.
        workers: who makes the fits that do not wait for each other (units of a fleet; what each
            motion chooses by, where motions choose in turn); this process by default. They need a
            checkpoint; recordings of a dataset are fitted to the same numbers.

    Raises:
        CalibrationRefusedError: replays of the choosing motions are no better; it carries the
            calibration.
    """
    if plan not in PLANS:
        raise unknown("plan", plan, PLANS)
    refuse_nowhere(workers, checkpoint)
    began = time.perf_counter()
    question = Question(plan, parameters, payload, loaded)
    if question.climbs and plan not in ("per-joint", "whole"):
        raise GaplessError(
            f"the plan {plan!r} needs to be told what to find; expected a set such as 'actuators' "
            "(--set actuators), or another plan with 'auto'"
        )
    if question.climbs and workers is not None:
        raise GaplessError(
            "a ladder climbs in one process, as each rung waits for the one below; leave out --on "
            "(workers), or say what to find (--set actuators)"
        )
    split = as_split(data, stratum=question.is_loaded)
    facts = remembered(split)  # before signs are turned: as later logs will have them
    how, kept = settings or IdentifySettings(), FitCheckpoint(checkpoint)
    fitter = Fitter(robot, how, kept, watch, closed_loop=closed_loop, workers=workers)
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
        question.make_answers(fitter, _parts(fitter, split, question))
        found = replace(question.answer(fitter.on_simple_feet(), split.learn), signs=signs)
    found = _judged(found, split, fitter, question)
    found = replace(found, made_by=_made_by(found, question, facts, fitter.settings, began))
    chosen = [c.choose for c in (found, found.loaded) if c is not None and c.choose]
    if not all(verdict.improved for verdict in chosen) and not keep_anyway:
        raise CalibrationRefusedError(found)
    return found


def _folds(fitter: Fitter, split: Split) -> dict[Fitter, Recordings]:
    """Where motions choose in turn: a fitter for each, and what it may see; it has no workers,
    as one of them follows its whole plan."""
    if not split.cross_validated:
        return {}
    simple, motions = replace(fitter.on_simple_feet(), workers=None), split.motions["learn"]
    pairs = zip(motions, split.folds, strict=True)
    return {simple.without(motion): fold.learn for motion, fold in pairs}


def _parts(fitter: Fitter, split: Split, question: Question) -> dict[Fitter, Recordings]:
    """Answers that do not wait for each other; a fleet is parted by its units."""
    whole = {} if question.plan == "fleet" else {fitter.on_simple_feet(): split.learn}
    return {**whole, **_folds(fitter, split)}


def _judged(found: Calibration, split: Split, fitter: Fitter, question: Question) -> Calibration:
    """The calibration with its verdicts; folds are fitted where the learning motions choose."""

    def on(recordings: Recordings, motions: Sequence[str], calibration: Calibration) -> Verdicts:
        plan, loaded = question.plan, question.loaded
        return verdicts_on(recordings, motions, calibration, fitter, plan, loaded)

    folds = []
    if split.cross_validated:
        pairs = list(zip(split.motions["learn"], split.folds, strict=True))
        folds = list(found.folds) or [
            question.answer(own, learn) for own, learn in _folds(fitter, split).items()
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
    question: Question,
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
