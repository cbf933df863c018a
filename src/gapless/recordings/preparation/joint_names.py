"""Log columns to robot joints: by name, with sign and zero, in the robot's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.options import ImportOptions, held_positions, parse_payloads
from gapless.recordings.rawlog import RawLog, Stream
from gapless.recordings.recording import JOINT_CHANNELS

if TYPE_CHECKING:
    from gapless.robots.joints import Alias
    from gapless.robots.robot import Robot

JOINT_STREAMS = ("q", "target", *JOINT_CHANNELS)
"""Streams with one column a joint."""
REPLICA = ("sim_q", "sim_dq", "sim_torque")
SIGNED = ("q", "target", "dq", "torque", "target_dq", "torque_ff", *REPLICA)
SHIFTED = ("q", "target", "sim_q")
ANGULAR = ("q", "target", "dq", "target_dq", "base_ang_vel_b", "imu_gyro", "sim_q", "sim_dq")
"""Streams that a log in degrees holds in degrees."""


@dataclass(frozen=True)
class Arranged:
    """A log in the robot's joints, order and radians.

    Attributes:
        streams: as in RawLog; joints the log lacks have NaN columns.
        logged: (J,) joints the log has.
        conditions: joint names as the robot spells them, held joints declared.
    """

    streams: dict[str, Stream]
    logged: np.ndarray
    conditions: Conditions


def arrange(log: RawLog, robot: Robot, options: ImportOptions) -> Arranged:
    """Map a log onto a robot.

    Raises:
        NameMismatchError: a name of the log or of its conditions is no joint or link of the robot.
        ModelError: a load is negative.
        DataError: the robot has joints that the log lacks and nobody declared.
    """
    aliases = robot.match(log.joints)
    names = tuple(robot.joints.names)
    columns = np.array([names.index(a.joint) for a in aliases])
    degrees = (options.angle_unit or log.angle_unit) == "deg"
    streams = {
        name: _arranged(name, stream, aliases, columns, len(names), degrees)
        for name, stream in log.streams.items()
    }
    logged = np.asarray(np.isfinite(streams["q"].values).any(axis=0))
    held = _held(log, robot, options, logged)
    return Arranged(streams, logged, _conditions(log, robot, options, held))


def _arranged(
    name: str,
    stream: Stream,
    aliases: list[Alias],
    columns: np.ndarray,
    joints: int,
    degrees: bool,
) -> Stream:
    values = np.asarray(stream.values)
    if name not in JOINT_STREAMS:
        columns, joints = np.arange(values.shape[1]), values.shape[1]
    elif values.shape[1] != len(aliases):
        raise DataError(f"{name} has {values.shape[1]} columns for {len(aliases)} joints")
    out = np.full((len(values), joints), np.nan)
    out[:, columns] = values
    out[np.isinf(out)] = np.nan
    if degrees and name in ANGULAR:
        np.deg2rad(out, out=out)
    if name in SIGNED:
        out[:, columns] *= np.array([a.sign for a in aliases])
    if name in SHIFTED:
        out[:, columns] += np.array([a.offset for a in aliases])
    return Stream(stream.time, out)


def _held(
    log: RawLog, robot: Robot, options: ImportOptions, logged: np.ndarray
) -> dict[str, float]:
    """Positions of the joints that the log lacks: the user's word, else the log's own."""
    names = tuple(robot.joints.names)
    declared = _held_by_log(log, robot)
    declared |= held_positions(options.hold, names, [float(x) for x in robot.joints.default])
    lacking = [n for n, there in zip(names, logged, strict=True) if not there]
    undeclared = [n for n in lacking if n not in declared]
    if undeclared:
        raise DataError(
            f"{len(undeclared)} of the robot's {len(names)} joints are not in the log: "
            f"{', '.join(undeclared)}. Say where they were: --hold default (standing pose), "
            f"--hold zero, or --hold {undeclared[0]}=<rad>"
        )
    return {n: declared[n] for n in lacking}


def _held_by_log(log: RawLog, robot: Robot) -> dict[str, float]:
    held = log.conditions.held
    aliases = robot.match(tuple(held))
    both = set(held) & set(log.joints)
    if both:
        raise DataError(f"joints are both logged and declared as held: {', '.join(sorted(both))}")
    return {a.joint: a.sign * at + a.offset for a, at in zip(aliases, held.values(), strict=True)}


def _conditions(
    log: RawLog, robot: Robot, options: ImportOptions, held: dict[str, float]
) -> Conditions:
    """What the log and the user say, in the robot's names; a name it lacks is refused."""
    given, payloads = log.conditions, parse_payloads(options.payload)
    payloads = given.payloads if payloads is None else payloads
    mount = options.mount or given.mount
    robot.with_payloads(payloads or {})
    joints = robot.match(tuple(given.gains))
    return replace(
        given,
        unit=options.unit or given.unit,
        policy=options.policy or given.policy,
        mount=None if mount is None else robot.with_mount(mount).mount,
        payloads=payloads,
        gains={
            a.joint: _with_own(gain, robot, a.joint)
            for a, gain in zip(joints, given.gains.values(), strict=True)
        },
        held=held,
    )


def _with_own(gain: tuple[float, float], robot: Robot, joint: str) -> tuple[float, float]:
    """The robot's own gain where the log states one of the two only."""
    column = robot.joints.index(joint)
    own = robot.joints.kp[column], robot.joints.kd[column]
    kp, kd = (float(o) if isnan(g) else g for g, o in zip(gain, own, strict=True))
    return kp, kd
