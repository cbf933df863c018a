"""Signals: what a correction may look at, computed the same way in training and in use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gapless.corrections.runtime.array_ops import Array
from gapless.errors import DataError, unknown
from gapless.robots.rotations import conj, rotate

if TYPE_CHECKING:
    from gapless.recordings.conditions import Conditions
    from gapless.robots import Robot
    from gapless.worlds.world import State

PER_JOINT = ("q", "dq", "ddq", "target", "error", "start_error", "previous")
BASE = {"height": 1, "lin_vel": 3, "ang_vel": 3, "gravity": 3}
SIGNALS = (*PER_JOINT, *BASE, "payload")
"""q, dq, ddq: joints' motion (the acceleration is that of the step before, or the law would be
circular); target: the command; error: target - q; start_error: the error when the copy was reset;
previous: the correction's last output; height, lin_vel, ang_vel, gravity: of the base, in its
frame; payload: mass that is carried, kg."""

Signals = dict[str, Array]


def width(signal: str, joints: int, outputs: int) -> int:
    """Columns of a signal."""
    if signal not in SIGNALS:
        raise unknown("signal", signal, SIGNALS)
    if signal == "previous":
        return outputs
    return joints if signal in PER_JOINT else BASE.get(signal, 1)


def refuse_impossible(names: Iterable[str], robot: Robot) -> None:
    """Refuse signals that a robot does not have."""
    for name in names:
        if name not in SIGNALS:
            raise unknown("signal", name, SIGNALS)
        if name in BASE and robot.mount != "free":
            raise DataError(
                f"signal {name!r} is of a base that moves, but {robot.name!r} is mounted "
                f"{robot.mount!r}; leave it out of the inputs"
            )


def of_state(state: State) -> Signals:
    """The signals of a state alone; arrays (..., d)."""
    found = {"q": state.q, "dq": state.dq}
    if state.base_pos is None:
        return found
    back = conj(state.base_quat_wxyz)  # type: ignore[arg-type]
    return (
        found
        | {
            "height": state.base_pos[..., 2:3],
            "lin_vel": rotate(back, state.base_lin_vel_w),  # type: ignore[arg-type]
            "ang_vel": state.base_ang_vel_b,
            "gravity": rotate(back, np.broadcast_to([0.0, 0.0, -1.0], (*back.shape[:-1], 3))),
        }
    )


def payloads(conditions: Sequence[Conditions | None]) -> np.ndarray:
    """(n, 1) mass that each environment carries, kg; NaN where nobody said."""
    masses = [None if c is None else c.payload_mass for c in conditions]
    return np.array([[np.nan if m is None else m] for m in masses])


def moved(signals: Signals, by: Array) -> Signals:
    """Signals of states moved by (..., 2V) small differences, to first order."""
    joints = signals["q"].shape[-1]
    base = 6 if "height" in signals else 0
    half = base + joints
    changed = {
        "q": signals["q"] + by[..., base:half],
        "dq": signals["dq"] + by[..., half + base :],
    }
    if not base:
        return changed
    turn, velocity = by[..., 3:6], signals["velocity_change"]
    return changed | {
        "height": signals["height"] + by[..., 2:3],
        "lin_vel": signals["lin_vel"]
        + (velocity @ by[..., half : half + 3, None])[..., 0]
        + _cross(signals["lin_vel"], turn),
        "ang_vel": signals["ang_vel"] + by[..., half + 3 : half + 6],
        "gravity": signals["gravity"] + _cross(signals["gravity"], turn),
    }


def velocity_change(state: State) -> np.ndarray:
    """(..., 3, 3) how a world velocity shows in the frame of the base."""
    back = conj(state.base_quat_wxyz)  # type: ignore[arg-type]
    axes = np.broadcast_to(np.eye(3), (*back.shape[:-1], 3, 3))
    return np.swapaxes(rotate(back[..., None, :], axes), -1, -2)


def _cross(a: Array, b: Array) -> Array:
    if isinstance(a, np.ndarray):
        return np.cross(a, b)
    import torch

    return torch.linalg.cross(a.expand_as(b), b)
