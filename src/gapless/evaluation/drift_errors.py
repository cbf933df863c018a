"""How far a tracker strays from where its motion leads: HALO's columns, episode by episode."""

from __future__ import annotations

import numpy as np

from gapless.evaluation.motion_placement import MotionPlacement
from gapless.evaluation.policy_episodes import Episodes
from gapless.motions.motion import Motion
from gapless.robots.rotations import mul, rotate

DRIFT = {"e_fpos": "m", "e_epos": "m", "e_ang": "deg"}
"""Name -> unit: the largest error forward, the distance at the end, the heading at the end. The end
of an episode that falls is the step before its fall."""
AHEAD = np.array([1.0, 0.0, 0.0])


def drift_errors(episodes: Episodes, motion: Motion) -> dict[str, np.ndarray]:
    """Name -> (n,); of the base, over the motion laid to where each episode starts.

    Forward is where the robot looks at the start.
    """
    pos, quat = episodes.states.base_pos, episodes.states.base_quat_wxyz
    assert pos is not None and quat is not None
    wanted_pos, wanted_quat = _wanted(episodes, motion)
    first = heading_angle(quat[:, :1])
    way = np.stack([np.cos(first), np.sin(first)], axis=-1)
    off = (pos - wanted_pos)[..., :2]
    forward = np.abs((off * way).sum(axis=-1))
    turned = heading_angle(quat) - heading_angle(wanted_quat)
    turned = np.abs((turned + np.pi) % (2 * np.pi) - np.pi)
    last = np.minimum(episodes.fell - 1, episodes.steps)
    stands = np.arange(pos.shape[1]) <= last[:, None]
    rows = np.arange(len(last))
    return {
        "e_fpos": np.where(stands, forward, 0.0).max(axis=1),
        "e_epos": np.linalg.norm(off, axis=-1)[rows, last],
        "e_ang": np.degrees(turned)[rows, last],
    }


def heading_angle(quat: np.ndarray) -> np.ndarray:
    """(...,) angle about the vertical in which a base looks, rad."""
    ahead = rotate(quat, AHEAD)
    return np.arctan2(ahead[..., 1], ahead[..., 0])


def _wanted(episodes: Episodes, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """(n, T+1, 3) and (n, T+1, 4) bases of the motion, from where each episode starts."""
    motion = motion.resampled(episodes.rate)
    placement = MotionPlacement.of(motion, episodes)
    rows = np.minimum(np.arange(episodes.steps + 1), len(motion) - 1)
    pos, quat = motion.base_pos[rows], motion.base_quat_wxyz[rows]  # type: ignore[index]
    return placement.moved(pos), mul(placement.turn[:, None], quat[None])
