"""Tasks of a motion for tests, and states that are on its course."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.tracking.tracking_contract import tracking_contract
from gapless.tracking.tracking_rewards import ASAP
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds.world import State

N = 4
"""Environments of a task."""


def task_of(frames: MotionFrames, robot: Robot, **options: Any) -> TrackingTask:
    """Episodes of a fresh policy, at the first frame where nothing else is said."""
    count = options.pop("environments", N)
    contract = options.pop("contract", None)
    contract = contract or tracking_contract(frames, robot, "asap", "residual", 0.005)
    return TrackingTask(frames, robot, contract, ASAP, count, **{"where": "first", **options})


def begun(task: TrackingTask, count: int = N) -> State:
    """All episodes begin; where."""
    state = task.begin(np.arange(count)).state
    task.look(state, np.ones(count, bool))
    return state


def on_course(frames: MotionFrames, at: int, count: int = N) -> State:
    """Exactly where the reference is, without torque."""
    state = frames.state[[at] * count]
    return replace(state, torque=np.zeros_like(state.q))
