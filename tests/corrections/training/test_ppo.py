"""PPO: its actor is the correction, it learns, it goes on where it was stopped, it refuses NaN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training import ppo as module
from gapless.corrections.training.ppo import Ppo
from gapless.corrections.training.ppo_policy import Actor
from gapless.corrections.training.replay_env import Replays
from gapless.corrections.training.rewards import Gaponet
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.errors import DataError, GaplessError
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.not_finite import NotFiniteError
from gapless.progress import Progress
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP, recorded

MODELS = {
    "mlp": {"sizes": (16,), "history": 1},
    "gru": {"units": 8, "sizes": (8,)},
    "operator": {"basis": 4, "probes": 2, "predictor": (8,), "branch": (16,), "trunk": (16,)},
}
TINY = {"environments": 8, "iterations": 2, "steps": 4, "epochs": 2, "minibatches": 2}


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


@pytest.fixture(scope="module")
def task() -> Task:
    """A nominal pair, and recordings of one whose gains are a third lower."""
    pair = Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])
    weak = pair.with_joints(kp=0.65 * pair.joints.kp)
    clips = recorded(weak, ["a", "b"], seconds=4.0, payloads={})
    return Task(MujocoWorld(pair, 50, physics_step=STEP), clips, clips, horizon=0.4)


def start(task: Task, model: str = "mlp", **choices: object) -> Correction:
    """A small network before training."""
    contract = contract_for(task.world, 50, model=model, settings=MODELS[model], **choices)
    return untrained(contract, task)


@pytest.mark.parametrize("model", MODELS)
def test_the_actor_is_the_correction(task, model):
    """Without noise the actor gives what the correction gives for the same recorded signals."""
    correction = replace(start(task, model), envelope=None)
    env = Replays(task, correction, Gaponet(), 5)
    env.begin(0)
    actor = Actor(correction, 5, 0.1)
    bound, memory = np.array(correction.contract.bound), correction.begun(env.episodes._signals())
    for _ in range(3):
        now = env.episodes._signals()
        with torch.no_grad():
            action = actor(env.get_observations())
        acted = correction.act(now, memory)
        assert np.allclose(bound * np.tanh(action.numpy()), acted.output, atol=1e-6)
        _, _, done, _ = env.step(action)
        actor.reset(done)
        memory = acted.memory
        if done.any():
            memory = memory.renewed(done.numpy(), correction.begun(env.episodes._signals()))


def trained(
    task: Task, before: Correction, checkpoint: Checkpoint, **settings: object
) -> Correction:
    """The weights at the end of a training, whether they are better or not."""
    told = []
    run = TrainingSession(checkpoint, lambda now: told.append(now.correction))
    Ppo(**{**TINY, **settings}).train(task, before, run)
    return [c for c in told if c is not None][-1]


@pytest.mark.parametrize("model", MODELS)
def test_what_learns_and_what_stays(task, model):
    """Frozen weights and the normalisation stay as they were; the rest moves."""
    before = start(task, model)
    found = trained(task, before, Checkpoint(None))
    frozen = before.contract.frozen
    for name, value in before.weights.items():
        same = np.array_equal(found.weights[name], value)
        stays = name.endswith((".mean", ".deviation")) or name.startswith(frozen or ("\0",))
        assert same == stays, name


def test_an_ensemble_is_one_network_many_times(task):
    """PPO trains one network; an ensemble that is asked for holds environments of it."""
    before = start(task, members=3)
    found = trained(task, before, Checkpoint(None))
    weight = found.weights["mlp.0.weight"]
    assert found.contract == before.contract and len(weight) == 3
    assert np.array_equal(weight[0], weight[2])


@pytest.mark.parametrize("model", ["mlp", "gru"])
def test_a_stopped_training_goes_on_as_if_it_had_not_been(task, model, tmp_path, monkeypatch):
    """The weights after a stop and a resume are, bit for bit, those of a run without."""
    monkeypatch.setattr(module, "ROUND", 2)
    before, settings = start(task, model), {**TINY, "iterations": 6}
    whole = trained(task, before, Checkpoint(None), **settings)
    kept = Checkpoint(tmp_path / "progress")

    def stop(now: Progress) -> None:
        if now.share > 0.8:
            raise StoppedError

    with pytest.raises(StoppedError):
        Ppo(**settings).train(task, before, TrainingSession(kept, stop))
    facts = kept.load()
    assert facts is not None and facts[1]["iteration"] == 4
    resumed = trained(task, before, kept, **settings)
    for name, value in whole.weights.items():
        assert np.array_equal(resumed.weights[name], value), name


def test_a_reward_that_is_no_number_is_refused(task, tmp_path, monkeypatch):
    """Training stops before it learns from NaN, and says where."""
    monkeypatch.setattr(Gaponet, "__call__", lambda self, now: np.full(len(now.lost), np.nan))
    with pytest.raises(NotFiniteError, match="iteration 0"):
        Ppo(**TINY).train(task, start(task), TrainingSession(Checkpoint(tmp_path / "progress")))


def test_bad_settings_are_refused(task):
    """Unknown names and impossible numbers say what was expected."""
    with pytest.raises(GaplessError, match="gaponet"):
        Ppo(**TINY, reward="gaponnet").train(task, start(task), TrainingSession())
    with pytest.raises(GaplessError, match="termination"):
        Ppo(**TINY, weights={"terminate": 1.0}).train(task, start(task), TrainingSession())
    with pytest.raises(DataError, match="minibatches"):
        Ppo(**{**TINY, "environments": 1}).train(task, start(task), TrainingSession())
    with pytest.raises(GaplessError, match="clips"):
        Ppo(**TINY, episodes="clip").train(task, start(task), TrainingSession())
    stated = start(task)
    stated = replace(stated, contract=replace(stated.contract, head="state"))
    with pytest.raises(DataError, match="autoregressive"):
        Ppo(**TINY).train(task, stated, TrainingSession())


def test_time_is_a_limit(task):
    """A training ends with its seconds, and still gives a correction."""
    told = []
    trainer = trainer_of("ppo", {**TINY, "iterations": 10**6, "seconds": 0.2})
    trainer.train(task, start(task), TrainingSession(watch=lambda now: told.append(now.share)))
    assert told[-1] >= 1


@pytest.mark.slow
@pytest.mark.parametrize(("model", "environments"), [("mlp", 64), ("gru", 32)])
def test_weak_gains_are_learned(task, model, environments):
    """Gains at 65 %: a short training takes off at least a third of the choosing error."""
    before = start(task, model)
    found = Ppo(environments=environments, iterations=40).train(task, before, TrainingSession())
    assert task.error(found) < 0.67 * task.error(None)
