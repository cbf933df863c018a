"""The base state of a standing robot whose log has no base pose: joints, IMU and the floor."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from gapless.errors import DataError
from gapless.measurement.rotation_rate import angular_velocity
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Robot, TrackingPoint
from gapless.robots.rotations import rotate


def base_from_feet(recording: Recording, robot: Robot) -> dict[str, np.ndarray]:
    """Estimate the base pose and velocity from the lowest point of the robot's shapes.

    That point is taken to stand still on the floor: its height gives the base height, its motion
    relative to the base gives the base velocity. Orientation comes from the IMU.

    Returns:
        The four base fields of a State, (T, ...) arrays.
    """
    quat = recording.channels.get("imu_quat_wxyz")
    model = robot.model()
    points, radius = _surface(model)
    if quat is None or not points:
        lacks = "an IMU orientation" if quat is None else "a shape that can touch the floor"
        raise DataError(
            f"recording {recording.name!r} of the free-standing {robot.name!r} has no base pose, "
            f"and without {lacks} none can be estimated; "
            "use --mount fixed (or Robot.load(..., mount='fixed'))"
        )
    columns = [recording.column(j) for j in robot.joints.names]
    origin = np.zeros((len(quat), 3))
    placed = Kinematics(model, robot).points(recording.q[:, columns], origin, quat, points=points)
    return {
        "base_quat_wxyz": quat,
        "base_ang_vel_b": _angular(recording, quat),
        **_stance(placed - radius[:, None] * [0.0, 0.0, 1.0], recording.rate),
    }


def _surface(model: Any) -> tuple[tuple[TrackingPoint, ...], np.ndarray]:
    """Points of the colliding shapes, and the radius around each that is still shape."""
    import mujoco

    corners = {
        mujoco.mjtGeom.mjGEOM_SPHERE: lambda size: ([(0, 0, 0)], size[0]),
        mujoco.mjtGeom.mjGEOM_CAPSULE: lambda size: ([(0, 0, -size[1]), (0, 0, size[1])], size[0]),
        mujoco.mjtGeom.mjGEOM_BOX: lambda size: (list(product(*((-s, s) for s in size))), 0.0),
    }
    points, radius = [], []
    for geom in np.flatnonzero(model.geom_conaffinity & (model.geom_bodyid > 0)):
        kind = mujoco.mjtGeom(model.geom_type[geom])
        if kind in corners:
            local, around = corners[kind](model.geom_size[geom])
            body = model.body(model.geom_bodyid[geom]).name
            at = model.geom_pos[geom] + rotate(model.geom_quat[geom], np.array(local, float))
            points += [TrackingPoint(body, body, tuple(p)) for p in at.tolist()]
            radius += [around] * len(local)
    return tuple(points), np.array(radius)


def _stance(feet: np.ndarray, rate: float) -> dict[str, np.ndarray]:
    """Position and velocity of the base from (T, P, 3) surface points relative to it."""
    lowest = feet[..., 2].argmin(axis=1)
    time = np.arange(len(feet))
    if len(feet) < 2:
        velocity = np.zeros((len(feet), 3))
    else:
        velocity = -(np.gradient(feet, axis=0) * rate)[time, lowest]
        # A change of the stance foot is a jump; a short average keeps it out of the start states.
        velocity = uniform_filter1d(velocity, size=5, axis=0, mode="nearest")
    position = np.cumsum(velocity, axis=0) / rate
    position[:, 2] = -feet[time, lowest, 2]
    return {"base_pos": position, "base_lin_vel_w": velocity}


def _angular(recording: Recording, quat: np.ndarray) -> np.ndarray:
    gyro = recording.channels.get("imu_gyro")
    return angular_velocity(quat, recording.rate) if gyro is None else gyro
