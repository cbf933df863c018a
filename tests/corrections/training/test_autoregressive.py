"""`autoregressive`: changes of state, learned over rollouts that grow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.corrections.linearised.one_step import state_targets
from gapless.corrections.linearised.tangent import difference
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.playing import play
from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.errors import DataError
from gapless.learning.checkpoint import Checkpoint
from gapless.progress import Progress

QUICK = {"steps": (1, 4), "samples": 1500, "iterations": 60, "rate": 5e-3}


@pytest.fixture
def start(task: Task) -> Correction:
    """A change of state that is nothing yet."""
    return untrained(contract_for(task.world, 50, model="mlp", head="state"), task)


def test_errors_after_several_steps_fall(task: Task, start: Correction) -> None:
    """Replays of a motion that it never saw are closer, over four steps and over a second."""
    found = trainer_of("autoregressive", QUICK).train(task, start, TrainingSession())
    assert task.error(found) < 0.5 * task.error(None)
    short = replace(task, horizon=4 / 50)
    assert short.error(found) < 0.7 * short.error(None)


def test_rollouts_double_up_to_the_horizon(task: Task) -> None:
    """K is 1, 2, 4, ... and last the horizon."""
    trainer = trainer_of("autoregressive")
    assert trainer._steps(replace(task, horizon=0.2)) == (1, 2, 4, 8, 10)  # type: ignore
    assert trainer._steps(replace(task, horizon=0.16)) == (1, 2, 4, 8)  # type: ignore


def test_single_steps_lack_what_one_step_targets_say(task: Task, start: Correction) -> None:
    """Put back at every step, the answer does not depend on what the correction gave."""
    from gapless.corrections.training.autoregressive import rolled_out

    windows = task.windows(0.4, 10)
    signals, found = rolled_out(task.world, windows, start, 1)
    expected = state_targets(task.world, windows, start.contract.columns)
    np.testing.assert_allclose(found.output, expected.output, atol=1e-9)
    np.testing.assert_allclose(signals["q"], recorded_signals(windows)["q"])


def test_longer_rollouts_lack_what_the_simulator_left(task: Task, start: Correction) -> None:
    """What should be added to the simulator's step, from where the corrected one stands."""
    from gapless.corrections.training.autoregressive import rolled_out

    bias = np.full_like(start.weights["mlp.2.bias"], 0.3)
    busy = start.with_weights(start.weights | {"mlp.2.bias": bias})
    windows = task.windows(0.4, 10)
    signals, found = rolled_out(task.world, windows, busy, 20)
    played = play(task.world, windows, busy)
    np.testing.assert_allclose(signals["q"], played.states.q[:, :-1])
    left = difference(windows.real, played.states[:, 1:]) + played.output
    np.testing.assert_allclose(found.output, left, atol=1e-9)


def test_a_stopped_training_goes_on_as_if_it_had_not(
    task: Task, start: Correction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, from within a round that plays what was learned before."""
    monkeypatch.setattr("gapless.corrections.training.regression.KEEP_SECONDS", -1.0)
    trainer = trainer_of("autoregressive", QUICK | {"iterations": 6, "samples": 500})
    whole = trainer.train(task, start, TrainingSession())

    def killed(now: Progress) -> None:
        if now.share > 0.7:
            raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "progress")
    with pytest.raises(KeyboardInterrupt):
        trainer.train(task, start, TrainingSession(kept, killed))
    assert trainer.train(task, start, TrainingSession(kept)).fingerprint() == whole.fingerprint()


def test_other_heads_are_refused(task: Task) -> None:
    """The message says what to type."""
    other = untrained(contract_for(task.world, 50, model="mlp"), task)
    with pytest.raises(DataError, match="--head state"):
        trainer_of("autoregressive").train(task, other, TrainingSession())
