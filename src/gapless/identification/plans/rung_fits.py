"""How a rung of a ladder is fitted: from where the rung below ended, by what was found there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import block_diag

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import nominal_figures
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.rungs import NOMINAL, Rung
from gapless.identification.problem.problem import Slopes
from gapless.identification.settings import matches
from gapless.parameters import Parameter
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco_world import MujocoWorld

QUICK = {"tolerance": 5e-3, "iterations": 8}
"""A rung is fitted until a step lowers its cost by less than this share, or for so many steps."""

ON_FLOOR = {"tolerance": 5e-3, "iterations": 30}
"""The same of a careful fit on a floor: what smaller steps bring there is not seen in replays."""

WORTH = 0.005
"""Share of its cost that a rung must promise to take off what teaches, or it is not fitted."""

WITHIN = 0.5
"""How much joints of a kind differ, as a share of what is unknown of the kind."""

Names = Mapping[str, tuple[str, ...]]
"""Kind -> the parameters of that kind that are free."""


@dataclass(frozen=True)
class Foothold:
    """Where a fold stands on the ladder: what it found, and the slopes there."""

    calibration: Calibration | None = None
    slopes: Slopes = field(default_factory=dict, repr=False)


def _hurried(fitter: Fitter, careful: bool = False) -> Fitter:
    """The same, done with a fit a little earlier: a ladder has many, and those on floors are dear.

    A careful fit ends where it would, unless it is of a robot on a floor.
    """
    settings = fitter.settings
    if settings.optimiser != "gauss-newton" or (careful and fitter.robot.mount != "free"):
        return fitter
    options = {**(ON_FLOOR if careful else QUICK), **settings.options}
    return replace(fitter, settings=replace(settings, options=options))


def fit_rung(
    fitter: Fitter,
    learn: Recordings,
    rung: Rung,
    names: Names,
    below: Foothold,
    careful: bool = False,
    unseen: Collection[str] = (),
    slopes: Slopes | None = None,
) -> Foothold:
    """A rung's parameters, from the first of its starts.

    Args:
        fitter: makes the fit.
        learn: what teaches.
        rung: what is freed.
        names: what the rungs below have freed.
        below: where they ended.
        careful: form all slopes anew.
        unseen: names of recordings of `learn` that this fold leaves out.
        slopes: that a fit of this rung to all of `learn` has found, and a fold need not form.
    """
    clips = list(learn)
    anew = rung.starts[0] == NOMINAL
    below = Foothold() if anew else below
    if rung.alone and below.calibration is not None:
        return _fit_alone(fitter, clips, rung, below.calibration) if fitter.surface else below
    world = fitter.world(clips[0].rate)
    parameters = _parameters(fitter, world, rung.on(names))
    values: list[float] | None = None
    if below.calibration is not None:
        parameters, values = _from_below(parameters, below.calibration, fitter.robot)
    known = slopes if unseen else None if careful else below.slopes
    found = _hurried(fitter, careful).fit(
        clips,
        world,
        parameters,
        stage=f"{rung.name}, from the model" if anew else rung.name,
        quick_start=values is None and not unseen,  # a fold has slopes to go by
        start=values,
        known=None if values is None and not unseen else known or None,
        worth=0.0 if unseen else WORTH,
        unseen=unseen,
    )
    return Foothold(fitter.described(found), found.slopes)


def _fit_alone(
    fitter: Fitter, clips: Sequence[Recording], rung: Rung, below: Calibration
) -> Foothold:
    """What is new on a rung, on the robot that the rung below found.

    The slopes of that robot are not those of one that meets a surface: the next rung forms all.
    """
    world = fitter.world(clips[0].rate, *below.apply(fitter.robot))
    parameters = _parameters(fitter, world, rung.adds)
    found = fitter.described(
        _hurried(fitter).fit(clips, world, parameters, stage=rung.name, quick_start=False)
    )
    return Foothold(
        replace(
            found,
            estimates=(*below.estimates, *found.estimates),
            correlation=block_diag(below.correlation, found.correlation),
            notes=(*below.notes, *found.notes),
        )
    )


def _parameters(fitter: Fitter, world: MujocoWorld, names: Names) -> list[Parameter]:
    """Each where the robot has it, or people; a surface is expected where the robot rests on it."""
    typed = [name for of_kind in names.values() for name in of_kind]
    seen = fitter.surface.starts if fitter.surface else {}
    return [
        replace(p, prior=seen[p.name])
        if p.name in seen and not any(matches([p], key) for key in fitter.settings.priors)
        else p
        for p in fitter.parameters(world, typed)
    ]


def _from_below(
    parameters: Sequence[Parameter], below: Calibration, robot: Robot
) -> tuple[list[Parameter], list[float]]:
    """Where to begin; a joint that shared its number before is expected near the shared one."""
    known, figures = {e.name: e.parameter for e in below.estimates}, _figures(below)
    found, values = [], []
    for p, own in zip(parameters, nominal_figures(robot, Effects(), parameters), strict=True):
        at = [
            figures[p.kind, place] / (nominal if p.factor else 1.0)
            for place, nominal in zip(p.places or ("",), own, strict=True)
            if (p.kind, place) in figures
        ]
        value = min(max(float(np.mean(at)) if at else p.prior, p.lower), p.upper)
        freed = bool(at) and p.name not in known
        found.append(_expected_near(p, value) if freed else known.get(p.name, p))
        values.append(value)
    return found, values


def _expected_near(parameter: Parameter, value: float) -> Parameter:
    ratio = WITHIN * (value / parameter.prior if parameter.log else 1.0)
    std, step = ratio * parameter.prior_std, ratio * parameter.step
    return replace(parameter, prior=value, prior_std=std, step=step)


def _figures(calibration: Calibration) -> dict[tuple[str, str], float]:
    """(Kind, place) -> the number there."""
    found = {}
    for e in calibration.estimates:
        for place, own in zip(e.parameter.places or ("",), e.nominal, strict=True):
            found[e.parameter.kind, place] = e.value * own if e.parameter.factor else e.value
    return found
