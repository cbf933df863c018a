"""How well a tracker follows its motion: ASAP's columns, episode by episode."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.policy_episodes import Episodes
from gapless.measurement.metrics import e_acc, e_g_mpjpe, e_mpjpe, e_vel, survival
from gapless.motions.motion import Motion
from gapless.robots import Kinematics, Robot
from gapless.robots.rotations import about, conj, mul, rotate

UP = np.array([0.0, 0.0, 1.0])
TRACKING = {
    "e_g_mpjpe": "mm",
    "e_mpjpe": "mm",
    "e_vel": "mm/frame",
    "e_acc": "mm/frame²",
    "success": "share",
}
"""Name -> unit; a success never has a mean body distance above 0.5 m, and stands to the end."""


def tracking_errors(episodes: Episodes, motion: Motion) -> dict[str, np.ndarray]:
    """Name -> (n,); errors are of the steps before a fall.

    The motion is moved to where, and turned to how, each episode starts.
    """
    kinematics, robot = Kinematics.of(episodes.robot), episodes.robot
    if motion.base_pos is None or motion.base_quat_wxyz is None:
        raise DataError(f"motion {motion.name!r} says nothing of its base; errors need it")
    if not robot.tracking:
        raise DataError(f"{robot.name} has no tracking points, so no body errors can be taken")
    wanted, root = _wanted(motion.resampled(episodes.rate), robot, kinematics, episodes)
    got = _points(kinematics, robot, episodes)
    base = episodes.states.base_pos
    assert base is not None
    found: dict[str, list[float]] = {name: [] for name in TRACKING}
    for row in range(len(got)):
        alive = np.arange(got.shape[1]) <= min(episodes.fell[row] - 1, episodes.steps)
        pair = got[row][None], wanted[row][None]
        roots = base[row][None, :, None], root[row][None, :, None]
        usable = alive[None]
        found["e_g_mpjpe"].append(e_g_mpjpe(*pair, usable))
        found["e_mpjpe"].append(e_mpjpe(*pair, *roots, usable))
        found["e_vel"].append(e_vel(*pair, usable))
        found["e_acc"].append(e_acc(*pair, usable))
        length = np.array([episodes.steps])
        found["success"].append(survival(*pair, usable, usable, length, episodes.rate)[0])
    return {name: np.array(values) for name, values in found.items()}


def _points(kinematics: Kinematics, robot: Robot, episodes: Episodes) -> np.ndarray:
    """(n, T+1, P, 3) tracking points of the episodes, m."""
    states = episodes.states
    flat = [a.reshape(-1, a.shape[-1]) for a in (states.q, states.base_pos, states.base_quat_wxyz)]  # type: ignore[union-attr]
    found = kinematics.points(*flat, points=robot.tracking)
    return found.reshape(*states.q.shape[:2], len(robot.tracking), 3)


def _wanted(
    motion: Motion, robot: Robot, kinematics: Kinematics, episodes: Episodes
) -> tuple[np.ndarray, np.ndarray]:
    """(n, T+1, P, 3) points and (n, T+1, 3) roots of the motion, from where each episode starts."""
    length = episodes.steps + 1
    rows = np.minimum(np.arange(length), len(motion) - 1)
    q = motion.targets(robot)[rows]
    pos, quat = motion.base_pos[rows], motion.base_quat_wxyz[rows]  # type: ignore[index]
    points = kinematics.points(q, pos, quat, points=robot.tracking)
    first_pos, first_quat = episodes.states.base_pos[:, 0], episodes.states.base_quat_wxyz[:, 0]  # type: ignore[index]
    turn = mul(_heading(first_quat), conj(_heading(quat[:1])))
    shift = np.array([1.0, 1.0, 0.0])  # heights are the world's own

    def moved(places: np.ndarray) -> np.ndarray:
        away = places[None] - shift * pos[0]
        turns = turn.reshape(len(turn), *[1] * (away.ndim - 2), 4)
        start = (shift * first_pos).reshape(len(turn), *[1] * (away.ndim - 2), 3)
        return rotate(turns, away) + start

    return moved(points), moved(pos)


def _heading(quat: np.ndarray) -> np.ndarray:
    """(n, 4) turn about the vertical alone."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    return about(UP, np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
