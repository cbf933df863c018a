"""The exported package in mjlab itself: it moves as our world does, trains, and comes back."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from mjlab_rollouts import DEVICE, differences, targets_env

from gapless import export
from gapless.cli.main import main
from gapless.closing import Run
from gapless.policies import Policy

HELD, STANDING = 1e-5, 1e-2
"""Largest difference of a joint from our own world, rad, within a step and within a second. mjlab
computes in single precision; on a floor, whose contacts begin and end, that grows: so does a
difference of 1e-6 rad in our own world, which is told beside it."""
FIRST_STEP = {"biped": 1e-5, "g1": 5e-3}
"""Within a step; the G1 lands on its feet in it."""


def difference(module: Any, run: Run, steps: int, size: float, capsys: Any) -> float:
    """The same, told."""
    found, nudged = differences(module, run, steps, size)
    with capsys.disabled():
        print(
            f"\n{run.robot.name} ({run.robot.mount}), {steps} control steps: mjlab differs by "
            f"{found:.1e} rad, our own world nudged by 1e-6 rad by {nudged:.1e} rad"
        )
    return found


@pytest.mark.parametrize("steps", [1, 50])
def test_an_arm_moves_as_in_our_world(arm: Any, arm_run: Run, steps: int, capsys: Any) -> None:
    """Gains, friction, delay, encoder zeros and a network for each joint."""
    assert difference(arm, arm_run, steps, 0.15, capsys) < HELD


@pytest.mark.parametrize("steps,most", [(1, FIRST_STEP["biped"]), (50, STANDING)])
def test_a_biped_on_its_feet_moves_as_in_our_world(
    biped: Any, biped_run: Run, steps: int, most: float, capsys: Any
) -> None:
    """Contacts, mass, floor, delay and a network that sees the base."""
    assert difference(biped, biped_run, steps, 0.03, capsys) < most


@pytest.mark.parametrize("steps,most", [(1, FIRST_STEP["g1"]), (50, STANDING)])
def test_a_humanoid_moves_as_in_our_world(
    g1: Any, g1_run: Run, steps: int, most: float, capsys: Any
) -> None:
    """All 29 joints of a G1 on its feet."""
    assert difference(g1, g1_run, steps, 0.03, capsys) < most


def test_a_learned_torque_is_applied(
    pushed_run: Run, tmp_path_factory: pytest.TempPathFactory, capsys: Any
) -> None:
    """A recurrent network that gives torques."""
    from conftest import imported

    folder = tmp_path_factory.mktemp("mjlab") / "planted_push"
    export(pushed_run, "mjlab", folder)
    assert difference(imported(folder), pushed_run, 50, 0.15, capsys) < HELD


def test_environments_differ_within_intervals(biped: Any, biped_run: Run) -> None:
    """Gains, damping, masses and floor are drawn once, delays at every reset."""
    env = targets_env(biped, environments=64, vary=True)
    env.reset()
    calibration = biped_run.calibration
    assert calibration is not None
    gains, joints = env.sim.model.actuator_gainprm[:, :, 0], env.scene["robot"].joint_names
    delays = env.action_manager.get_term("joint_pos").delay
    for column, joint in enumerate(joints):
        for drawn, name in ((gains, "kp"), (delays, "delay")):
            low, high = calibration[f"{name}/{joint}"].interval
            values = drawn[:, column]
            assert values.std() > 0.1 * (high - low)
            assert values.min() >= low - 1e-5 * abs(low) and values.max() <= high * (1 + 1e-5)
    trunk = env.scene["robot"].indexing.body_ids[env.scene["robot"].body_names.index("trunk")]
    low, high = calibration["mass/trunk"].interval
    masses = env.sim.model.body_mass[:, trunk]
    assert masses.std() > 0.1 * (high - low)
    assert masses.min() >= 0.999 * low and masses.max() <= 1.001 * high
    env.close()


def test_ppo_trains_and_its_policy_comes_back(biped: Any, tmp_path: Path) -> None:
    """Two iterations on the tracking task; mjlab's ONNX is a policy of ours."""
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.rl import RslRlVecEnvWrapper
    from mjlab.tasks.registry import list_tasks, load_env_cfg, load_rl_cfg, load_runner_cls

    task = "Gapless-Planted-Biped-Tracking"
    assert task in list_tasks() and "Gapless-Planted-Biped-Targets" in list_tasks()
    cfg, told = load_env_cfg(task), load_rl_cfg(task)
    cfg.scene.num_envs, cfg.seed = 4, 1
    told.num_steps_per_env, told.logger, told.upload_model = 8, "tensorboard", False
    env = RslRlVecEnvWrapper(ManagerBasedRlEnv(cfg, DEVICE))
    kind = load_runner_cls(task)
    assert kind is not None
    runner = kind(env, asdict(told), str(tmp_path), DEVICE)
    runner.learn(num_learning_iterations=2)
    runner.save(str(tmp_path / "model_2.pt"))
    file = tmp_path / f"{tmp_path.name}.onnx"
    assert main(["policy", "show", str(file)]) == 0
    assert set(Policy.load(file).contract.joints) == set(env.unwrapped.scene["robot"].joint_names)
    assert torch.isfinite(env.get_observations()["actor"]).all()
    env.close()


def test_what_mjlab_cannot_hold_is_said(arm_run: Run, tmp_path: Path) -> None:
    """In the command's figures and in the README."""
    from planted_run import planted_run

    run = planted_run(tmp_path / "run", arm_run.robot, {"backlash": 0.01}, model=None)
    told = ["--out", str(tmp_path / "p"), "--json", str(tmp_path / "told.json")]
    assert main(["export", str(run.path), "--to", "mjlab", *told]) == 0
    left_out = json.loads((tmp_path / "told.json").read_text())["left_out"]
    assert any(line.startswith("backlash") for line in left_out)
    assert "backlash" in (tmp_path / "p" / "README.md").read_text()
