"""The same targets in mjlab and in our own corrected world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gapless.closing import Run
from gapless.corrections import CorrectedWorld

DEVICE, ENVIRONMENTS = "cpu", 3
NUDGE = 1e-6
"""rad"""


def targets_env(module: Any, environments: int = ENVIRONMENTS, vary: bool = False) -> Any:
    """The environment whose actions are joint targets."""
    from mjlab.envs import ManagerBasedRlEnv

    tasks = module.calibrated_tasks
    cfg = tasks.targets_env_cfg(vary)
    cfg.scene.num_envs, cfg.seed = environments, 1
    return ManagerBasedRlEnv(cfg, DEVICE)


def wave(world: CorrectedWorld, steps: int, size: float) -> np.ndarray:
    """(n, T, J) targets, other ones in each environment."""
    joints, time = world.robot.joints, np.arange(steps)[:, None] / world.rate
    phase = np.arange(len(joints)) + np.arange(ENVIRONMENTS)[:, None, None]
    moved = np.sin(2 * np.pi * 0.8 * time + phase) - np.sin(phase)
    return joints.default + size * moved


def played_in_mjlab(env: Any, targets: np.ndarray) -> np.ndarray:
    """(n, T, J) joint positions as encoders show them, in mjlab's order of joints."""
    env.reset()
    robot = env.scene["robot"]
    pose = robot.data.default_joint_pos - robot.data.encoder_bias
    robot.write_joint_state_to_sim(pose, torch.zeros_like(pose))
    env.sim.forward()
    rows = []
    for t in range(targets.shape[1]):
        env.step(torch.tensor(targets[:, t], dtype=torch.float32, device=DEVICE))
        rows.append(robot.data.joint_pos_biased.cpu().numpy().copy())
    return np.stack(rows, axis=1)


def differences(module: Any, run: Run, steps: int, size: float) -> tuple[float, float]:
    """Largest difference of any joint at any step from our world, rad; the second is that of our
    own world when it starts NUDGE away, which says how much such a motion tells at all."""
    world = run.world()
    targets = wave(world, steps, size)
    env = targets_env(module)
    order = [world.robot.joints.index(j) for j in env.scene["robot"].joint_names]
    theirs = played_in_mjlab(env, targets[..., order])
    env.close()
    start = world.home(ENVIRONMENTS)
    ours, nudged = (
        world.rollout(replace(start, q=start.q + by), targets).q[:, 1:] for by in (0.0, NUDGE)
    )
    return tuple(float(np.abs(q - ours[..., order]).max()) for q in (theirs, nudged[..., order]))
