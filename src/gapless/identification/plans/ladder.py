"""A ladder of models: more parameters, rung by rung, as long as the choosing motions improve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import ArtifactError, GaplessError
from gapless.identification.calibration import Calibration
from gapless.identification.plans.balance_figures import (
    balance_names,
    with_balance_figures,
)
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.ladder_step import Step
from gapless.identification.plans.loop_fit import MOST, LoopFit, RecordedPath, by_motor
from gapless.identification.plans.resting_surface import resting_surface
from gapless.identification.plans.rung_fits import Foothold, Names, fit_rung
from gapless.identification.plans.rungs import Rung, rungs_for
from gapless.measurement.judge import replay_error
from gapless.measurement.spans import FULL, Horizon
from gapless.progress import Progress
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Fold, Split
from gapless.verdict import CLOSED_LOOP, LEAST_GAIN
from gapless.worlds.mujoco_world import MujocoWorld

AUTO = "auto"
"""The name that people type for the set that a ladder finds."""

WINDOWS = 96
"""Replays of all choosing motions together by which a rung is judged."""

AGAIN = 0.1
"""A rung that takes this share off the error lets those be tried again that came too early."""

IN_LOOP = "in the loop"
"""The name of the step that fits figures to what a policy made of the robot."""

POLISH = Rung("all together", {})
"""The last fit: careful, and with nothing new."""


@dataclass(frozen=True)
class Footing:
    """Where a ladder stands: with all that teaches, and on each fold."""

    whole: Foothold
    folds: tuple[Foothold, ...]

    @classmethod
    def ground(cls, folds: int) -> Footing:
        """Nothing is found yet."""
        return cls(Foothold(), (Foothold(),) * folds)


class Ladder:
    """Climbs on every fold at once: a rung is kept where it helps what its fold did not see.

    Where motions choose in turn, folds go by the slopes of a fit to all of them, which are most of
    the work; what a fold is fitted to, and where it begins, is its own.

    Args:
        fitter: makes the fits.
        split: of the recordings; without a fold nothing can choose, and only the first rung is
            climbed.
    """

    def __init__(self, fitter: Fitter, split: Split) -> None:
        self.split, self.learn = split, list(split.learn)
        self.fitter = _on_surface(fitter, self.learn)
        self.rungs = rungs_for(fitter.robot, self.learn, self.fitter.surface)
        self.folds = list(split.folds) or [Fold(split.learn, ())]
        self.fitters = [self.fitter]
        if split.cross_validated:  # what a fold does not see must not say where a surface is
            pairs = zip(split.motions["learn"], self.folds, strict=True)
            self.fitters = [_on_surface(fitter.without(m), fold.learn) for m, fold in pairs]
        horizon = fitter.settings.horizon
        longer: Horizon = FULL
        if fitter.robot.mount == "free" and not isinstance(horizon, str):
            longer = 2 * horizon  # on a floor, whole clips soon are falls
        self.horizons = tuple(dict.fromkeys([horizon, longer]))
        self.windows = max(2, WINDOWS // max(1, sum(len(fold.choose) for fold in self.folds)))

    def climb(self) -> tuple[Calibration, tuple[Calibration, ...]]:
        """The calibration of all that teaches, and where motions choose in turn that of each fold.

        The steps are in its `made_by`.
        """
        names: Names = {}
        below = Footing.ground(len(self.folds))
        steps = [Step("nominal", 0, self._errors(below.folds))]
        here = steps[0]
        queue, missed = list(self.rungs), list[tuple[Rung, Names]]()
        while queue:
            rung = queue.pop(0)
            if rung.on(names) == names:  # all that it frees is free
                continue
            step, found = self._tried(rung, names, below, here)
            steps.append(step)
            self._tell(step, len(steps) - 1, len(steps) - 1 + len(queue))
            if not step.kept:
                missed += [(rung, names)] if rung in self.rungs else []
                continue
            if step.gain_over(here) >= AGAIN:
                queue, missed = [*_once_more(missed, rung.on(names)), *queue], []
            names, below, here = rung.on(names), found, step
        if not names:  # to be looked at; whoever asked says whether it is kept
            names, below = self.rungs[0].on({}), self._fitted(self.rungs[0], {}, below)
        if self.split.folds:
            step, last = self._polished(names, below, here)
            steps.append(step)
            below = last if step.kept else below
        whole = below.whole.calibration
        assert whole is not None
        if self.split.cross_validated:
            whole = as_folds_agree(whole, [f.calibration for f in below.folds if f.calibration])
        if self.fitter.closed_loop is not None:
            whole, step = self._in_loop(whole, self.fitter.closed_loop)
            steps.append(step)
        surface = self.fitter.surface
        whole = replace(
            whole,
            notes=(*whole.notes, *([surface.note] if surface else [])),
            made_by={**whole.made_by, "ladder": [s.facts for s in steps]},
        )
        folds = tuple(f.calibration for f in below.folds if f.calibration)
        return whole, folds if self.split.cross_validated else ()

    def _tried(self, rung: Rung, names: Names, below: Footing, here: Step) -> tuple[Step, Footing]:
        """A rung fitted and judged; one that comes to nothing is said and left out."""
        try:
            found = self._fitted(rung, names, below)
        except ArtifactError:  # of the machine, which says nothing about a rung
            raise
        except GaplessError as error:
            return Step(rung.name, 0, {}, False, str(error)), below
        assert found.whole.calibration is not None
        estimates = found.whole.calibration.estimates
        step = Step(rung.name, len(estimates), self._errors(found.folds))
        why = self._doubt(step, here, any(e.identifiable for e in estimates))
        return replace(step, kept=not why, why=why), found

    def _tell(self, step: Step, done: int, all_of_them: int) -> None:
        """How far up the ladder it is, and what the last rung was worth."""
        if self.fitter.watch:
            verdict = "kept" if step.kept else "not kept"
            errors = {f"choosing error {h}": e for h, e in step.errors.items()}
            told = Progress(f"{step.rung} {verdict}", done, all_of_them, errors)
            self.fitter.watch(told)

    def _doubt(self, step: Step, here: Step, identifiable: bool) -> str:
        """Why a rung is not kept; nothing where it is."""
        if not self.split.folds:
            return "" if here.rung == "nominal" else "no motion could choose"
        if not identifiable:
            return "none of its parameters is identifiable"
        gain = step.gain_over(here)
        if gain >= LEAST_GAIN:
            return ""
        if gain >= 0:
            return f"{self._said(here)}: {gain:.1%} less error, too little to tell from chance"
        return f"{self._said(here)}: {-gain:.0%} more error"

    def _said(self, here: Step) -> str:
        return "choosing motions" + (" and closed loop" if CLOSED_LOOP in here.by_fold else "")

    def _fitted(self, rung: Rung, names: Names, below: Footing) -> Footing:
        """The rung with all that teaches, and on every fold."""
        careful = rung is POLISH
        rung, whole = self._whole(rung, names, below.whole, careful)
        if not self.split.cross_validated:
            return Footing(whole, (whole,))
        folds = [
            fit_rung(fitter, fold.learn, rung, names, start, careful)
            if fitter.surface  # which is where the recordings of the fold alone show it
            else fit_rung(
                *(fitter, self.learn, rung, names, start, careful),
                unseen={clip.name for clip in fold.choose},
                slopes=whole.slopes,
            )
            for fitter, fold, start in zip(self.fitters, self.folds, below.folds, strict=True)
        ]
        return Footing(whole, tuple(folds))

    def _whole(
        self, rung: Rung, names: Names, below: Foothold, careful: bool
    ) -> tuple[Rung, Foothold]:
        """The rung with all that teaches, and the start that it took; folds take the same one.

        A later start must explain what teaches better than chance would, motion by motion.
        """
        best, *others = self._from_each_start(rung, names, below, careful)
        if not others:
            return best
        least = self._seen(best[1])
        for other in others:
            seen = self._seen(other[1])
            if seen.gain_over(least) >= LEAST_GAIN:
                best, least = other, seen
        return best

    def _from_each_start(
        self, rung: Rung, names: Names, below: Foothold, careful: bool
    ) -> list[tuple[Rung, Foothold]]:
        """Those that come to something; where none does, why the first does not."""
        found, refusals = [], []
        for start in rung.starts:
            way = replace(rung, starts=(start,))
            try:
                fitted = fit_rung(self.fitter, self.learn, way, names, below, careful)
                found.append((way, fitted))
            except ArtifactError:  # of the machine, which says nothing about a rung
                raise
            except GaplessError as error:
                refusals.append(error)
        if not found:
            raise refusals[0]
        return found

    def _seen(self, whole: Foothold) -> Step:
        return Step("", 0, self._errors([whole] * len(self.folds)))

    def _polished(self, names: Names, below: Footing, here: Step) -> tuple[Step, Footing]:
        """A last fit of what was kept, with fresh slopes: rungs go on with those of earlier ones.

        It must not be worse than the quick ones.
        """
        last = self._fitted(POLISH, names, below)
        assert last.whole.calibration is not None
        free = len(last.whole.calibration.estimates)
        step = Step(POLISH.name, free, self._errors(last.folds))
        gain = step.gain_over(here)
        why = "" if gain >= 0 else f"{self._said(here)}: {-gain:.0%} more error"
        return replace(step, kept=not why, why=why), last

    def _in_loop(self, whole: Calibration, loop: RecordedPath) -> tuple[Calibration, Step]:
        """The figures fitted to what a policy made of the robot; kept where replays stay as well.

        With them those that decide how it balances, which rungs may have left out. It costs a play
        of all takes for each figure: of very many, those of a motor move as one.
        """
        robot, names = self.fitter.robot, balance_names(self.fitter.robot)
        wanted = self.fitter.parameters(self._made(whole), names) if names else []
        begun = with_balance_figures(whole, robot, wanted)
        count = len(begun.estimates)
        together = by_motor(begun.estimates, robot) if len(whole.estimates) > MOST else None
        first = Step(POLISH.name, len(whole.estimates), self._errors_in_loop(whole, loop))
        found = LoopFit(begun, self._made, loop, self.fitter.watch, together).found()
        after = Step(IN_LOOP, count, self._errors_in_loop(found, loop))
        why = self._doubt(after, first, True)
        return (whole if why else found), replace(after, kept=not why, why=why)

    def _errors_in_loop(
        self, found: Calibration, loop: RecordedPath
    ) -> dict[str, tuple[float, ...]]:
        errors = self._errors([Foothold(found)] * len(self.folds))
        if CLOSED_LOOP not in errors:
            errors[CLOSED_LOOP] = (loop.error(self._made(found)),)
        return errors

    def _made(self, calibration: Calibration) -> MujocoWorld:
        return self._world(self.folds[0], Foothold(calibration))

    def _errors(self, footholds: Sequence[Foothold]) -> dict[str, tuple[float, ...]]:
        """Horizon -> replay errors on what each fold did not see.

        Replays of a second cannot tell a lean from a mass centre; a policy that balances can.
        """
        pairs = list(zip(self.folds, footholds, strict=True))
        errors = {
            str(h): tuple(self._error(fold, at, h) for fold, at in pairs if len(fold.choose))
            for h in self.horizons
        }
        judge = self.fitter.closed_loop
        if judge is not None and judge.chance <= LEAST_GAIN:  # finer than what rungs are worth
            errors[CLOSED_LOOP] = tuple(judge.error(self._world(*pair)) for pair in pairs)
        return errors

    def _error(self, fold: Fold, at: Foothold, horizon: Horizon) -> float:
        return replay_error(list(fold.choose), self._world(fold, at), horizon, self.windows)

    def _world(self, fold: Fold, at: Foothold) -> MujocoWorld:
        fitter = self.fitter
        robot = at.calibration.apply(fitter.robot) if at.calibration else (None, None)
        return fitter.world(fold.learn[0].rate, *robot)


def as_folds_agree(whole: Calibration, folds: Sequence[Calibration]) -> Calibration:
    """The same with intervals no narrower than leaving out a motion moves what is found.

    The jackknife over motions: what a model lacks goes into its parameters, differently in each
    motion, and no residual of one fit shows it.
    """
    estimates = []
    for estimate in whole.estimates:
        without = [fold[estimate.name].value for fold in folds]
        spread = float(np.std(without) * np.sqrt(len(without) - 1))
        known = estimate.identifiable and spread > estimate.std
        estimates.append(replace(estimate, std=spread) if known else estimate)
    return replace(whole, estimates=tuple(estimates))


def _once_more(missed: Sequence[tuple[Rung, Names]], names: Names) -> list[Rung]:
    """Rungs that were not kept, unless what they free has been freed otherwise since.

    Friction cannot be told from wrong zeros while the zeros are wrong.
    """
    return [
        replace(rung, name=f"{rung.name}, again")
        for rung, then in missed
        if all(names.get(kind) == then.get(kind) for kind in rung.adds)
    ]


def _on_surface(fitter: Fitter, learn: Recordings) -> Fitter:
    """The same, told what the recordings show the robot to rest on."""
    return replace(fitter, surface=resting_surface(fitter.robot, list(learn)))
