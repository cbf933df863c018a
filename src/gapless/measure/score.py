"""From a replay to the numbers of one clip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.measure import metrics
from gapless.measure.replay import Horizon, Replay
from gapless.robots import Kinematics, Robot
from gapless.worlds.world import State

JOINT_METRICS = {
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


def score(replay: Replay, robot: Robot, kinematics: Kinematics, threshold: float) -> ClipGap:
    """Compute every metric the recording allows."""
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
        **_body_metrics(replay, robot, kinematics),
    )


def _joint_metrics(replay: Replay, threshold: float) -> dict[str, np.ndarray]:
    # Sample 0 is the common start: counting it would flatter short horizons.
    error, usable = replay.error[:, 1:], replay.usable[:, 1:]
    sim, real = replay.sim.q[:, 1:], replay.real.q[:, 1:]
    found = {
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


def _body_metrics(replay: Replay, robot: Robot, kinematics: Kinematics) -> dict:
    points = (*robot.tracking, *robot.end_effectors)
    sim, real = (_points(kinematics, side, points) for side in (replay.sim, replay.real))
    split = len(robot.tracking)
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


def _points(kinematics: Kinematics, state: State, points: tuple) -> np.ndarray:
    """(W, T+1, P, 3) world positions."""
    shape = state.q.shape[:2]

    def flat(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values.reshape(-1, values.shape[-1])

    found = kinematics.points(
        state.q.reshape(-1, state.q.shape[-1]),
        flat(state.base_pos),
        flat(state.base_quat_wxyz),
        points=points,
    )
    return found.reshape(*shape, len(points), 3)


def _root(state: State) -> np.ndarray:
    return np.zeros(3) if state.base_pos is None else state.base_pos[:, :, None]
