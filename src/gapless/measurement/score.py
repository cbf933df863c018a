"""From a replay to the numbers of one clip."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.measurement import metrics
from gapless.measurement.replay import Replay
from gapless.measurement.spans import Horizon
from gapless.robots import Kinematics, Robot, TrackingPoint
from gapless.worlds.world import State

FRAMES_AT_ONCE = 20_000
"""States whose bodies are placed in one pass: fewer passes for short clips, bounded memory."""

JOINT_METRICS = {
    "replay_error": "rad",
    "mpjae": "rad",
    "rmse": "rad",
    "q_dis": "rad·s",
    "lag_ms": "ms",
    "correlation": "1",
    "large_gap_ratio": "1",
    "gap_iqr": "rad",
    "gap_range": "rad",
    "torque_rmse": "N·m",
}
BODY_METRICS = {
    "e_g_mpjpe": "mm",
    "e_mpjpe": "mm",
    "e_vel": "mm/frame",
    "e_acc": "mm/frame²",
    "root_vel": "m/s",
    "success": "1",
    "survival_s": "s",
}


@dataclass(frozen=True)
class ClipGap:
    """The gap of one recording over one horizon.

    Attributes:
        name: the motion.
        payload: carried mass, kg, or None where the log does not say.
        unit: the individual robot, or None.
        horizon: seconds, or "full".
        windows: how many were replayed.
        diverged: windows whose simulation diverged; they are never scored beyond that moment.
        samples: joint samples scored.
        masked: joint samples of the recording that were not used (gaps, NaN, stuck encoders).
        joints: metric -> (J,) values, the robot's joint order.
        bodies: metric -> value; empty where the base of a free robot is not known.
        offsets: (P, 3) X/Y/Z offset of each end effector, cm.
    """

    name: str
    payload: float | None
    unit: str | None
    horizon: Horizon
    windows: int
    diverged: int
    samples: int
    masked: int
    joints: dict[str, np.ndarray]
    bodies: dict[str, float]
    offsets: np.ndarray

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ClipGap:
        """Inverse of `dataclasses.asdict` in JSON types, where null is NaN."""
        joints = {metric: np.array(row, float) for metric, row in data["joints"].items()}
        bodies = {m: math.nan if v is None else float(v) for m, v in data["bodies"].items()}
        offsets = np.array(data["offsets"], float).reshape(-1, 3)
        return cls(**data | {"joints": joints, "bodies": bodies, "offsets": offsets})


def score(
    replays: Sequence[Replay], robot: Robot, kinematics: Kinematics, threshold: float
) -> list[ClipGap]:
    """Compute every metric the recordings allow; bodies are placed for many replays at once."""
    sides = [side for replay in replays for side in (replay.sim, replay.real)]
    placed = iter(_points(kinematics, sides, (*robot.tracking, *robot.end_effectors)))
    return [_clip(replay, robot, next(placed), next(placed), threshold) for replay in replays]


def _clip(
    replay: Replay, robot: Robot, sim: np.ndarray, real: np.ndarray, threshold: float
) -> ClipGap:
    recording = replay.recording
    logged = [j not in recording.conditions.held for j in recording.joints]
    return ClipGap(
        name=recording.name,
        payload=recording.conditions.payload_mass,
        unit=recording.conditions.unit,
        horizon=replay.horizon,
        windows=len(replay.starts),
        diverged=int(replay.diverged.sum()),
        samples=int(replay.usable[:, 1:].sum()),
        masked=int((~recording.mask[:, logged]).sum()),
        joints=_joint_metrics(replay, threshold),
        **_body_metrics(replay, len(robot.tracking), sim, real),
    )


def _joint_metrics(replay: Replay, threshold: float) -> dict[str, np.ndarray]:
    # Sample 0 is the common start: counting it would flatter short horizons.
    error, usable = replay.error[:, 1:], replay.usable[:, 1:]
    sim, real = replay.sim.q[:, 1:], replay.real.q[:, 1:]
    found = {
        "replay_error": metrics.replay_error(error, replay.lost[:, 1:]),
        "mpjae": metrics.mpjae(error),
        "rmse": metrics.rmse(error),
        "q_dis": metrics.q_dis(replay.error, replay.rate),
        "lag_ms": metrics.lag_ms(sim, real, usable, replay.rate),
        "correlation": metrics.correlation(sim, real, usable),
        "large_gap_ratio": metrics.large_gap_ratio(error, threshold),
        "gap_iqr": metrics.gap_iqr(error),
        "gap_range": metrics.gap_range(error),
    }
    if replay.torque is not None and replay.sim.torque is not None:
        known = usable & np.isfinite(replay.torque[:, 1:])
        found["torque_rmse"] = metrics.torque_rmse(
            replay.sim.torque[:, 1:], replay.torque[:, 1:], known
        )
    return found


def _body_metrics(replay: Replay, split: int, sim: np.ndarray, real: np.ndarray) -> dict:
    """Metrics of (W, T+1, P, 3) points: the first `split` are tracked, the rest end effectors."""
    ends = slice(split, None)
    usable = np.asarray(replay.usable.any(axis=-1))
    later = usable.copy()
    later[:, 0] = False
    offsets = metrics.point_offset(sim[:, :, ends], real[:, :, ends], later)
    sim, real = sim[:, :, :split], real[:, :, :split]
    roots = [_root(side) for side in (replay.sim, replay.real)]
    success, seconds = metrics.survival(
        sim, real, usable, replay.sim.valid, replay.steps, replay.rate
    )
    bodies = {
        "e_mpjpe": metrics.e_mpjpe(sim, real, roots[0], roots[1], later),
        "success": success,
        "survival_s": seconds,
    }
    if replay.base == "estimated":
        # An estimated base is good enough to start from, not to be judged against.
        return {"bodies": bodies, "offsets": np.full_like(offsets, np.nan)}
    bodies |= {
        "e_g_mpjpe": metrics.e_g_mpjpe(sim, real, later),
        "e_vel": metrics.e_vel(sim, real, usable),
        "e_acc": metrics.e_acc(sim, real, usable),
    }
    if replay.sim.base_lin_vel_w is not None and replay.real.base_lin_vel_w is not None:
        bodies["root_vel"] = metrics.root_vel(
            replay.sim.base_lin_vel_w, replay.real.base_lin_vel_w, later
        )
    return {"bodies": bodies, "offsets": offsets}


def _points(
    kinematics: Kinematics, states: list[State], points: tuple[TrackingPoint, ...]
) -> Iterator[np.ndarray]:
    """(W, T+1, P, 3) world positions of every state, several states in one pass."""
    batch: list[State] = []
    for i, state in enumerate(states):
        batch.append(state)
        full = sum(s.q[..., 0].size for s in batch) >= FRAMES_AT_ONCE
        if full or i == len(states) - 1:
            yield from _place(kinematics, batch, points)
            batch = []


def _place(
    kinematics: Kinematics, batch: list[State], points: tuple[TrackingPoint, ...]
) -> Iterator[np.ndarray]:
    def flat(name: str) -> np.ndarray | None:
        arrays = [getattr(state, name) for state in batch]
        if arrays[0] is None:
            return None
        return np.concatenate([a.reshape(-1, a.shape[-1]) for a in arrays])

    q = np.concatenate([s.q.reshape(-1, s.q.shape[-1]) for s in batch])
    found = kinematics.points(q, flat("base_pos"), flat("base_quat_wxyz"), points=points)
    at = 0
    for state in batch:
        shape = state.q.shape[:2]
        yield found[at : at + shape[0] * shape[1]].reshape(*shape, len(points), 3)
        at += shape[0] * shape[1]


def _root(state: State) -> np.ndarray:
    return np.zeros(3) if state.base_pos is None else state.base_pos[:, :, None]
