"""Recorded states in the robot's joint order: where a replay starts, what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import DataError
from gapless.measurement.base_estimate import BaseEstimate
from gapless.measurement.base_from_feet import base_from_feet
from gapless.measurement.carried_weight import carried_weight, without_weight
from gapless.measurement.rotation_rate import angular_velocity
from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, rotate
from gapless.worlds.world import State

BASE_CHANNELS = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")


@dataclass(frozen=True)
class Commands:
    """What was commanded, (..., J): positions, and the velocities and torques beside them."""

    target: np.ndarray
    target_dq: np.ndarray | None = None
    torque_ff: np.ndarray | None = None

    def folded(self, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
        """The positions that alone make a PD law with these gains act the same, rad.

        kp·(target - q) + kd·(target_dq - dq) + torque_ff is the plain law with the target moved
        by (kd·target_dq + torque_ff)/kp; so moved, the effort limit and a delay act on all of it.
        """
        ahead = 0.0 if self.target_dq is None else kd * self.target_dq
        ahead = ahead if self.torque_ff is None else ahead + self.torque_ff
        return self.target + ahead / np.where(kp > 0, kp, 1.0)

    @classmethod
    def stack(cls, parts: Sequence[Commands]) -> Commands:
        """Along a new first axis; what only some command is zero for the others."""
        columns, none = [], np.zeros_like(parts[0].target)
        for name in ("target", "target_dq", "torque_ff"):
            found = [getattr(p, name) for p in parts]
            absent = all(f is None for f in found)
            columns.append(None if absent else np.stack([none if f is None else f for f in found]))
        return cls(*columns)

    def __getitem__(self, which: object) -> Commands:
        """The same for some samples."""
        parts = (self.target, self.target_dq, self.torque_ff)
        return Commands(*(None if p is None else p[which] for p in parts))  # type: ignore


@dataclass(frozen=True)
class Aligned:
    """A recording as a world sees it: (T, ...) arrays, joints in the robot's order.

    Attributes:
        state: recorded states; base fields None where the mount has none.
        target: commands, rad, with a velocity command and a feed-forward torque folded in.
        commands: the same before folding.
        mask: (T, J) True where a joint was logged and may be scored.
        valid: (T,) True where a window may pass: usable joints, and a base where one is needed.
        torque: logged torque or None.
        conditions: payload and gains.
        base: how the base state was had: "logged", "estimated" or "none".
        estimate: of the base, where it was estimated.
    """

    state: State
    target: np.ndarray
    commands: Commands
    mask: np.ndarray
    valid: np.ndarray
    torque: np.ndarray | None
    conditions: Conditions
    base: str
    estimate: BaseEstimate | None = None

    @property
    def from_feet(self) -> bool:
        """Whether the base was estimated from the feet, without any IMU."""
        return self.estimate is not None and self.estimate.orientation == "feet"


def in_robot_order(recording: Recording, robot: Robot) -> Aligned:
    """Map a recording's joints onto the robot's by name, and complete its base state.

    Joints the recording lacks must be declared held in its conditions.
    """
    names = robot.joints.names
    held = recording.conditions.held
    missing = [j for j in names if j not in recording.joints and j not in held]
    if missing:
        raise DataError(
            f"recording {recording.name!r} has {len(recording.joints)} joints and says nothing of "
            f"{', '.join(missing)} of {robot.name!r}; declare where they were held "
            "(conditions.held, or --hold default at import), or lock them in the robot"
        )
    column = {j: i for i, j in enumerate(recording.joints)}
    pick = [column.get(j, -1) for j in names]
    rest = np.array([held.get(j, 0.0) for j in names])
    absent = np.array([c < 0 for c in pick])

    def per_joint(values: np.ndarray, filler: np.ndarray | float) -> np.ndarray:
        return np.where(absent, filler, values[:, pick])

    commands = _commands(recording, robot, per_joint, rest)
    torque = recording.channels.get("torque")
    q, dq = per_joint(recording.q, rest), per_joint(velocities(recording), 0.0)
    target = commands.folded(*gains_of(recording.conditions, robot))
    base, origin, estimate = _base(recording, robot, q, dq)
    known = np.ones(len(recording), bool)
    if estimate is not None and estimate.orientation == "feet" and recording.target is not None:
        estimate = _weighed(estimate, recording, robot, q, dq, target)
        assert estimate.carried is not None
        known &= ~without_weight(estimate.carried, recording.rate)
    for channel in base.values():
        known &= np.isfinite(channel).all(axis=1)
    return Aligned(
        state=State(q=q, dq=dq, **base),
        target=target,
        commands=commands,
        mask=per_joint(recording.mask, 0.0).astype(bool) & known[:, None],
        valid=recording.frame_valid & known,
        torque=None if torque is None else per_joint(torque, np.nan),
        conditions=_for_model(recording.conditions, robot),
        base=origin,
        estimate=estimate,
    )


def gains_of(conditions: Conditions, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """(J,) kp and kd in force: the log's where it states them, else the robot's."""
    kp, kd = robot.joints.kp.copy(), robot.joints.kd.copy()
    for joint, (p, d) in robot.effective_gains(conditions.gains).items():
        if joint in robot.joints.names:
            column = robot.joints.index(joint)
            kp[column], kd[column] = p, d
    return kp, kd


def _commands(
    recording: Recording,
    robot: Robot,
    per_joint: Callable[[np.ndarray, np.ndarray | float], np.ndarray],
    rest: np.ndarray,
) -> Commands:
    target = per_joint(recording.q if recording.target is None else recording.target, rest)
    beside = [recording.channels.get(name) for name in ("target_dq", "torque_ff")]
    beside = [None if c is None else np.nan_to_num(per_joint(c, 0.0)) for c in beside]
    kp, _ = gains_of(recording.conditions, robot)
    given = [c.any(axis=0) for c in beside if c is not None]
    bare = [robot.joints.names[j] for j in np.flatnonzero((kp == 0) & np.any(given, axis=0))]
    if given and bare:
        raise DataError(
            f"recording {recording.name!r} commands a torque at {', '.join(bare)}, whose kp is 0; "
            "replay needs a position gain: state it in the log's gains or the robot's"
        )
    return Commands(target, *beside)


def velocities(recording: Recording) -> np.ndarray:
    """(T, J) logged velocities, or central differences of the positions."""
    logged = recording.channels.get("dq")
    if logged is not None:
        return logged
    if len(recording) < 2:
        return np.zeros_like(recording.q)
    return np.gradient(recording.q, axis=0) * recording.rate


def _for_model(conditions: Conditions, robot: Robot) -> Conditions:
    """Only what changes the model: loads, and gains of joints the robot has."""
    gains = {j: g for j, g in conditions.gains.items() if j in robot.joints.names}
    return Conditions(payloads=conditions.payloads, gains=gains)


def _base(
    recording: Recording, robot: Robot, q: np.ndarray, dq: np.ndarray
) -> tuple[dict[str, np.ndarray], str, BaseEstimate | None]:
    if robot.mount != "free":
        return {}, "none", None
    logged = {k: recording.channels[k] for k in BASE_CHANNELS if k in recording.channels}
    if "base_pos" in logged and "base_quat_wxyz" in logged:
        return _with_velocities(logged, recording.rate), "logged", None
    estimate = base_from_feet(recording, robot, q, dq)
    return estimate.state, "estimated", estimate


def _weighed(
    estimate: BaseEstimate,
    recording: Recording,
    robot: Robot,
    q: np.ndarray,
    dq: np.ndarray,
    target: np.ndarray,
) -> BaseEstimate:
    """The same with what the legs carry: by it, feet of a robot that lies are told from others."""
    kp, kd = gains_of(recording.conditions, robot)
    turn = mul(conj(robot.floor.quat_wxyz), np.nan_to_num(estimate.base_quat_wxyz))
    carried = carried_weight(
        StandingBody.of(robot),
        np.nan_to_num(q),
        kp * (target - q) - kd * dq,
        rotate(conj(turn), UPWARD),
        estimate.standing,
        recording.rate,
    )
    return replace(estimate, carried=carried)


def _with_velocities(base: dict[str, np.ndarray], rate: float) -> dict[str, np.ndarray]:
    """Complete a logged pose with velocities by differences."""
    base = dict(base)
    if "base_lin_vel_w" not in base:
        base["base_lin_vel_w"] = np.gradient(base["base_pos"], axis=0) * rate
    if "base_ang_vel_b" not in base:
        base["base_ang_vel_b"] = angular_velocity(base["base_quat_wxyz"], rate)
    return base
