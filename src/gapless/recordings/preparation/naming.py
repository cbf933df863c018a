"""Log columns to robot joints: by name, with sign and zero, in the robot's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
SIGNED = ("q", "target", "dq", "torque", "target_dq", "torque_ff")
SHIFTED = ("q", "target")
ANGULAR = ("q", "target", "dq", "target_dq", "base_ang_vel_b", "imu_gyro")
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
        NameMismatchError: a log name means no joint of the robot.
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
    held = _held(robot, options, names, logged)
    return Arranged(streams, logged, _conditions(log, robot, options, aliases, held))


def _arranged(
    name: str,
    stream: Stream,
    aliases: list[Alias],
    columns: np.ndarray,
    joints: int,
    degrees: bool,
) -> Stream:
    values = np.array(stream.values, dtype=float)
    values[np.isinf(values)] = np.nan
    if degrees and name in ANGULAR:
        np.deg2rad(values, out=values)
    if name not in JOINT_STREAMS:
        return Stream(stream.time, values)
    if values.shape[1] != len(aliases):
        raise DataError(f"{name} has {values.shape[1]} columns for {len(aliases)} joints")
    if name in SIGNED:
        values *= np.array([a.sign for a in aliases])
    if name in SHIFTED:
        values += np.array([a.offset for a in aliases])
    out = np.full((len(values), joints), np.nan)
    out[:, columns] = values
    return Stream(stream.time, out)


def _held(
    robot: Robot, options: ImportOptions, names: tuple[str, ...], logged: np.ndarray
) -> dict[str, float]:
    declared = held_positions(options.hold, names, [float(x) for x in robot.joints.default])
    lacking = [n for n, there in zip(names, logged, strict=True) if not there]
    undeclared = [n for n in lacking if n not in declared]
    if undeclared:
        raise DataError(
            f"{len(undeclared)} of the robot's {len(names)} joints are not in the log: "
            f"{', '.join(undeclared)}. Say where they were: --hold default (standing pose), "
            f"--hold zero, or --hold {undeclared[0]}=<rad>"
        )
    return {n: declared[n] for n in lacking}


def _conditions(
    log: RawLog,
    robot: Robot,
    options: ImportOptions,
    aliases: list[Alias],
    held: dict[str, float],
) -> Conditions:
    joint = {name: alias.joint for name, alias in zip(log.joints, aliases, strict=True)}
    given, payloads = log.conditions, parse_payloads(options.payload)
    for link in payloads or {}:
        robot.check_link(link)
    return replace(
        given,
        unit=options.unit or given.unit,
        mount=options.mount or given.mount,
        payloads=given.payloads if payloads is None else payloads,
        gains={joint.get(name, name): gain for name, gain in given.gains.items()},
        held=held | {joint.get(name, name): at for name, at in given.held.items()},
    )
