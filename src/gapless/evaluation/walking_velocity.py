"""How fast a recorded robot walked under each command that it was given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.evaluation.episode_recordings import in_numbers
from gapless.evaluation.episode_scores import SETTLE, SMOOTH
from gapless.measurement.alignment import in_robot_order
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import rotate

UNSTEADY = SETTLE + SMOOTH
"""Seconds at the start, and after each new command, that are not counted."""
LEAST = 1.0
"""A command that was followed for a shorter time afterwards says nothing, s."""


@dataclass(frozen=True)
class Walked:
    """What a robot made of one command.

    Attributes:
        command: what was asked for.
        velocity: vx and vy in its heading, m/s, and its turning, rad/s: means over the steady part.
        seconds: length of that part.
        base: whether the base was "logged" or "estimated".
    """

    command: tuple[float, ...]
    velocity: tuple[float, float, float]
    seconds: float
    base: str


def walked(recording: Recording, robot: Robot) -> dict[int, Walked]:
    """Which of its commands -> how it was followed; those without a steady part are left out.

    Turning is taken from the heading, not from the gyro, whose zero may be wrong.
    """
    commands = in_numbers(recording.name)
    if commands is None:
        return {}
    aligned = in_robot_order(recording, robot)
    quat, moved = aligned.state.base_quat_wxyz, aligned.state.base_lin_vel_w
    assert quat is not None and moved is not None
    ahead = rotate(quat, np.array([1.0, 0.0, 0.0]))
    heading = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    velocity = np.stack([*_turned(moved, heading)], axis=-1)
    found = {}
    for k, (first, last) in enumerate(_steady(recording, len(commands))):
        if last - first < LEAST * recording.rate:
            continue
        seconds = (last - 1 - first) / recording.rate
        turning = (heading[last - 1] - heading[first]) / seconds
        vx, vy = velocity[first:last].mean(axis=0)
        found[k] = Walked(
            commands[k], (float(vx), float(vy), float(turning)), seconds, aligned.base
        )
    return found


def _turned(moved: np.ndarray, heading: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities of the world's axes as they are ahead and to the left."""
    cos, sin = np.cos(heading), np.sin(heading)
    x, y = moved[:, 0], moved[:, 1]
    return cos * x + sin * y, cos * y - sin * x


def _steady(recording: Recording, commands: int) -> list[tuple[int, int]]:
    """First and last sample (not included) of the steady part of each command."""
    changes = recording.provenance.get("command_changes", [])[: commands - 1]
    starts = [round(t * recording.rate) for t in (0.0, *changes)]
    unsteady = round(UNSTEADY * recording.rate)
    ends = [*starts[1:], len(recording)]
    return [(s + unsteady, min(e, len(recording))) for s, e in zip(starts, ends, strict=True)]
