"""The loop of PPO: it learns, keeps the best, goes on where it was stopped, refuses NaN."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from double_integrator import DoubleIntegrator, Reach
from gapless.errors import DataError
from gapless.learning import ppo_progress
from gapless.learning.adam_state import Arrays
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.not_finite import MOST_NOISE, NotFiniteError, refuse_not_finite
from gapless.learning.ppo_loop import PpoLoop
from gapless.learning.ppo_progress import arrays_of
from gapless.learning.ppo_settings import PpoSettings
from gapless.learning.threads import torch_threads
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.progress import Progress

COUNT = 64
SETTINGS = PpoSettings(steps=16, critic=(32,), gamma=0.9, epochs=4, rate=3e-3)


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of small networks wait for each other on a busy machine."""
    with torch_threads(1):
        yield


def loop(iterations: int = 6, **options: object) -> PpoLoop:
    """Of masses that are to reach goals."""
    env = WorldVecEnv(DoubleIntegrator(), Reach(COUNT), COUNT)
    actor = SETTINGS.actor_of(env, ["policy"], (32,), noise=0.5, seed=0)
    critic = SETTINGS.critic_of(env, ["policy", "privileged"], seed=0)
    algorithm = SETTINGS.algorithm(env, actor, critic)
    return PpoLoop(env, algorithm, iterations, **{"round_length": 2, **options})


def rewards(found: PpoLoop, **options: object) -> list[float]:
    """The mean reward of each iteration."""
    told: list[Progress] = []
    found.run(watch=told.append, **options)
    return [now.figures["reward"] for now in told if "reward" in now.figures]


def test_it_learns() -> None:
    """Some iterations take off most of the cost of doing nothing."""
    found = rewards(loop(24, round_length=8))
    assert len(found) == 24
    assert np.mean(found[-4:]) > 0.5 * np.mean(found[:2])  # rewards are negative


def test_events_say_how_far_it_is() -> None:
    """Iterations of all, the time that is left, and what the environments log."""
    told: list[Progress] = []
    loop(4, judge=lambda arrays: 1.0).run(watch=told.append)
    steps = [now for now in told if "choose" not in now.figures]
    assert [(now.done, now.total) for now in steps] == [(k, 4) for k in (1, 2, 3, 4)]
    assert steps[-1].seconds_left == 0 and steps[0].seconds_left > 0
    assert "distance" in steps[0].figures
    assert told[-1].figures == {"choose": 1.0}


@pytest.mark.parametrize("judged", [True, False])
def test_resumed_is_as_uninterrupted(judged: bool, tmp_path: Path, monkeypatch) -> None:
    """Weights, normalisation and Adam, bit for bit."""
    monkeypatch.setattr(ppo_progress, "KEEP_SECONDS", -1.0)
    judge = (lambda arrays: float(np.abs(arrays["mlp.0.weight"]).mean())) if judged else None
    through = loop(judge=judge)
    best = through.run()
    kept = Checkpoint(tmp_path / "progress")

    def stop(now: Progress) -> None:
        if now.share > 0.8:
            raise StoppedError

    with pytest.raises(StoppedError):
        loop(judge=judge).run(kept, stop)
    facts = kept.load()
    assert facts is not None and facts[1]["iteration"] == 4
    resumed = loop(judge=judge)
    again = resumed.run(kept)
    assert_same(again, best)
    for name in ("actor", "critic"):
        mine, theirs = (getattr(x.algorithm, name).state_dict() for x in (resumed, through))
        assert all(torch.equal(mine[k], v) for k, v in theirs.items())


def assert_same(one: Arrays, other: Arrays) -> None:
    """To the bit."""
    assert one.keys() == other.keys()
    for name, values in other.items():
        np.testing.assert_array_equal(one[name], values)


def test_the_best_is_kept() -> None:
    """Not the last, where that is worse; and the start where nothing is better."""
    errors = iter([3.0, 2.0, 1.0, 4.0])  # of the start, and after each round
    seen: list[Arrays] = []

    def judge(arrays: Arrays) -> float:
        seen.append(arrays)
        return next(errors)

    assert_same(loop(6, judge=judge).run(), seen[2])
    begun = loop(2, judge=lambda arrays: 1.0)
    start = begun.progress.snapshot()
    assert_same(begun.run(), start)


def test_time_is_a_limit() -> None:
    """The share that is done goes by whichever ends it first."""
    told: list[Progress] = []
    loop(10**6, seconds=0.3).run(watch=told.append)
    assert told[-1].share == 1 and told[-1].done == told[-1].total < 10**5


def test_what_is_no_number_is_refused(tmp_path: Path, monkeypatch) -> None:
    """Before it is learned from; what was kept stays."""
    monkeypatch.setattr(Reach, "reward", lambda self, state, lost: np.full(COUNT, np.nan))
    kept = Checkpoint(tmp_path / "progress")
    with pytest.raises(NotFiniteError, match=r"reward.*iteration 0"):
        loop().run(kept)
    assert kept.load() is None


def test_a_critic_that_is_lost_does_not_replace_what_was_kept(tmp_path: Path, monkeypatch) -> None:
    """Its losses may still be numbers in the iteration that ruins it."""
    monkeypatch.setattr(ppo_progress, "KEEP_SECONDS", -1.0)
    ruined, kept = loop(), Checkpoint(tmp_path / "progress")
    learn = ruined.algorithm.update

    def update() -> dict[str, float]:
        losses = learn()
        if ruined.progress.iteration == 4:
            with torch.no_grad():
                next(ruined.algorithm.critic.parameters()).fill_(torch.nan)
        return losses

    monkeypatch.setattr(ruined.algorithm, "update", update)
    with pytest.raises(NotFiniteError, match=r"mlp.*iteration 4.*What was kept before it stays"):
        ruined.run(kept)
    found = kept.load()
    assert found is not None and found[1]["iteration"] == 4
    assert all(np.isfinite(array).all() for array in found[0].values())


def test_a_noise_that_explodes_is_refused() -> None:
    """The training has run away, though every figure is still a number."""
    model = torch.nn.Linear(1, 1)
    refuse_not_finite({"reward": 1.0, "noise": MOST_NOISE}, [model], 3)
    with pytest.raises(NotFiniteError, match=r"noise 20\.5 \(more than 20\).*iteration 3"):
        refuse_not_finite({"reward": 1.0, "noise": 20.5}, [model], 3)
    with torch.no_grad():
        model.bias[0] = torch.inf
    with pytest.raises(NotFiniteError, match="bias is not finite"):
        refuse_not_finite({"reward": 1.0}, [torch.nn.Linear(1, 1), model], 3)


def test_only_the_critic_warms_up() -> None:
    """An actor that is good already stays as it is until the critic knows what it is worth."""
    warm = loop(4, warm_up=2)
    begun = {name: arrays_of(getattr(warm.algorithm, name)) for name in ("actor", "critic")}
    rate, seen = warm.algorithm.learning_rate, []

    def look(now: Progress) -> None:
        actor, critic = (arrays_of(getattr(warm.algorithm, n)) for n in ("actor", "critic"))
        moved = [
            k for k in actor if "normalizer" not in k and (actor[k] != begun["actor"][k]).any()
        ]
        assert (critic["mlp.0.weight"] != begun["critic"]["mlp.0.weight"]).any()
        if now.done <= 2:
            assert warm.algorithm.learning_rate == rate  # it is steered by what the actor does
        seen.append(bool(moved))

    warm.run(watch=look)
    assert seen == [False, False, True, True]


class Counted:
    """Something that a task keeps beyond a round."""

    def __init__(self) -> None:
        self.rounds, self.restored = 0.0, 0

    def arrays(self) -> Arrays:
        """Counts how often it was kept."""
        self.rounds += 1
        return {"rounds": np.array([self.rounds])}

    def restore(self, arrays: Arrays) -> None:
        """Goes on from there."""
        self.rounds, self.restored = float(arrays["rounds"][0]), self.restored + 1


def test_what_a_task_remembers_is_kept_and_restored(tmp_path: Path, monkeypatch) -> None:
    """Under its own name in the checkpoint; once, when the training goes on."""
    monkeypatch.setattr(ppo_progress, "KEEP_SECONDS", -1.0)
    first, kept = Counted(), Checkpoint(tmp_path / "progress")

    def stop(now: Progress) -> None:
        if now.done == 5:
            raise StoppedError

    with pytest.raises(StoppedError):
        loop(memory=first).run(kept, stop)
    found = kept.load()
    assert found is not None and found[0]["memory/rounds"].tolist() == [2.0]
    again = Counted()
    loop(memory=again).run(kept)
    assert (again.restored, again.rounds, first.restored) == (1, 3.0, 0)


def test_numbers_that_cannot_be_are_refused() -> None:
    """The message lists them."""
    with pytest.raises(DataError, match=r"environments=2.*minibatches=4"):
        PpoSettings().refuse_few(2)
    with pytest.raises(DataError, match="environments=8, iterations=0"):
        PpoSettings(iterations=0).refuse_few(8, "environments")


def test_threads_are_as_before_afterwards() -> None:
    """After an error, too."""
    before = torch.get_num_threads()
    with pytest.raises(StoppedError), torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
        raise StoppedError
    assert torch.get_num_threads() == before
