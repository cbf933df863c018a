"""States and commands as rows of numbers, the same on both ends of a wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gapless.deployment.robot_link import CHANNELS, JointCommand, LinkState

COMMANDED = ("q", "dq", "kp", "kd", "tau")
SIZES = {
    "base_quat_wxyz": 4,
    "base_ang_vel_b": 3,
    "base_pos": 3,
    "base_lin_vel_w": 3,
    "acceleration": 3,
    "voltage": 1,
}
"""Numbers of channels that are not one a joint; feet are told apart by their number."""


def state_sizes(joints: int, feet: int, channels: Sequence[str]) -> dict[str, int]:
    """Field of a state -> how many numbers, in order."""
    sizes = {"q": joints, "dq": joints}
    for name in (c for c in CHANNELS if c in channels):
        sizes[name] = feet if name == "contact" else SIZES.get(name, joints)
    return sizes


def state_row(state: LinkState, sizes: dict[str, int]) -> np.ndarray:
    """Sequence, stamp, and all fields; what is not there is NaN."""
    parts = [np.array([state.sequence, state.stamp])]
    for name, size in sizes.items():
        value = getattr(state, name)
        parts.append(np.full(size, np.nan) if value is None else np.atleast_1d(value))
    return np.concatenate(parts)


def state_of_row(row: np.ndarray, sizes: dict[str, int], received: float) -> LinkState:
    """Inverse of `state_row`."""
    found: dict[str, Any] = {}
    start = 2
    for name, size in sizes.items():
        part = np.array(row[start : start + size])
        found[name] = float(part[0]) if name == "voltage" else part
        start += size
    return LinkState(int(row[0]), float(row[1]), received, **found)


def command_row(command: JointCommand) -> np.ndarray:
    """All fields, one after the other."""
    return np.concatenate([getattr(command, name) for name in COMMANDED])


def command_of_row(row: np.ndarray) -> JointCommand:
    """Inverse of `command_row`."""
    return JointCommand(*np.array(row, float).reshape(len(COMMANDED), -1))
