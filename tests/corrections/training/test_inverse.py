"""`inverse` learns every head in seconds, goes on where it stopped, and refuses what it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.corrections.linearised.one_step import OutputTargets
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.errors import DataError, GaplessError
from gapless.learning.checkpoint import Checkpoint
from gapless.progress import Progress

QUICK = {"samples": 1500, "iterations": 60, "window": 0.5, "rounds": 1, "rate": 1e-2}


def start(task: Task, head: str = "action", model: str = "mlp") -> Correction:
    """A correction that gives nothing yet."""
    return untrained(contract_for(task.world, 50, model=model, head=head), task)


@pytest.mark.parametrize("head", ["action", "torque", "state"])
def test_every_head_learns_most_of_a_weak_gain(task: Task, head: str) -> None:
    """The replay error on a motion it never saw falls to less than half."""
    found = trainer_of("inverse", QUICK).train(task, start(task, head), TrainingSession())
    assert task.error(found) < 0.5 * task.error(None)


def test_one_joint_of_a_model_that_has_a_network_for_each(task: Task) -> None:
    """Only the joint that is asked for is corrected."""
    contract = contract_for(task.world, 50, model="actuator", joints=("elbow_flex",))
    found = trainer_of("inverse", QUICK).train(task, untrained(contract, task), TrainingSession())
    assert found.contract.outputs == ("elbow_flex",)
    assert task.error(found) < 0.9 * task.error(None)


def test_torques_by_gauss_newton(task: Task) -> None:
    """The way through the simulator, for worlds whose torques cannot be formed."""
    trainer = trainer_of("inverse", QUICK | {"target": "gauss-newton"})
    found = trainer.train(task, start(task, "torque"), TrainingSession())
    assert task.error(found) < 0.5 * task.error(None)


def test_a_recurrent_network_learns_sequences(task: Task) -> None:
    """A GRU lowers the error too."""
    trainer = trainer_of("inverse", QUICK | {"iterations": 30, "window": 0.3})
    found = trainer.train(task, start(task, model="gru"), TrainingSession())
    assert task.error(found) < 0.7 * task.error(None)


@pytest.mark.parametrize("stop", [0.2, 0.7])
def test_a_stopped_training_goes_on_as_if_it_had_not(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: float
) -> None:
    """Bit for bit, from within either round."""
    monkeypatch.setattr("gapless.corrections.training.regression.KEEP_SECONDS", -1.0)
    trainer = trainer_of("inverse", QUICK | {"iterations": 10, "rounds": 2, "samples": 500})
    whole = trainer.train(task, start(task, "torque"), TrainingSession())

    def killed(now: Progress) -> None:
        if now.share > stop:
            raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "progress")
    with pytest.raises(KeyboardInterrupt):
        trainer.train(task, start(task, "torque"), TrainingSession(kept, killed))
    again = trainer.train(task, start(task, "torque"), TrainingSession(kept))
    assert again.fingerprint() == whole.fingerprint()


def test_what_dynamics_cannot_teach(task: Task) -> None:
    """A target is no torque, and an unknown way is named with those known."""
    with pytest.raises(DataError, match="its head is 'action'"):
        trainer_of("inverse", {"target": "dynamics"}).train(task, start(task), TrainingSession())
    with pytest.raises(GaplessError, match="gauss-newton"):
        trainer_of("inverse", {"target": "gauss"}).train(task, start(task), TrainingSession())


def test_outputs_beyond_the_bound_are_cut_and_counted(task: Task) -> None:
    """A lesson never asks for more than the contract allows; the watcher is told."""
    from gapless.corrections.training.regression import Lesson

    correction, signals = start(task), recorded_signals(task.windows(0.2, 8))
    wanted = np.zeros((8, 10, 2))
    wanted[:4] = 1.0
    lesson = Lesson.of(signals, OutputTargets(wanted, np.ones_like(wanted)), correction)
    assert lesson.clipped == 0.5
    assert float(lesson.output.max()) == pytest.approx(correction.contract.bound[0])
