"""What the stages of a plan share: worlds, fits and their judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gapless.errors import unknown
from gapless.identification.calibration import Calibration
from gapless.identification.estimate import HeldOut
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitting import Fit, fit
from gapless.identification.settings import IdentifySettings, matches
from gapless.identification.torques.torque_start import values_from_torque
from gapless.measurement.judge import replay_rmse, without_loads
from gapless.parameters import Parameter, parameters_of
from gapless.progress import Watch
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco_world import MujocoWorld


@dataclass
class Fitter:
    """What the stages of a plan share."""

    robot: Robot
    settings: IdentifySettings
    checkpoint: FitCheckpoint
    watch: Watch | None

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
            {k: v for k, v in table.items() if matches(plain, k)}
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
        found = self.fit(train, world, parameters, stage, quick_start)
        return self.judged(found, test)

    def refuse_unknown_settings(self, names: Sequence[str]) -> None:
        """Bounds, priors and boxes must be of something that one of the stages looks for."""
        asked = parameters_of(self.robot, names)
        for table in (self.settings.bounds, self.settings.priors, self.settings.boxes):
            for key in table:
                if not matches(asked, key):
                    raise unknown("parameter", key, [p.name for p in asked])

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
    damping = {e.name for e in found.estimates() if e.parameter.kind == "damping" and e.value <= 0}
    if damping & set(edge):
        lines.append(
            "damping cannot be less than none: where the model's kd is a guess it may be too "
            "large; identify kd too"
        )
    if not judged:
        lines.append("no recording was held out, so nothing says whether this is better elsewhere")
    return tuple(lines)
