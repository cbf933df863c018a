"""Public policies of other people, from their contracts alone, in both engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asap_contract import TRACKERS, asap_contract
from gapless import MujocoWorld, Policy, Robot, Scenario
from gapless.evaluation.evaluating import scored
from gapless.evaluation.policy_episodes import play
from gapless.motions.references import read_motions
from gapless.worlds.world import World

WALKERS = ("unitree_rl_mjlab_g1_velocity", "unitree_rl_lab_g1_velocity")
ENGINES = ("mujoco", "physx")


def world_of(engine: str, robot: Robot) -> World:
    """The nominal robot on its feet."""
    if engine == "mujoco":
        return MujocoWorld(robot)
    pytest.importorskip("sapien")
    from gapless import PhysxWorld

    return PhysxWorld(robot)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WALKERS)
def test_public_walkers_walk(name: str, engine: str, shared_data: Path) -> None:
    """20 s at 0 and at 0.5 m/s without a fall; the latter at more than 0.4 m/s."""
    policy = Policy.load(shared_data / "policies" / name)
    asked = Scenario(episodes=4, seconds=20.0, commands=((0, 0, 0), (0.5, 0, 0)))
    world = world_of(engine, Robot.load("g1", mount="free"))
    found = scored("raw", world, play(policy, world, asked))
    assert found.survival == 1
    speed = np.array(found.scores["vx"], float)
    assert np.abs(speed[::2]).max() < 0.05
    assert (np.abs(speed[1::2] - 0.45) < 0.06).all()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TRACKERS)
def test_public_trackers_play_their_motion(
    name: str, engine: str, shared_data: Path, tmp_path: Path
) -> None:
    """To its end, standing, within 0.16 m of its bodies."""
    robot = Robot.load("g1_23dof", mount="free")
    folders = (shared_data / "motions" / f for f in ("asap_g1_23dof", "asap_g1_more"))
    file = next(f for folder in folders if (f := folder / f"{name}_filter.pkl").is_file())
    motion = read_motions(file, robot)[0]
    network = shared_data / "policies" / "asap_g1_23dof" / f"{name}.onnx"
    contract = asap_contract(tmp_path / f"{name}.toml", network, motion.seconds)
    world = world_of(engine, robot)
    episodes = play(Policy.load(contract), world, Scenario(episodes=4))
    found = scored("raw", world, episodes, motion)
    assert found.survival == 1
    assert found.mean("success") == 1
    assert found.mean("e_g_mpjpe") < 160
    assert found.mean("e_mpjpe") < 85
