"""A Fitter: what the stages of a plan share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gapless.errors import unknown
from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitted import Fit
from gapless.identification.plans.fitting import fit
from gapless.identification.plans.loop_fit import RecordedPath
from gapless.identification.plans.resting_surface import RestingSurface
from gapless.identification.problem.posing import problem_of, windows_to_fit
from gapless.identification.problem.problem import Slopes
from gapless.identification.settings import IdentifySettings, matches
from gapless.identification.torques.torque_start import values_from_torque
from gapless.measurement.windows import Windows
from gapless.parameters import Parameter, parameters_of
from gapless.progress import Watch
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.tasks import Workers
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco_world import MujocoWorld

ALL = "all motions"
"""The part of a plan that sees all that teaches."""


@dataclass(eq=False)
class Fitter:
    """What the stages of a plan share.

    Attributes:
        robot: the nominal one.
        settings: how fits are made.
        checkpoint: keeps how far each stage is.
        watch: told the same.
        fold: put before the names of stages, where a plan is followed several times.
        surface: that what is fitted shows the robot to rest on; where its height is looked for,
            landings on it are fitted beside the windows that are spread evenly.
        part: of a plan, whose fits are kept apart.
        workers: who makes parts that do not wait for each other; None makes them here.
        closed_loop: what a policy made of the robot; None where nobody knows the policy.
        cuts: windows that were cut last, and of what; those who go on from here share them.
    """

    robot: Robot
    settings: IdentifySettings
    checkpoint: FitCheckpoint
    watch: Watch | None
    fold: str = ""
    surface: RestingSurface | None = None
    part: str = ALL
    workers: Workers | None = None
    closed_loop: RecordedPath | None = None
    cuts: list[tuple[list, Windows]] = field(default_factory=list, repr=False)

    def without(self, motion: str) -> Fitter:
        """The same for recordings that lack a motion."""
        return replace(self, fold=f"without {motion}: ", part=f"without {motion}")

    def of_unit(self, name: str) -> Fitter:
        """The same for one unit."""
        return replace(self, part=f"{self.part}, {name}")

    def on_simple_feet(self) -> Fitter:
        """The same for fits, where feet of few contacts do: nearly twice as fast on a floor.

        Their replays differ by a tenth of what noise of a log does. What was found is judged on the
        robot's own feet.
        """
        robot = self.robot
        return self if robot.mount != "free" else replace(self, robot=robot.with_simple_feet())

    def world(
        self, rate: float, robot: Robot | None = None, effects: Effects | None = None
    ) -> MujocoWorld:
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
        start: Sequence[float] | None = None,
        known: Slopes | None = None,
        worth: float = 0.0,
        unseen: Collection[str] = (),
    ) -> Fit:
        """Fit parameters to recordings in a world, from these values or as the settings say.

        Args:
            recordings: what must be explained.
            world: the robot, with all that is not fitted.
            parameters: what is.
            stage: a name for progress and checkpoints.
            quick_start: begin joint by joint, on some of the windows.
            start: values to begin with.
            known: slopes of the windows of all recordings, of an earlier fit.
            worth: share of the cost that these must promise to take off.
            unseen: names of recordings whose windows are left out.
        """
        settings = self.settings
        wanted = self.parameters(world, parameters)
        also = self._landings(recordings[0].rate, wanted)
        problem = problem_of(settings, self._windows(recordings, world, also), world, wanted)
        if unseen:
            named = np.array(problem.windows.names)[problem.windows.recording]
            seen = ~np.isin(named, list(unseen))
            problem = problem.on(problem.windows[seen])
            known = known and {name: slope[seen] for name, slope in known.items()}
        begin = None if start is None else problem.z_of(np.array(start))
        if start is None and settings.begin == "torque":
            begin = problem.z_of(values_from_torque(recordings, world.robot, problem.parameters))
        return fit(
            problem,
            start=begin,
            optimiser=settings.optimiser,
            quick_start=quick_start,
            stage=self.fold + stage,
            checkpoint=self.checkpoint.within(self.part),
            watch=self.watch,
            options=dict(settings.options),
            free_starts=settings.starts == "free",
            known=known,
            worth=worth,
            intervals=not unseen,
        )

    def _windows(
        self, recordings: Sequence[Recording], world: MujocoWorld, also: list[tuple[int, int]]
    ) -> Windows:
        """Cut once for fits in a row to the same recordings, by folds and in haste too.

        On a floor the base is estimated for them, which was a quarter of a ladder's time.
        """
        how = self.settings
        asked = [(also, how.horizon, how.windows, how.hardest), world.robot, *recordings]
        if not self.cuts or not _same(asked, self.cuts[0][0]):
            self.cuts[:] = [(asked, windows_to_fit(how, recordings, world, also))]
        return self.cuts[0][1]

    def _landings(self, rate: float, wanted: Sequence[Parameter]) -> list[tuple[int, int]]:
        horizon = self.settings.horizon
        sought = any(p.kind == "floor_height" for p in wanted)
        if self.surface is None or not sought or isinstance(horizon, str):
            return []
        return self.surface.landings(round(horizon * rate / 2), 1 + self.settings.windows // 4)

    def parameters(
        self, world: MujocoWorld, names: str | Sequence[str] | Sequence[Parameter]
    ) -> list[Parameter]:
        """Parameters of a world's robot, with the user's bounds and priors where they apply."""
        if not isinstance(names, str) and names and isinstance(names[0], Parameter):
            return list(names)  # type: ignore[arg-type]
        plain = parameters_of(world.robot, names, world.effects)  # type: ignore[arg-type]
        asked = (
            {k: v for k, v in table.items() if matches(plain, k)}
            for table in (self.settings.bounds, self.settings.priors)
        )
        bounds, priors = asked
        return parameters_of(world.robot, names, world.effects, bounds=bounds, priors=priors)  # type: ignore[arg-type]

    def calibration(
        self,
        recordings: Sequence[Recording],
        parameters: str | Sequence[str] | Sequence[Parameter],
        stage: str = "fit",
        quick_start: bool = True,
        world: MujocoWorld | None = None,
    ) -> Calibration:
        """One fit."""
        world = world or self.world(recordings[0].rate)
        return self.described(self.fit(recordings, world, parameters, stage, quick_start))

    def refuse_unknown_settings(self, names: Sequence[str]) -> None:
        """Bounds, priors and boxes must be of something that one of the stages looks for."""
        asked = parameters_of(self.robot, names)
        for table in (self.settings.bounds, self.settings.priors, self.settings.boxes):
            for key in table:
                if not matches(asked, key):
                    raise unknown("parameter", key, [p.name for p in asked])

    def described(self, found: Fit) -> Calibration:
        """A fit as a calibration that nobody has judged yet."""
        return Calibration(
            robot=found.problem.world.robot.name,
            estimates=found.estimates(),
            correlation=found.uncertainty.correlation,
            notes=_notes(found),
            made_by={
                "fit_error": found.error,
                "iterations": found.iterations,
                "simulated_seconds": found.simulated_seconds,
            },
        )


def _same(asked: Sequence, before: Sequence) -> bool:
    """The same way to cut, robot and recordings; of the latter two the very objects."""
    return asked[0] == before[0] and [*map(id, asked[1:])] == [*map(id, before[1:])]


def _notes(found: Fit) -> tuple[str, ...]:
    fixed = [
        p.name
        for p, t in zip(found.problem.parameters, found.uncertainty.identifiable, strict=True)
        if not t
    ]
    lines = []
    if fixed:
        lines.append(
            f"{len(fixed)} of {len(found.problem)} parameters are not identifiable and stay "
            f"at their priors: {', '.join(fixed)}"
        )
    edge = [e.name for e in found.estimates() if e.at_bound]
    if edge:
        lines.append(f"stopped at a bound: {', '.join(edge)}; widen --bounds if that is not real")
    damping = {e.name for e in found.estimates() if e.parameter.kind == "damping" and e.value <= 0}
    if damping & set(edge):
        lines.append(
            "damping cannot be less than none: where the model's kd is a guess it may be too "
            "large; identify kd too"
        )
    return (*lines, *_less_than_nothing(found))


def _less_than_nothing(found: Fit) -> list[str]:
    """Loads that pull upwards, in words: no load does, so something else is the other way round."""
    lines = []
    for estimate, z, wanted in zip(
        found.estimates(), found.z, found.uncertainty.wanted, strict=True
    ):
        p = estimate.parameter
        wants = estimate.value + p.per_z(estimate.value) * float(wanted - z)
        if p.kind == "payload" and estimate.at_bound and wants < -2 * estimate.std:
            lines.append(
                f"{p.name} wants to be {wants:.3f} kg, and no load weighs less than nothing: "
                "gravity acts the other way round than in the model. Check how the robot is "
                "mounted (upside down, on a slope), how joints are counted (--find-signs), and "
                "whether the unloaded robot is as heavy as its model says"
            )
    return lines
