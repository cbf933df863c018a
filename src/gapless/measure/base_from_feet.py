"""The base state of a standing robot whose log has no base pose: joints, IMU and the floor."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from gapless.errors import DataError
from gapless.measure.rotation_rate import angular_velocity
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Robot, TrackingPoint


def base_from_feet(recording: Recording, robot: Robot) -> dict[str, np.ndarray]:
    """Estimate the base pose and velocity from the lowest foot.

    The lowest foot is taken to stand still on the floor: its height gives the base height, its
    motion relative to the base gives the base velocity. Orientation comes from the IMU.

    Returns:
        The four base fields of a State, (T, ...) arrays.
    """
    quat = recording.channels.get("imu_quat_wxyz")
    feet = robot.link_groups.get("feet", ())
    if quat is None or not feet:
        lacks = "an IMU orientation" if quat is None else "a group of feet"
        raise DataError(
            f"recording {recording.name!r} of the free-standing {robot.name!r} has no base pose, "
            f"and without {lacks} none can be estimated; "
            "use --mount fixed (or Robot.load(..., mount='fixed'))"
        )
    columns = [recording.column(j) for j in robot.joints.names]
    points = tuple(TrackingPoint(f, f, (0.0, 0.0, 0.0)) for f in feet)
    kinematics = Kinematics.of(robot)
    origin = np.zeros((len(quat), 3))
    placed = kinematics.points(recording.q[:, columns], origin, quat, points=points)
    return {
        "base_quat_wxyz": quat,
        "base_ang_vel_b": _angular(recording, quat),
        **_stance(placed, _sole_height(kinematics, robot, points), recording.rate),
    }


def _sole_height(kinematics: Kinematics, robot: Robot, points: tuple[TrackingPoint, ...]) -> float:
    """Height of a foot's frame above the floor when the robot stands in its default pose."""
    standing = kinematics.points(
        robot.joints.default[None],
        np.array([[0.0, 0.0, robot.standing_height]]),
        np.array([[1.0, 0.0, 0.0, 0.0]]),
        points=points,
    )
    return float(standing[..., 2].min())


def _stance(feet: np.ndarray, sole: float, rate: float) -> dict[str, np.ndarray]:
    """Position and velocity of the base from (T, F, 3) feet relative to it."""
    lowest = feet[..., 2].argmin(axis=1)
    time = np.arange(len(feet))
    if len(feet) < 2:
        velocity = np.zeros((len(feet), 3))
    else:
        velocity = -(np.gradient(feet, axis=0) * rate)[time, lowest]
        # A change of the stance foot is a jump; a short average keeps it out of the start states.
        velocity = uniform_filter1d(velocity, size=5, axis=0, mode="nearest")
    position = np.cumsum(velocity, axis=0) / rate
    position[:, 2] = sole - feet[time, lowest, 2]
    return {"base_pos": position, "base_lin_vel_w": velocity}


def _angular(recording: Recording, quat: np.ndarray) -> np.ndarray:
    gyro = recording.channels.get("imu_gyro")
    return angular_velocity(quat, recording.rate) if gyro is None else gyro
