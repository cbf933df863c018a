"""`autoregressive`: ASAP's DeltaDynamics baseline, a change of state learned over growing rollouts.

The corrected state is written back and the simulator goes on from there, K steps at a time; K
doubles from round to round. At each step the network is to give what the simulator's next state
lacks to be the recorded one: x_r[t+1] - f(x[t], a[t]). The simulator itself is not differentiated.
Where rollouts are long, most of that is drift that no network can see: longer K often serves worse,
and the choosing motions keep the K that served best.

The paper's network is `model="mlp", model_settings={"sizes": (256, 256), "history": 0}`, with ReLU;
ours has ELU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.linearised.one_step import BAND, OutputTargets, smoothed
from gapless.corrections.linearised.tangent import difference, joint_columns, moved
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.regression import Lesson, Regression, in_rounds
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession
from gapless.errors import DataError
from gapless.measurement.windows import Windows
from gapless.worlds.world import State, World


@dataclass(frozen=True)
class Autoregressive:
    """Settings of the trainer.

    Attributes:
        steps: K of each round; doubling from 1 to the horizon where none are given.
        samples: control steps of a round.
        iterations: steps of Adam in each round.
        batch: sequences of an iteration.
        rate: step size of Adam, falling to nothing in a round.
        band: Hz up to which recorded positions pass.
    """

    steps: tuple[int, ...] = ()
    samples: int = 12000
    iterations: int = 200
    batch: int = 32
    rate: float = 1e-3
    band: float = BAND

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """Rounds of playing and regression; the best by the choosing motions is kept."""
        if start.contract.head != "state":
            raise DataError(
                f"the autoregressive trainer learns changes of state, not head "
                f"{start.contract.head!r}; use --head state, or the inverse trainer"
            )
        smooth, schedule = replace(task, learn=smoothed(task.learn, self.band)), self._steps(task)
        rounds = [Regression(self.iterations, self.batch, self.rate)] * len(schedule)
        return in_rounds(
            task, start, run, rounds, lambda now, i: self._lesson(smooth, now, i, schedule[i])
        )

    def _steps(self, task: Task) -> tuple[int, ...]:
        if self.steps:
            return tuple(self.steps)
        longest = max(1, round(task.horizon * task.world.rate))
        return (*(2**i for i in range(longest.bit_length()) if 2**i < longest), longest)

    def _lesson(self, task: Task, correction: Correction, turn: int, steps: int) -> Lesson:
        length = max(2, round(task.horizon * task.world.rate))
        windows = task.windows(task.horizon, max(8, self.samples // length), turn)
        return Lesson.of(*rolled_out(task.world, windows, correction, steps), correction)


def rolled_out(
    world: World, windows: Windows, correction: Correction, steps: int
) -> tuple[looked_at.Signals, OutputTargets]:
    """Play windows with a correction, put back onto the recording every so many steps.

    Returns:
        (n, T, d) signals that the correction saw, and what it should have given then.
    """
    corrected = CorrectedWorld(world, None, [correction])
    corrected.reset(windows.start, conditions=windows.conditions, history=windows.history)
    recorded, state = windows.states, windows.start
    seen, lacking = [], []
    for t in range(windows.steps):
        if t and t % steps == 0:
            state = _placed(corrected, recorded[:, t], state)
        seen.append(looked_at.of_state(state))
        state = corrected.step(windows.held[:, t])
        lost = corrected.health.diverged[:, None]
        miss = _lacking(correction, corrected.last_output(0), state, recorded[:, t + 1])
        lacking.append(np.where(lost, np.nan, miss))
    now = {k: np.stack([s[k] for s in seen], axis=1) for k in seen[0]}
    beside = {
        "target": windows.held,
        "payload": looked_at.payloads(windows.conditions)[:, None],
    }
    return now | beside, _targets(windows, correction, np.stack(lacking, axis=1))


def _placed(corrected: CorrectedWorld, recorded: State, now: State) -> State:
    """Environments put onto the recording, but those that diverged."""
    lost = corrected.health.diverged
    state = recorded.with_rows(lost, now[lost])
    corrected.place(state)
    return state


def _lacking(
    correction: Correction, given: np.ndarray, state: State, recorded: State
) -> np.ndarray:
    """(n, 2V) the recorded state less the simulator's, before the output was added to it."""
    change = np.zeros((len(given), len(correction.contract.every_output)))
    change[:, correction.contract.columns] = given
    return difference(recorded, moved(state, -change))


def _targets(windows: Windows, correction: Correction, lacking: np.ndarray) -> OutputTargets:
    weight = np.isfinite(lacking).astype(float)
    for part in joint_columns(windows.real):
        weight[..., part] *= windows.weight
    found = OutputTargets(np.where(weight > 0, lacking, 0.0), weight)
    columns = correction.contract.columns
    return OutputTargets(found.output[..., columns], found.weight[..., columns])
