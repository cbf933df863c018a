"""The base of a standing robot whose log has no base pose: from the feet that stand on the floor.

Up is where the standing soles are level and equally high, or what an IMU says; the lowest point of
the robot is as deep in the floor as its weight presses it; standing feet do not slide, which gives
place, heading and velocities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.measurement.base_estimate import BaseEstimate
from gapless.measurement.base_tilt import complemented
from gapless.measurement.held_readings import between_readings
from gapless.measurement.rotation_rate import angular_velocity
from gapless.measurement.sole_errors import without_sole_errors
from gapless.measurement.stance import (
    SeenFeet,
    Stance,
    find_stance,
    levelness,
    outside_of,
    up_of,
    usual_up,
)
from gapless.measurement.standing_body import UPWARD, StandingBody, upright
from gapless.measurement.still_feet import POSE_SHARE, path_of, still_twist
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, normalise, rotate

GYRO_SHARE = 0.02
"""How much a gyro says about the turning rate beside the feet."""
REST = 0.01
"""How much it says beside a foot that the base usually moves little, where soles roll."""
FALLEN = 0.02
"""Something other than a foot lower than the feet by more than this, m: it does not stand."""


def base_from_feet(
    recording: Recording, robot: Robot, q: np.ndarray, dq: np.ndarray
) -> BaseEstimate:
    """Estimate the base of every sample from the feet.

    Args:
        recording: whose IMU channels are used, where it has them.
        robot: mounted free.
        q: (T, J) joint positions in the robot's order.
        dq: (T, J) velocities.
    """
    body, q = StandingBody.of(robot), _filled(q)
    poses = body.poses(q)
    read = body.seen(poses)
    level = _imu_orientation(recording, robot, q)
    seen = without_sole_errors(read, recording.rate) if level is None else read
    up = None if level is None else rotate(conj(level), UPWARD)
    stance = find_stance(seen, recording.rate, up)
    if up is None:
        usual = usual_up(seen, recording.rate)
        up = complemented(up_of(seen, stance.weight, usual), recording)
        level = upright(up)
    assert level is not None
    path = path_of(seen, stance, level, turns="imu_quat_wxyz" not in recording.channels)
    lowest = body.lowest(poses, up)
    path.pos[:, 2] = -lowest - body.sinking()
    gyro = recording.channels.get("imu_gyro")
    rates = angular_velocity(path.quat, recording.rate) if gyro is None else np.nan_to_num(gyro)
    share = POSE_SHARE if gyro is None else GYRO_SHARE
    still, rest = _rolling(seen, stance, up) if _origin(recording) == "imu" else (stance.still, 0.0)
    linear, angular = still_twist(body, q, _filled(dq), up, still, rates, share, rest)
    estimate = BaseEstimate(
        base_pos=path.pos,
        base_quat_wxyz=path.quat,
        base_lin_vel_w=rotate(path.quat, linear),
        base_ang_vel_b=angular,
        feet=tuple(foot.link for foot in seen.feet),
        standing=stance.standing,
        floats=_floats(seen, stance, up, lowest),
        tilt=_tilt(read, stance),
        outside=outside_of(seen, stance.standing, up),
        orientation=_origin(recording),
    )
    unknown = seen.lowest(up).min(axis=1) - lowest > FALLEN
    return _placed(estimate, robot, unknown | _lost(recording))


def _rolling(seen: SeenFeet, stance: Stance, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(T, F) weights of feet as what does not move, (T,) how far the base is taken to rest.

    A sole that an IMU shows to be askew rolls over an edge: how it turns says nothing of the base.
    """
    level = levelness(seen, up)
    trusted = np.clip((stance.weight * level).sum(axis=1), 0.0, 1.0)
    return stance.still * level + 1e-9, REST * (1 - trusted)


def _floats(seen: SeenFeet, stance: Stance, up: np.ndarray, lowest: np.ndarray) -> np.ndarray:
    above = np.where(stance.standing, seen.lowest(up) - lowest[:, None], 0.0)
    return above.max(axis=1)


def _tilt(seen: SeenFeet, stance: Stance) -> np.ndarray:
    """(T,) largest angle between two soles that stand."""
    worst = np.zeros(len(seen.pos))
    flat = np.flatnonzero(seen.flat)
    for i, f in enumerate(flat):
        for g in flat[i + 1 :]:
            apart = np.linalg.norm(seen.up[:, f] - seen.up[:, g], axis=1)
            both = stance.standing[:, f] & stance.standing[:, g]
            worst = np.maximum(worst, np.where(both, apart, 0.0))
    return worst


def _imu_orientation(recording: Recording, robot: Robot, q: np.ndarray) -> np.ndarray | None:
    """(T, 4) orientation of the base against the floor by an IMU; gaps and repetitions bridged."""
    quat = recording.channels.get("imu_quat_wxyz")
    if quat is None or not np.isfinite(quat).all(axis=1).any():
        return None
    return mul(conj(robot.floor.quat_wxyz), between_readings(normalise(_filled(quat)), q))


def _lost(recording: Recording) -> np.ndarray:
    """(T,) True where an IMU that otherwise gives the orientation gave none."""
    quat = recording.channels.get("imu_quat_wxyz")
    if quat is None or not np.isfinite(quat).any():
        return np.zeros(len(recording), bool)
    return np.asarray(~np.isfinite(quat).all(axis=1))


def _origin(recording: Recording) -> str:
    names = {"imu_quat_wxyz": "imu", "imu_acc": "accelerometer", "imu_gyro": "gyro and feet"}
    return next((told for name, told in names.items() if name in recording.channels), "feet")


def _filled(values: np.ndarray) -> np.ndarray:
    """The same with the last finite sample in place of what is not finite."""
    good = np.isfinite(values).all(axis=1)
    if good.all() or not good.any():
        return np.nan_to_num(values)
    before = np.maximum.accumulate(np.where(good, np.arange(len(values)), -1))
    return values[np.where(before < 0, good.argmax(), before)]


def _placed(estimate: BaseEstimate, robot: Robot, unknown: np.ndarray) -> BaseEstimate:
    """The estimate on the floor as it slopes, NaN where nothing is known."""
    floor = robot.floor.quat_wxyz
    state = {
        "base_pos": rotate(floor, estimate.base_pos),
        "base_quat_wxyz": mul(floor, estimate.base_quat_wxyz),
        "base_lin_vel_w": rotate(floor, estimate.base_lin_vel_w),
        "base_ang_vel_b": estimate.base_ang_vel_b.copy(),
    }
    for array in state.values():
        array[unknown] = np.nan
    return replace(estimate, **state)
