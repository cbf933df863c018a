"""Starts of a standing robot whose encoders have wrong zeros: its feet stand as it really is.

A base that was estimated from the feet is that of the angles in the log. Where a world knows by
how much those are off, the feet of the true angles are not level under that base: one sinks, the
other floats, and the replay begins with a jerk. So the base is estimated anew, sample by sample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.measurement.stance import up_of
from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.measurement.still_feet import feet_that_stand, still_twist
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, normalise, rotate
from gapless.worlds.world import State, World


class StandingStarts:
    """Puts a robot on its feet for other zeros of its encoders.

    Args:
        robot: mounted free.
    """

    def __init__(self, robot: Robot) -> None:
        self._body, self._floor = StandingBody.of(robot), robot.floor.quat_wxyz
        self._depth = self._body.sinking()

    def __call__(self, start: State, which: np.ndarray, bias: np.ndarray) -> State:
        """The same starts, some with the base that their true angles say.

        Args:
            start: (n, ...) with angles as they were read.
            which: (n,) True where the base was estimated from the feet.
            bias: (J,) or (n, J) what encoders show too much, rad.
        """
        assert start.base_pos is not None and start.base_quat_wxyz is not None
        assert start.base_ang_vel_b is not None
        q, quat = start.q - bias, mul(conj(self._floor), start.base_quat_wxyz)
        poses = self._body.poses(q)
        seen, before = self._body.seen(poses), rotate(conj(quat), UPWARD)
        stands = feet_that_stand(seen, before)
        up = up_of(seen, stands, before)
        pos, quat = rotate(conj(self._floor), start.base_pos), mul(quat, _turn(up, before))
        pos[:, 2] = -self._body.lowest(poses, up) - self._depth
        speed, spin = still_twist(self._body, q, start.dq, up, stands, start.base_ang_vel_b)
        base = {
            "base_pos": rotate(self._floor, pos),
            "base_quat_wxyz": mul(self._floor, quat),
            "base_lin_vel_w": rotate(mul(self._floor, quat), speed),
            "base_ang_vel_b": spin,
        }
        kept = {k: np.where(which[:, None], v, getattr(start, k)) for k, v in base.items()}
        return replace(start, **kept)


def starts_in(world: World, start: State, which: np.ndarray) -> State:
    """Starts as a world with encoder errors must have them.

    Args:
        world: where they are played; it has errors of encoders if they were identified.
        start: (n, ...) as they were read.
        which: (n,) True where the base was estimated from the feet.
    """
    effects = getattr(world, "effects", None)
    bias = np.zeros(1) if effects is None else np.asarray(effects.encoder_bias)
    if not bias.any() or not which.any():
        return start
    return StandingStarts(world.robot)(start, which, bias)


def _turn(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(n, 4) the least turns that take (n, 3) unit vectors to others."""
    cosine = (start * end).sum(axis=1, keepdims=True)
    return normalise(np.concatenate([1 + cosine, np.cross(start, end)], axis=1))
