"""identify(): from recordings to a calibration, by one of several plans."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance
from gapless.errors import DataError, GaplessError, unknown
from gapless.identify import conventions
from gapless.identify.calibration import Calibration, HeldOut
from gapless.identify.checkpoint import Checkpoint
from gapless.identify.fitting import Fit, Watch, fit
from gapless.identify.fragments import fragments_of
from gapless.identify.held_out import replay_rmse, without_loads
from gapless.identify.problem import Problem
from gapless.identify.torque_start import values_from_torque
from gapless.measure.replay import Horizon
from gapless.parameters import Parameter, parameters_of
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco import MujocoWorld

STARTS, BEGINNINGS = ("read", "free"), ("prior", "torque")
PLANS = ("per-joint", "whole", "one-stage", "two-stage", "fleet")


class NotImprovedError(GaplessError):
    """A calibration that is no better than the nominal robot on motions it was not fitted to.

    Attributes:
        calibration: what was found all the same.
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        held = calibration.held_out
        before, after = (held.before, held.after) if held else (0.0, 0.0)
        super().__init__(
            f"the calibration does not improve replays it was not fitted to: {before:.5f} rad "
            f"before, {after:.5f} rad after; it is refused. Fit fewer parameters (--set), more "
            "varied motions, or a shorter --horizon; --keep-anyway keeps it all the same"
        )


@dataclass(frozen=True)
class Settings:
    """How a fit is made; the command line has the same options.

    Attributes:
        horizon: seconds of each fragment, and of the held-out replays.
        fragments: most of them that are fitted.
        objective: "joints" or "bodies".
        loss: "huber", "squared" or "cauchy".
        prior_weight: 1 takes the spreads of the parameters as they are.
        bounds: other bounds, by name, kind or pattern.
        priors: other value and spread, likewise.
        boxes: HALO's box regularisers, shares of the prior.
        optimiser: "gauss-newton", "gradient", "cma" or "grid".
        options: of the optimiser.
        starts: "read" takes starts as recorded (smoothed), "free" lets them err within what reading
            them allows: better where errors are small and velocities are not logged.
        begin: "prior", or "torque": masses and centres first from torques, by one linear fit.
        physics_step: longest physics step, s.
        threads: all cores by default.
    """

    horizon: Horizon = 1.0
    fragments: int = 48
    objective: str = "joints"
    loss: str = "huber"
    prior_weight: float = 1.0
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    boxes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    optimiser: str = "gauss-newton"
    options: Mapping[str, Any] = field(default_factory=dict)
    starts: str = "read"
    begin: str = "prior"
    physics_step: float = 0.002
    threads: int | None = None

    def problem(
        self, recordings: Recordings, world: MujocoWorld, parameters: Sequence[Parameter]
    ) -> Problem:
        """The problem of explaining recordings by parameters."""
        if self.starts not in STARTS:
            raise unknown("kind of starts", self.starts, STARTS)
        if self.begin not in BEGINNINGS:
            raise unknown("beginning", self.begin, BEGINNINGS)
        cut = fragments_of(recordings, world.robot, self.horizon, self.fragments)
        return Problem(
            world,
            parameters,
            cut,
            objective=self.objective,
            # Exact slopes know no robust loss.
            loss="squared" if self.optimiser == "gradient" else self.loss,
            prior_weight=self.prior_weight,
            boxes={k: v for k, v in self.boxes.items() if _names(parameters, k)},
        )


def _names(parameters: Sequence[Parameter], key: str) -> bool:
    return any(key in (p.name, p.kind) for p in parameters)


def identify(
    dataset: Recordings,
    robot: Robot,
    parameters: str | Sequence[str] = "actuators",
    *,
    plan: str = "per-joint",
    held_out: Recordings | float = 0.25,
    settings: Settings | None = None,
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
        watch: told the stage and its progress after every iteration.
        seed: of the split.

    Raises:
        NotImprovedError: held-out replays are no better; it carries the calibration.
    """
    if plan not in PLANS:
        raise unknown("plan", plan, PLANS)
    began = time.perf_counter()
    train, test = split(dataset, held_out, seed)
    run = Run(robot, settings or Settings(), Checkpoint(checkpoint), watch)
    signs = conventions.find_signs(train, run.world(train[0].rate)) if find_signs else {}
    train, test = ([conventions.with_signs(r, signs) for r in part] for part in (train, test))
    if plan == "two-stage":
        from gapless.identify.stages import two_stage

        found = two_stage(run, train, test, parameters, payload, loaded)
    elif plan == "fleet":
        from gapless.identify.fleet import fleet

        found = fleet(run, train, test, parameters)
    elif plan == "one-stage":
        from gapless.identify.stages import one_stage

        found = one_stage(run, train, test, payload, loaded)
    else:
        found = run.calibration(train, test, parameters, quick_start=plan == "per-joint")
    found = replace(
        found, signs=signs, made_by=_made_by(found, plan, parameters, train, run.settings, began)
    )
    judged = found.loaded if found.loaded is not None else found
    if judged.held_out is not None and not judged.held_out.improved and not keep_anyway:
        raise NotImprovedError(found)
    return found


@dataclass
class Run:
    """What the stages of a plan share."""

    robot: Robot
    settings: Settings
    checkpoint: Checkpoint
    watch: Watch | None

    def world(self, rate: float, robot: Robot | None = None, effects: Effects | None = None):  # noqa: ANN201
        """A robot, nominal by default, at the recordings' rate."""
        return MujocoWorld(
            robot or self.robot,
            rate,
            effects=effects,
            physics_step=self.settings.physics_step,
            threads=self.settings.threads,
        )

    def fit(
        self,
        recordings: Sequence[Recording],
        world: MujocoWorld,
        parameters: str | Sequence[str] | Sequence[Parameter],
        stage: str = "fit",
        quick_start: bool = True,
    ) -> Fit:
        """Fit parameters to recordings in a world."""
        settings = self.settings
        problem = settings.problem(recordings, world, self.parameters(world, parameters))
        begin = None
        if settings.begin == "torque":
            begin = problem.z_of(values_from_torque(recordings, world.robot, problem.parameters))
        return fit(
            problem,
            start=begin,
            optimiser=settings.optimiser,
            quick_start=quick_start,
            stage=stage,
            checkpoint=self.checkpoint,
            watch=self.watch,
            options=dict(settings.options),
            free_starts=settings.starts == "free",
        )

    def parameters(
        self, world: MujocoWorld, names: str | Sequence[str] | Sequence[Parameter]
    ) -> list[Parameter]:
        """Parameters of a world's robot, with the user's bounds and priors where they apply."""
        if not isinstance(names, str) and names and isinstance(names[0], Parameter):
            return list(names)  # type: ignore[arg-type]
        plain = parameters_of(world.robot, names, world.effects)  # type: ignore[arg-type]
        asked = (
            {k: v for k, v in table.items() if _matches(plain, k)}
            for table in (self.settings.bounds, self.settings.priors)
        )
        bounds, priors = asked
        return parameters_of(world.robot, names, world.effects, bounds=bounds, priors=priors)  # type: ignore[arg-type]

    def calibration(
        self,
        train: Sequence[Recording],
        test: Sequence[Recording],
        parameters: str | Sequence[str] | Sequence[Parameter],
        stage: str = "fit",
        quick_start: bool = True,
        world: MujocoWorld | None = None,
    ) -> Calibration:
        """One fit and its judgement."""
        world = world or self.world(train[0].rate)
        self._refuse_unknown_settings(world, parameters)
        found = self.fit(train, world, parameters, stage, quick_start)
        return self.judged(found, test)

    def _refuse_unknown_settings(self, world: MujocoWorld, parameters: Any) -> None:
        plain = self.parameters(world, parameters)
        for table in (self.settings.bounds, self.settings.priors, self.settings.boxes):
            for key in table:
                if not _matches(plain, key):
                    raise unknown("parameter", key, [p.name for p in plain])

    def judged(self, found: Fit, test: Sequence[Recording]) -> Calibration:
        """A calibration with its error on recordings the fit did not see."""
        world, estimates = found.problem.world, found.estimates()
        calibration = Calibration(
            robot=world.robot.name,
            estimates=estimates,
            correlation=found.uncertainty.correlation,
            notes=_notes(found, bool(test)),
            made_by={
                "fit_error": found.error,
                "iterations": found.iterations,
                "simulated_seconds": found.simulated_seconds,
            },
        )
        if not test:
            return calibration
        robot, effects = calibration.apply(world.robot, world.effects)
        test = without_loads(test) if calibration.finds_loads else list(test)
        horizon = self.settings.horizon
        held = HeldOut(
            before=replay_rmse(test, world, horizon),
            after=replay_rmse(test, world.variant(robot=robot, effects=effects), horizon),
            horizon=horizon,
            motions=tuple(dict.fromkeys(r.name for r in test)),
        )
        return replace(calibration, held_out=held)


def _matches(parameters: Sequence[Parameter], key: str) -> bool:
    from fnmatch import fnmatchcase

    return any(key == p.kind or fnmatchcase(p.name, key) for p in parameters)


def split(
    dataset: Recordings, held_out: Recordings | float, seed: int
) -> tuple[list[Recording], list[Recording]]:
    """Recordings to fit and recordings to judge by; a dataset of one motion keeps none back."""
    clips = [dataset[i] for i in range(len(dataset))]
    usable = [c for c in clips if not c.provenance.get("flags")]
    if not usable:
        raise DataError(f"none of {len(clips)} recordings can be used; see gapless check")
    if not isinstance(held_out, int | float):
        return usable, [held_out[i] for i in range(len(held_out))]
    if not 0 <= held_out < 1:
        raise DataError(f"held_out is {held_out}; expected a share from 0 to below 1")
    names = sorted({c.name for c in usable})
    if len(names) < 2 or not held_out:
        return usable, []
    rng = np.random.default_rng(seed)
    kept = set(rng.permutation(names)[: max(1, round(held_out * len(names)))].tolist())
    return [c for c in usable if c.name not in kept], [c for c in usable if c.name in kept]


def _notes(found: Fit, judged: bool) -> tuple[str, ...]:
    untold = [
        p.name
        for p, t in zip(found.problem.parameters, found.uncertainty.told, strict=True)
        if not t
    ]
    lines = []
    if untold:
        lines.append(
            f"the data could not tell {len(untold)} of {len(found.problem)} parameters, which stay "
            f"at their priors: {', '.join(untold)}"
        )
    edge = [e.name for e in found.estimates() if e.at_bound]
    if edge:
        lines.append(f"stopped at a bound: {', '.join(edge)}; widen --bounds if that is not real")
    if not judged:
        lines.append("no recording was held out, so nothing says whether this is better elsewhere")
    return tuple(lines)


def _made_by(
    found: Calibration,
    plan: str,
    parameters: str | Sequence[str],
    train: Sequence[Recording],
    settings: Settings,
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
