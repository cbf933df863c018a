"""A policy at work in worlds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import HiddenWorld, MujocoWorld, Policy, Robot
from gapless.errors import NameMismatchError, SimulationError
from gapless.evaluation import Scenario
from gapless.evaluation.policy_episodes import play, really
from gapless.worlds.mixed_world import MixedWorld
from pendulum import pendulum

SHORT = Scenario(episodes=3, seconds=1.0)


def test_a_policy_that_holds_its_stance_stands(still: Policy, world: MujocoWorld) -> None:
    """Every episode survives, and every array has its shape."""
    found = play(still, world, SHORT)
    assert found.survived.all()
    assert found.states.q.shape == (3, 51, 12)
    assert found.targets.shape == found.torque.shape == (3, 50, 12)
    assert np.allclose(found.targets, world.robot.joints.default, atol=1e-6)


def test_the_same_seed_gives_the_same_episodes(still: Policy, world: MujocoWorld) -> None:
    """Starts and pushes come from the scenario alone."""
    rough = replace(SHORT, push=0.5, push_every=0.5)
    first, again = play(still, world, rough), play(still, world.twin(), rough)
    other = play(still, world, replace(rough, seed=1))
    assert np.array_equal(first.states.q, again.states.q)
    assert not np.array_equal(first.states.q, other.states.q)


def test_a_fall_ends_an_episode_and_no_other(still: Policy, go2: Robot) -> None:
    """One of three falls when only it is pushed hard; picked up, it still counts as fallen."""

    class OnePushed(Scenario):
        def pushes(self, rate: float, steps: int) -> np.ndarray:
            found = np.zeros((self.episodes, steps, 3))
            found[1, 10] = [0.0, 9.0, 3.0]
            return found

    found = play(still, MujocoWorld(go2), OnePushed(episodes=3, seconds=2.0))
    assert found.survived.tolist() == [True, False, True]
    assert 10 < found.fell[1] < 100
    assert found.alive[1].sum() == found.fell[1]


def test_a_hidden_robot_is_scored_by_its_true_state(still: Policy, go2: Robot) -> None:
    """The policy sees noise, the scores do not."""
    hidden, open_book = HiddenWorld(go2, "hard", only=["encoder_noise"]), MujocoWorld(go2)
    off = {}
    for name, one in (("hidden", hidden), ("open", open_book)):
        found = play(still, one, SHORT)
        off[name] = (found.readings.q - found.states.q)[:, 1:].std()
    assert 5e-4 < off["hidden"] < 2e-3
    assert off["open"] < 1e-6


def test_gains_are_those_of_the_policy(still: Policy, world: MujocoWorld) -> None:
    """A policy trained with weak motors sags on a robot with strong ones."""
    contract = replace(still.contract, kp=tuple(0.3 * k for k in still.contract.kp))
    weak = Policy(contract, still.network, still.source)
    heights = [play(p, world, SHORT).states.base_pos[:, -1, 2].mean() for p in (still, weak)]
    assert heights[1] < heights[0] - 0.01


def test_a_payload_and_a_floor_are_felt(still: Policy, world: MujocoWorld) -> None:
    """A load on the trunk lowers it."""
    bare = play(still, world, SHORT).states.base_pos[:, -1, 2].mean()
    loaded = replace(SHORT, payloads={world.robot.root: 8.0})
    assert play(still, world, loaded).states.base_pos[:, -1, 2].mean() < bare - 0.005


def test_a_held_robot_is_refused(still: Policy) -> None:
    """A policy is evaluated on its feet."""
    held = MujocoWorld(Robot.load("go2", mount="fixed"))
    with pytest.raises(SimulationError, match="on its feet"):
        play(still, held, SHORT)


def test_joints_of_another_robot_are_named(still: Policy) -> None:
    """Not a wrong column: the names that are missing."""
    with pytest.raises(NameMismatchError, match="FL_hip_joint"):
        play(still, MujocoWorld(Robot.load("g1", mount="free")), SHORT)


def test_the_truth_of_mixed_worlds_is_that_of_each(tmp_path: Path) -> None:
    """Of hidden robots what no sensor says, in the rows that are theirs."""
    rod = pendulum(tmp_path)
    both = MixedWorld([HiddenWorld(rod, "hard", unit) for unit in (1, 2)])
    home = both.home(5)
    both.reset(home)
    seen = both.step(home.q + 0.3)
    true = really(both, seen)
    for k, world in enumerate(both.worlds):
        own = really(world, seen[k::2])
        np.testing.assert_array_equal(true.q[k::2], own.q)
    assert (np.abs(true.q - seen.q) > 1e-6).all()
    np.testing.assert_array_equal(true.torque, seen.torque)
    few = MixedWorld([MujocoWorld(rod) for _ in range(4)])
    few.reset(few.home(2))
    assert really(few, few.step(home.q[:2])).q.shape == (2, 1)
