"""The gains of each log: what the `[gains]` and `[servo]` tables of a mapping say of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from gapless.errors import FormatError, ModelError, NameMismatchError, nearest
from gapless.recordings.importers.number_source import PLACES, LogFile, NumberSource
from gapless.robots.servo_gains import Servo

Entry = TypeVar("Entry")
FIGURES = tuple(f.name for f in fields(Servo))
EVERY = "*"


@dataclass(frozen=True)
class MappedServo:
    """A servo, and where its supply voltage comes from."""

    servo: Servo
    supply: NumberSource


@dataclass(frozen=True)
class MappedGains:
    """Patterns of joints -> where their parameters come from; the last that fits a joint counts.

    Attributes:
        kp: position gains in N·m/rad, or gain registers of servos.
        kd: damping gains in N·m·s/rad.
        servos: joints whose kp is a register, and what makes torque of it.
    """

    kp: Mapping[str, NumberSource] = field(default_factory=dict)
    kd: Mapping[str, NumberSource] = field(default_factory=dict)
    servos: Mapping[str, MappedServo] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any], joints: tuple[str, ...], where: str) -> MappedGains:
        """Understand the tables, or say what is wrong with them.

        Raises:
            FormatError: an entry is not understood, or fits no joint.
        """
        table, servo = content.get("gains", {}), content.get("servo", {})
        if not isinstance(table, dict) or not isinstance(servo, dict) or set(table) - {"kp", "kd"}:
            raise FormatError(
                f"{where}: [gains] holds kp and kd, [servo] the parameters of a servo; given: "
                f"{table!r}, {servo!r}"
            )
        found = cls(
            kp=_sources(table.get("kp", {}), f"{where}: gains.kp"),
            kd=_sources(table.get("kd", {}), f"{where}: gains.kd"),
            servos=_servos(servo, where),
        )
        if servo and not found.kp:
            raise FormatError(f"{where}: [servo] needs gains.kp, the gain register of each log")
        for pattern in (*found.kp, *found.kd, *found.servos):
            if not any(fnmatchcase(joint, pattern) for joint in joints):
                raise FormatError(
                    f"{where}: {pattern!r} fits no joint.{nearest(pattern, joints)} "
                    f"Joints: {', '.join(joints)}"
                )
        return found

    def gains(self, log: LogFile) -> dict[str, tuple[float, float]]:
        """(kp, kd) of the joints; NaN where the log does not say, and the robot's own counts."""
        pairs = {joint: self._pair(joint, log) for joint in log.joints}
        return {j: pair for j, pair in pairs.items() if not all(map(math.isnan, pair))}

    def notes(self, log: LogFile) -> list[str]:
        """The effort that servos have at their supply, which a recording cannot hold."""
        efforts: dict[str, list[str]] = {}
        for joint in log.joints:
            driven = _last(self.servos, joint)
            if driven is not None:
                supply = driven.supply.of_joint(joint, log, steady=False)
                text = f"{driven.servo.effort(supply):.3g} N·m at {supply:.3g} V"
                efforts.setdefault(text, []).append(joint)
        return [
            f"servos of {', '.join(joints)}: effort {text}; say so in the robot (a robot file's "
            "[effort]) where its own differs"
            for text, joints in efforts.items()
        ]

    def _pair(self, joint: str, log: LogFile) -> tuple[float, float]:
        own, given = _last(self.kp, joint), _last(self.kd, joint)
        driven = _last(self.servos, joint)
        kp = math.nan if own is None else own.of_joint(joint, log)
        kd = math.nan if given is None else given.of_joint(joint, log)
        if driven is None or own is None:
            return kp, kd
        supply = driven.supply.of_joint(joint, log, steady=False)
        return driven.servo.kp(kp, supply), driven.servo.kd if given is None else kd


def _last(entries: Mapping[str, Entry], joint: str) -> Entry | None:
    fits = [entry for pattern, entry in entries.items() if fnmatchcase(joint, pattern)]
    return fits[-1] if fits else None


def _sources(entry: Any, what: str) -> dict[str, NumberSource]:
    by_pattern = isinstance(entry, dict) and not set(entry) & {*PLACES, "scale"}
    entries = entry if by_pattern else {EVERY: entry}
    return {pattern: NumberSource.of(one, what) for pattern, one in entries.items()}


def _servos(table: dict[str, Any], where: str) -> dict[str, MappedServo]:
    known = (*FIGURES, "supply")
    tables = {k: v for k, v in table.items() if isinstance(v, dict) and k not in known}
    every = {k: v for k, v in table.items() if k not in tables}
    # What a joint's own table leaves out is as in the table of all joints.
    entries = {
        **({EVERY: every} if every else {}),
        **{p: {**every, **t} for p, t in tables.items()},
    }
    return {p: _servo(one, f"{where}: servo") for p, one in entries.items()}


def _servo(table: dict[str, Any], where: str) -> MappedServo:
    problems = list(_servo_problems(table))
    if problems:
        raise FormatError(f"{where}: {'; '.join(problems)}")
    try:
        servo = Servo(**{key: table[key] for key in FIGURES if key in table})
    except (ModelError, NameMismatchError) as error:
        raise FormatError(f"{where}: {error}") from error
    return MappedServo(servo, NumberSource.of(table["supply"], f"{where}.supply"))


def _servo_problems(table: dict[str, Any]) -> Iterator[str]:
    known = (*FIGURES, "supply")
    for key in table:
        if key not in known:
            near = nearest(key, known)
            yield f"{key!r} is no parameter of a servo.{near} Known: {', '.join(known)}"
    needed = (*FIGURES[:4], "supply")
    if missing := [key for key in needed if key not in table]:
        yield f"{', '.join(missing)} missing; such as: {SERVO}"


SERVO = (
    'kind = "dynamixel_x", supply = 12.0 (V), stall_torque = 4.1 (N·m), no_load_speed = 4.8 '
    "(rad/s), voltage = 12.0 (V, of these two)"
)
