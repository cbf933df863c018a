"""Unitree's messages as data: types, fields in order, motors by name. Facts only; no DDS here."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from gapless.errors import unknown

Fields = tuple[tuple[str, str, int], ...]
"""Name, type and how many; 0 is one that is no array."""

_HG, _GO = "unitree_hg.msg.dds_.", "unitree_go.msg.dds_."
_IMU = (("quaternion", "f", 4), ("gyroscope", "f", 3), ("accelerometer", "f", 3), ("rpy", "f", 3))
_FRAME = (
    ("head", "B", 2),
    ("level_flag", "B", 0),
    ("frame_reserve", "B", 0),
    ("sn", "I", 2),
    ("version", "I", 2),
    ("bandwidth", "H", 0),
)
_MOTOR = (("q", "f", 0), ("dq", "f", 0), ("tau", "f", 0), ("kp", "f", 0), ("kd", "f", 0))
TYPES: dict[str, Fields] = {
    f"{_HG}MotorCmd_": (("mode", "B", 0), *_MOTOR, ("reserve", "I", 0)),
    f"{_HG}LowCmd_": (
        ("mode_pr", "B", 0),
        ("mode_machine", "B", 0),
        ("motor_cmd", f"{_HG}MotorCmd_", 35),
        ("reserve", "I", 4),
        ("crc", "I", 0),
    ),
    f"{_HG}IMUState_": (*_IMU, ("temperature", "h", 0)),
    f"{_HG}MotorState_": (
        ("mode", "B", 0),
        ("q", "f", 0),
        ("dq", "f", 0),
        ("ddq", "f", 0),
        ("tau_est", "f", 0),
        ("temperature", "h", 2),
        ("vol", "f", 0),
        ("sensor", "I", 2),
        ("motorstate", "I", 0),
        ("reserve", "I", 4),
    ),
    f"{_HG}LowState_": (
        ("version", "I", 2),
        ("mode_pr", "B", 0),
        ("mode_machine", "B", 0),
        ("tick", "I", 0),
        ("imu_state", f"{_HG}IMUState_", 0),
        ("motor_state", f"{_HG}MotorState_", 35),
        ("wireless_remote", "B", 40),
        ("reserve", "I", 4),
        ("crc", "I", 0),
    ),
    f"{_GO}MotorCmd_": (("mode", "B", 0), *_MOTOR, ("reserve", "I", 3)),
    f"{_GO}BmsCmd_": (("off", "B", 0), ("reserve", "B", 3)),
    f"{_GO}LowCmd_": (
        *_FRAME,
        ("motor_cmd", f"{_GO}MotorCmd_", 20),
        ("bms_cmd", f"{_GO}BmsCmd_", 0),
        ("wireless_remote", "B", 40),
        ("led", "B", 12),
        ("fan", "B", 2),
        ("gpio", "B", 0),
        ("reserve", "I", 0),
        ("crc", "I", 0),
    ),
    f"{_GO}IMUState_": (*_IMU, ("temperature", "B", 0)),
    f"{_GO}MotorState_": (
        ("mode", "B", 0),
        *((name, "f", 0) for name in ("q", "dq", "ddq", "tau_est", "q_raw", "dq_raw", "ddq_raw")),
        ("temperature", "B", 0),
        ("lost", "I", 0),
        ("reserve", "I", 2),
    ),
    f"{_GO}BmsState_": (
        *((name, "B", 0) for name in ("version_high", "version_low", "status", "soc")),
        ("current", "i", 0),
        ("cycle", "H", 0),
        ("bq_ntc", "B", 2),
        ("mcu_ntc", "B", 2),
        ("cell_vol", "H", 15),
    ),
    f"{_GO}LowState_": (
        *_FRAME,
        ("imu_state", f"{_GO}IMUState_", 0),
        ("motor_state", f"{_GO}MotorState_", 20),
        ("bms_state", f"{_GO}BmsState_", 0),
        ("foot_force", "h", 4),
        ("foot_force_est", "h", 4),
        ("tick", "I", 0),
        ("wireless_remote", "B", 40),
        ("bit_flag", "B", 0),
        ("adc_reel", "f", 0),
        ("temperature_ntc1", "B", 0),
        ("temperature_ntc2", "B", 0),
        ("power_v", "f", 0),
        ("power_a", "f", 0),
        ("fan_frequency", "H", 4),
        ("reserve", "I", 0),
        ("crc", "I", 0),
    ),
}
"""Type -> its fields in order; one letter is a number as `struct` spells it."""
COMMAND, STATE = "rt/lowcmd", "rt/lowstate"
"""Topics."""
HEAD, LEVEL = (0xFE, 0xEF), 0xFF
"""How a command to a Go begins."""


def _sides(*names: str) -> tuple[str, ...]:
    return tuple(f"{side}_{name}" for side in ("left", "right") for name in names)


_ARMS = _sides(
    *(f"shoulder_{axis}" for axis in ("pitch", "roll", "yaw")),
    *("elbow", "wrist_roll", "wrist_pitch", "wrist_yaw"),
)
_FOOT = ("knee", "ankle_pitch", "ankle_roll")
MOTORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "g1": (
        "unitree_hg",
        (
            *_sides("hip_pitch", "hip_roll", "hip_yaw", *_FOOT),
            *("waist_yaw", "waist_roll", "waist_pitch"),
            *_ARMS,
        ),
    ),
    "h1_2": (
        "unitree_hg",
        (*_sides("hip_yaw", "hip_pitch", "hip_roll", *_FOOT), "waist_yaw", *_ARMS),
    ),
    "go2": (
        "unitree_go",
        tuple(
            f"{leg}_{part}" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")
        ),
    ),
}
"""Robot -> family of messages, and its motors in the order of the arrays."""


OTHER_NAMES = {"torso": "waist_yaw"}
"""What models call a motor otherwise."""


def motor_rows(model: str, joints: Sequence[str]) -> list[int]:
    """Where each joint's motor is in the arrays of a robot's messages."""
    if model not in MOTORS:
        raise unknown("Unitree robot", model, MOTORS)
    motors = MOTORS[model][1]
    bare = [joint.removesuffix("_joint") for joint in joints]
    names = [OTHER_NAMES.get(name, name) for name in bare]
    for joint, name in zip(joints, names, strict=True):
        if name not in motors:
            raise unknown(f"motor of a {model}", joint, motors)
    return [motors.index(name) for name in names]


@cache
def layout_of(kind: str) -> tuple[str, int]:
    """A type as C lays it out in memory: format for `struct`, without its byte order; alignment."""
    text, size, widest = "", 0, 1
    for _, what, count in TYPES[kind]:
        one, wide = layout_of(what) if what in TYPES else (what, struct.calcsize(f"<{what}"))
        pad = -size % wide
        text += "x" * pad + one * max(count, 1)
        size += pad + struct.calcsize(f"<{one}") * max(count, 1)
        widest = max(widest, wide)
    return text + "x" * (-size % widest), widest


@cache
def cdr_format(kind: str) -> str:
    """A type as CDR lays it out, for `struct`: numbers aligned to their own size, no more padding.

    That is CDR as DDS began with it (XCDR1), which the vendor's robots speak.
    """
    text, size = "", 0
    for what in numbers_of(kind).values():
        wide = struct.calcsize(f"<{what}")
        pad = -size % wide
        text += "x" * pad + what
        size += pad + wide
    return text


@cache
def numbers_of(kind: str) -> dict[str, str]:
    """All numbers of a message in order: motor_state.3.q -> its letter of `struct`."""
    found = {}
    for name, what, count in TYPES[kind]:
        for path in [f"{name}.{k}" for k in range(count)] or [name]:
            if what in TYPES:
                found |= {f"{path}.{rest}": letter for rest, letter in numbers_of(what).items()}
            else:
                found[path] = what
    return found


def offsets(layout: str) -> list[int]:
    """Where each number begins in a format for `struct`, bytes."""
    sizes = [struct.calcsize(f"<{letter}") for letter in layout]
    starts = accumulate(sizes, initial=0)
    return [start for start, letter in zip(starts, layout, strict=False) if letter != "x"]
