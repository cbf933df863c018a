"""Starts of a standing robot whose encoders have wrong zeros: its feet stand as it really is.

A base that was estimated from the feet is that of the angles in the log. Where a world knows by
how much those are off, the feet of the true angles are not level under that base: one sinks, the
other floats, and the replay begins with a jerk. So what the true angles change is added to it.
Where an IMU said how the robot leans, that stays, and only its height follows from the true angles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gapless.measurement.alignment import BASE_CHANNELS
from gapless.measurement.stance import up_of
from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.measurement.still_feet import feet_that_stand, still_twist
from gapless.measurement.windows import Windows
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, normalise, rotate
from gapless.worlds.effects import Effects
from gapless.worlds.imu_mounting import behind
from gapless.worlds.world import State, World


class StandingStarts:
    """Puts a robot on its feet for other zeros of its encoders.

    Args:
        robot: mounted free.
    """

    def __init__(self, robot: Robot) -> None:
        self._body, self._floor = StandingBody.of(robot), robot.floor.quat_wxyz
        self._depth = self._body.sinking()
        self._last: tuple[State, tuple[np.ndarray, _Says]] | None = None

    def __call__(
        self, start: State, from_feet: np.ndarray, estimated: np.ndarray, effects: Effects
    ) -> State:
        """The same starts, those with an estimated base with the one that their true angles say.

        Args:
            start: (n, ...) with angles and orientations as they were read.
            from_feet: (n,) True where the base was estimated from the feet alone.
            estimated: (n,) True where it was estimated, perhaps with an IMU.
            effects: errors of encoders and IMU.
        """
        bias, leaning = np.asarray(effects.encoder_bias), estimated & ~from_feet
        if from_feet.any() and bias.any():
            start = self._stood(start, from_feet, bias)
        return self._settled(start, leaning, effects) if leaning.any() else start

    def _settled(self, start: State, which: np.ndarray, effects: Effects) -> State:
        """Starts some of which touch the floor, leaning as the IMU shows."""
        true = behind(replace(start, q=start.q - effects.encoder_bias), effects)
        assert true.base_pos is not None and true.base_quat_wxyz is not None
        up = rotate(conj(mul(conj(self._floor), true.base_quat_wxyz)), UPWARD)
        pos = rotate(conj(self._floor), true.base_pos)
        pos[:, 2] = -self._body.lowest(self._body.poses(true.q), up) - self._depth
        kept = np.where(which[:, None], rotate(self._floor, pos), true.base_pos)
        return replace(start, base_pos=kept)

    def _stood(self, start: State, which: np.ndarray, bias: np.ndarray) -> State:
        """Starts some of which have a base that the feet alone say.

        What the true angles change is added to that base: it was found from the whole recording,
        which knows better than a single state which feet stand.
        """
        assert start.base_pos is not None and start.base_quat_wxyz is not None
        assert start.base_lin_vel_w is not None and start.base_ang_vel_b is not None
        quat = mul(conj(self._floor), start.base_quat_wxyz)
        before = rotate(conj(quat), UPWARD)
        stands, read = self._read(start, before)
        true = self._says(start, start.q - bias, before, stands)
        up = rotate(_turn(read.up, true.up), before)
        pos, quat = rotate(conj(self._floor), start.base_pos), mul(quat, _turn(up, before))
        pos[:, 2] = -self._body.lowest(self._body.poses(start.q - bias), up) - self._depth
        quat = mul(self._floor, quat)
        speed = rotate(conj(start.base_quat_wxyz), start.base_lin_vel_w) + true.speed - read.speed
        base = {
            "base_pos": rotate(self._floor, pos),
            "base_quat_wxyz": quat,
            "base_lin_vel_w": rotate(quat, speed),
            "base_ang_vel_b": start.base_ang_vel_b + true.spin - read.spin,
        }
        kept = {k: np.where(which[:, None], v, getattr(start, k)) for k, v in base.items()}
        return replace(start, **kept)

    def _read(self, start: State, before: np.ndarray) -> tuple[np.ndarray, _Says]:
        """Which feet stand by the angles in the log, and what they say: the same in each replay."""
        if self._last is None or not _alike(self._last[0], start):
            stands = feet_that_stand(self._body.seen(self._body.poses(start.q)), before)
            self._last = start, (stands, self._says(start, start.q, before, stands))
        return self._last[1]

    def _says(self, start: State, q: np.ndarray, before: np.ndarray, stands: np.ndarray) -> _Says:
        """Up and the base's velocities, by feet that stand, for some joint positions."""
        up = up_of(self._body.seen(self._body.poses(q)), stands, before)
        return _Says(up, *still_twist(self._body, q, start.dq, up, stands, start.base_ang_vel_b))


class _Says(NamedTuple):
    """What the feet say of single states: (n, 3) each, seen from the base."""

    up: np.ndarray
    speed: np.ndarray
    spin: np.ndarray


def starts_in(world: World, windows: Windows) -> State:
    """Starts of windows as a world with errors of encoders or IMU must have them.

    Args:
        world: where they are played; it has such errors if they were identified.
        windows: with starts as they were read.
    """
    effects: Effects | None = getattr(world, "effects", None)
    if effects is None or not moves_starts(windows, effects):
        return windows.start
    return StandingStarts(world.robot)(windows.start, windows.from_feet, windows.estimated, effects)


def moves_starts(windows: Windows, effects: Effects) -> bool:
    """Whether bases are estimates that errors of encoders or IMU put elsewhere."""
    return bool(windows.estimated.any() and (np.any(effects.encoder_bias) or effects.imu_errs))


def _alike(first: State, second: State) -> bool:
    ours, theirs = first.fields, second.fields
    return all(np.array_equal(ours[name], theirs[name]) for name in ("q", "dq", *BASE_CHANNELS))


def _turn(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(n, 4) the least turns that take (n, 3) unit vectors to others."""
    cosine = (start * end).sum(axis=1, keepdims=True)
    return normalise(np.concatenate([1 + cosine, np.cross(start, end)], axis=1))
