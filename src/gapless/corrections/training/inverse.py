"""`inverse`: learn by regression what a correction should have given, known in closed form.

For a torque, inverse dynamics of the recording says what was there beside the PD law; for a target,
one Gauss-Newton step through the simulator says which one would have led to where the robot was;
for a state, it is what a step got wrong. See `gapless.corrections.linearised.one_step`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from gapless.corrections.linearised.one_step import (
    BAND,
    OutputTargets,
    gauss_newton_targets,
    smoothed,
    state_targets,
    torque_targets,
    why_not_dynamics,
)
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.regression import Lesson, Regression, in_rounds
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession
from gapless.corrections.training.training_windows import recorded_signals
from gapless.errors import DataError, unknown
from gapless.measurement.windows import Windows
from gapless.worlds.engine_world import EngineWorld

TARGETS = ("auto", "dynamics", "gauss-newton")

SHORTEST = 8
"""Steps of a sequence at least: fewer have no accelerations."""


@dataclass(frozen=True)
class Inverse:
    """Settings of the trainer.

    Attributes:
        target: dynamics (torques only), gauss-newton, or auto, which takes the first that can be.
        span: seconds after which gauss-newton compares.
        ridge: weight of gauss-newton's outputs, as a share of what the errors weigh.
        band: Hz up to which recorded positions pass.
        window: seconds of a sequence; those of the task's horizon by default.
        samples: control steps of a round, over all its sequences.
        rounds: each draws other sequences; the best by the choosing motions is kept.
        iterations: steps of Adam in each round.
        batch: sequences of an iteration.
        rate: step size of Adam, falling to nothing in a round, and by half from round to round.
        noise: put on the inputs, as a share of their deviation; see `Regression`.
    """

    target: str = "auto"
    span: float = 0.1
    ridge: float = 1e-3
    band: float = BAND
    window: float | None = None
    samples: int = 12000
    rounds: int = 2
    iterations: int = 300
    batch: int = 32
    rate: float = 3e-3
    noise: float = 0.1

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """Rounds of regression; the best by the choosing motions is kept."""
        smooth = replace(task, learn=smoothed(task.learn, self.band))
        rounds = [
            Regression(self.iterations, self.batch, self.rate * 0.5**turn, self.noise)
            for turn in range(self.rounds)
        ]
        return in_rounds(task, start, run, rounds, lambda now, i: self._lesson(smooth, now, i))

    def _lesson(self, task: Task, start: Correction, turn: int) -> Lesson:
        steps = max(SHORTEST, round((self.window or task.horizon) * task.world.rate))
        windows = task.windows(steps / task.world.rate, max(8, self.samples // steps), turn)
        return Lesson.of(recorded_signals(windows), self._targets(task, windows, start), start)

    def _targets(self, task: Task, windows: Windows, start: Correction) -> OutputTargets:
        world, head, columns = task.world, start.contract.head, start.contract.columns
        if head == "state":
            return state_targets(world, windows, columns)
        if self._by_dynamics(task, head):
            return torque_targets(cast(EngineWorld, world), windows, columns, self.band)
        return gauss_newton_targets(world, windows, head, columns, self.span, self.ridge)

    def _by_dynamics(self, task: Task, head: str) -> bool:
        if self.target not in TARGETS:
            raise unknown("target of the inverse trainer", self.target, TARGETS)
        reason = why_not_dynamics(task.world) if head == "torque" else f"its head is {head!r}"
        if self.target == "dynamics" and reason:
            raise DataError(
                f"inverse dynamics cannot teach this correction: {reason}; use target "
                "'gauss-newton'"
            )
        return self.target != "gauss-newton" and not reason
