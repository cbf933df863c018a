"""Any World as environments of rsl_rl: whose episode ends, how, and what is seen afterwards."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import torch

from double_integrator import FAR, DoubleIntegrator, Reach
from gapless.learning.episode_task import Command
from gapless.learning.world_vec_env import WorldVecEnv

COUNT = 4


def environments(**choices: int) -> WorldVecEnv:
    """Episodes of equal age."""
    env = WorldVecEnv(DoubleIntegrator(), Reach(COUNT, **choices), COUNT)
    env.begin(0)
    env.episode_length_buf = torch.zeros(COUNT, dtype=torch.long)
    return env


def still(env: WorldVecEnv) -> torch.Tensor:
    """Actions that stay where the episodes begin."""
    return torch.zeros(COUNT, env.num_actions)


def test_only_rows_that_are_done_are_reset() -> None:
    """One leaves the edge; the others' states, goals and ages go on."""
    env = environments()
    away = torch.tensor([[0.0], [60.0], [0.0], [0.1]])
    _, _, done, _ = env.step(away)
    assert done.tolist() == [False, True, False, False]
    assert env.world.resets == [None, [1]]
    q = env._state.q[:, 0]
    assert q[1] == 0 and q[3] > 0
    assert env.episode_length_buf.tolist() == [1, 0, 1, 1]
    assert env.episodes.fresh.tolist() == done.tolist()
    assert np.isnan(env._state.torque[1]) and np.isfinite(env._state.torque[[0, 2, 3]]).all()


def test_observations_after_a_reset_are_of_the_new_episode() -> None:
    """The new goal and the start, not where the old episode ended."""
    env = environments()
    before = env.episodes.goal.copy()
    obs, _, done, _ = env.step(torch.tensor([[0.0], [60.0], [0.0], [0.0]]))
    assert done[1] and env.episodes.goal[1] != before[1]
    assert obs["policy"][1].tolist() == pytest.approx([0, 0, float(env.episodes.goal[1, 0])])
    assert (env.episodes.goal[[0, 2, 3]] == before[[0, 2, 3]]).all()
    assert obs is env.get_observations()
    assert obs["policy"].dtype == torch.float32 and obs.batch_size == torch.Size([COUNT])


def test_time_is_a_time_out_and_a_fall_is_not() -> None:
    """Only the first may be worth what comes after it."""
    env = environments(length=3)
    for _ in range(2):
        _, _, done, extras = env.step(still(env))
        assert not done.any() and not extras["time_outs"].any()
    _, _, done, extras = env.step(torch.tensor([[0.0], [90.0], [0.0], [0.0]]))
    assert done.all()
    assert extras["time_outs"].tolist() == [True, False, True, True]
    assert env.episode_length_buf.tolist() == [0] * COUNT


def test_a_diverged_copy_is_terminated() -> None:
    """Whatever its task says; its reward is finite and its next observation is of a start."""
    env = environments()
    env.episodes.edge = np.inf
    obs, reward, done, extras = env.step(torch.tensor([[0.0], [30 * FAR], [0.0], [0.0]]))
    assert done.tolist() == [False, True, False, False] and not extras["time_outs"].any()
    assert reward[1] == -10 and torch.isfinite(obs["policy"]).all()


def test_a_task_that_expires_is_a_time_out() -> None:
    """A motion that is over has nowhere to go on."""
    env = environments(course=2)
    assert not env.step(still(env))[2].any()
    _, _, done, extras = env.step(still(env))
    assert done.all() and extras["time_outs"].all()


def test_ages_that_are_set_from_outside_shorten_episodes() -> None:
    """As rsl_rl's runner does at the start."""
    env = environments(length=5)
    env.episode_length_buf = torch.tensor([4, 3, 0, 2])
    ended = []
    for _ in range(5):
        _, _, done, extras = env.step(still(env))
        assert torch.equal(done, extras["time_outs"])
        ended.append(torch.nonzero(done)[:, 0].tolist())
    assert ended == [[0], [1], [3], [], [2]]
    assert env.episode_length_buf.tolist() == [4, 3, 0, 2]


def test_begin_spreads_ages_and_depends_on_its_draw_alone() -> None:
    """After other steps, too."""
    env = WorldVecEnv(DoubleIntegrator(), Reach(64), 64)
    first = env.begin(3)["policy"].clone()
    ages = env.episode_length_buf.clone()
    assert len(set(ages.tolist())) > 10 and ages.dtype == torch.long
    assert int(ages.min()) >= 0 and int(ages.max()) < env.max_episode_length
    for _ in range(7):
        env.step(torch.ones(64, 1))
    assert torch.equal(env.begin(3)["policy"], first)
    assert torch.equal(env.episode_length_buf, ages)
    assert not torch.equal(env.begin(4)["policy"], first)


def test_an_action_is_held() -> None:
    """With a decimation of three, three control steps, whose rewards add up."""
    slow, fast = environments(decimation=3), environments()
    action = torch.full((COUNT, 1), 0.4)
    _, total, _, _ = slow.step(action)
    parts = [fast.step(action)[1] for _ in range(3)]
    torch.testing.assert_close(total, sum(parts))
    np.testing.assert_array_equal(slow._state.q, fast._state.q)
    assert slow.episode_length_buf.tolist() == [1] * COUNT
    assert fast.episode_length_buf.tolist() == [3] * COUNT


def test_what_a_task_logs_is_in_the_extras() -> None:
    """Under rsl_rl's name."""
    env = environments()
    assert env.step(still(env))[3]["log"]["distance"] > 0


class Pushed(Reach):
    """Some are pushed at every other step."""

    def command(self, actions: np.ndarray, first: bool) -> Command:
        """A push of the last environment, once its episode is two steps old."""
        push = np.zeros((COUNT, 3))
        push[-1, 0] = 0.5 * (self.age[-1] % 2)
        return Command(actions, push=push)


def test_pushes_come_before_the_step() -> None:
    """Only where there are any; a world that cannot be pushed is not asked otherwise."""

    class Pushable(DoubleIntegrator):
        told: ClassVar[list[np.ndarray]] = []

        def push(self, velocity: np.ndarray) -> None:
            self.told.append(velocity)
            self._dq = self._dq + velocity[:, :1]

    env = WorldVecEnv(Pushable(), Pushed(COUNT), COUNT)
    for _ in range(4):
        env.step(still(env))
    assert len(Pushable.told) == 2
    np.testing.assert_array_equal(Pushable.told[0][:, 0], [0, 0, 0, 0.5])
    q = env._state.q[:, 0]
    assert q[-1] > 0 and not q[:-1].any()
    plain = WorldVecEnv(DoubleIntegrator(), Reach(COUNT), COUNT)  # it has no push() at all
    plain.step(still(plain))


def test_the_runner_of_rsl_rl_takes_it() -> None:
    """With ages at random, in its inference mode, and out of it again."""
    from rsl_rl.runners import OnPolicyRunner

    env = WorldVecEnv(DoubleIntegrator(), Reach(8, length=6), 8)
    network = {"class_name": "MLPModel", "hidden_dims": [8]}
    noisy = {"distribution_cfg": {"class_name": "GaussianDistribution"}}
    settings = {
        "num_steps_per_env": 8,
        "save_interval": 100,
        "obs_groups": {"actor": ["policy"], "critic": ["policy", "privileged"]},
        "algorithm": {"class_name": "PPO"},
        "actor": {**network, **noisy},
        "critic": dict(network),
    }
    OnPolicyRunner(env, settings).learn(2, init_at_random_ep_len=True)
    assert env.step(torch.zeros(8, 1))[2].shape == (8,)
