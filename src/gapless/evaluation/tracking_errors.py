"""How well a tracker follows its motion: ASAP's columns and HALO's, episode by episode."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.drift_errors import DRIFT, drift_errors
from gapless.evaluation.motion_placement import MotionPlacement
from gapless.evaluation.policy_episodes import Episodes
from gapless.measurement.metrics import e_acc, e_g_mpjpe, e_mpjpe, e_vel, survival
from gapless.motions.motion import Motion
from gapless.robots import Kinematics, Robot

_BODIES = {
    "e_g_mpjpe": "mm",
    "e_mpjpe": "mm",
    "e_vel": "mm/frame",
    "e_acc": "mm/frame²",
    "success": "share",
}
TRACKING = _BODIES | DRIFT
"""Name -> unit; a success never has a mean body distance above 0.5 m, and stands to the end."""


def tracking_errors(episodes: Episodes, motion: Motion) -> dict[str, np.ndarray]:
    """Name -> (n,); errors are of the steps before a fall.

    The motion is moved to where, and turned to how, each episode starts.
    """
    got, wanted, root = _both_sides(episodes, motion)
    base = episodes.states.base_pos
    assert base is not None
    found: dict[str, list[float]] = {name: [] for name in _BODIES}
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
    bodies = {name: np.array(values) for name, values in found.items()}
    return bodies | drift_errors(episodes, motion)


def body_distances(episodes: Episodes, motion: Motion) -> np.ndarray:
    """(n, T+1) mean distance of the bodies from the motion's, mm: E_g-mpjpe moment by moment."""
    got, wanted, _ = _both_sides(episodes, motion)
    return 1000 * np.linalg.norm(got - wanted, axis=-1).mean(axis=-1)


def _both_sides(episodes: Episodes, motion: Motion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tracking points (n, T+1, P, 3) as they were and as the motion has them, and its roots."""
    kinematics, robot = Kinematics.of(episodes.robot), episodes.robot
    if not robot.tracking:
        raise DataError(f"{robot.name} has no tracking points, so no body errors can be taken")
    wanted, root = _wanted(motion.resampled(episodes.rate), robot, kinematics, episodes)
    return _points(kinematics, robot, episodes), wanted, root


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
    placement = MotionPlacement.of(motion, episodes)
    rows = np.minimum(np.arange(episodes.steps + 1), len(motion) - 1)
    q = motion.targets(robot)[rows]
    pos, quat = motion.base_pos[rows], motion.base_quat_wxyz[rows]  # type: ignore[index]
    points = kinematics.points(q, pos, quat, points=robot.tracking)
    return placement.moved(points), placement.moved(pos)
