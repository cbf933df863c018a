"""Unitree's messages, to the byte: sizes, checksums, motors by name. No DDS is needed here."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gapless.deployment.links import unitree_messages
from gapless.deployment.links.unitree_crc import word_crc
from gapless.deployment.links.unitree_link import UnitreeLink
from gapless.deployment.links.unitree_wire import MOTORS, TYPES, layout_of, motor_rows
from gapless.deployment.links.wire_message import WireMessage
from gapless.errors import MissingExtraError, NameMismatchError
from gapless.robots import Robot

HG, GO = "unitree_hg.msg.dds_.LowCmd_", "unitree_go.msg.dds_.LowCmd_"
SIZES = {HG: 1004, GO: 812}
BLANK = {HG: 4262932383, GO: 1264208000}
FILLED = {HG: 2309419042, GO: 561875561}


def filled(kind: str) -> WireMessage:
    """Motors that all differ."""
    message = WireMessage(kind)
    if kind == HG:
        message.put("mode_machine", 5)
    else:
        message.put("head", (0xFE, 0xEF))
        message.put("level_flag", 0xFF)
    for i in range(29 if kind == HG else 20):
        motor = {"mode": 1, "q": 0.1 * i - 1, "tau": 0.5 * i, "kp": 10 + i, "kd": 1 + 0.125 * i}
        for field, value in motor.items():
            message.put(f"motor_cmd.{i}.{field}", value)
    return message


@pytest.mark.parametrize("kind", [HG, GO])
def test_commands_have_the_vendors_checksums(kind: str) -> None:
    """Of zeros and of numbers."""
    for message, crc in ((WireMessage(kind), BLANK[kind]), (filled(kind), FILLED[kind])):
        assert not message.is_sealed
        message.seal()
        assert int(message.get("crc")) == crc and message.is_sealed


@pytest.mark.parametrize("kind", [HG, GO])
def test_commands_have_the_vendors_size(kind: str) -> None:
    """And the checksum is their last word, which is not part of itself."""
    message = filled(kind)
    message.put("crc", 0x01020304)
    data = message.in_memory()
    assert len(data) == SIZES[kind] and data[-4:].tolist() == [4, 3, 2, 1]
    message.seal()
    assert int(message.get("crc")) == FILLED[kind]


def test_numbers_are_read_where_they_were_written() -> None:
    """One, some of a field of motors, or all of an array; whatever their type; others stay."""
    message = WireMessage("unitree_hg.msg.dds_.LowState_")
    before = message.data
    message.put("motor_state.*.q", [0.5, -0.25], (3, 34))
    message.put("motor_state.3.temperature", [-7, 300])
    message.put("imu_state.gyroscope", [1.0, 2.0, 3.0])
    message.put("tick", 2**32 - 1)
    assert message.get("motor_state.*.q", (34, 2, 3)).tolist() == [-0.25, 0.0, 0.5]
    assert message.get("motor_state.*.temperature.1", (2, 3)).tolist() == [0, 300]
    assert message.get("motor_state.3.temperature").tolist() == [-7, 300]
    assert message.get("imu_state.gyroscope.1") == 2.0 and int(message.get("tick")) == 2**32 - 1
    again = WireMessage(message.kind, message.data)
    assert again.data == message.data != before
    for path, zero in (("motor_state.*.q", (3, 34)), ("motor_state.3.temperature", ())):
        again.put(path, 0, zero)  # type: ignore[arg-type]
    again.put("imu_state.gyroscope", 0.0)
    again.put("tick", 0)
    assert again.data == before


def test_a_field_that_is_none_is_an_error() -> None:
    """Not a number of another field."""
    for path, rows in (("motor_state.*.angle", (0,)), ("motor_cmd.*.q", (35,)), ("q", ())):
        with pytest.raises(KeyError):
            WireMessage(HG).get(path, rows)


def test_any_bit_changes_the_checksum() -> None:
    """All of a motor's, at least."""
    data = filled(HG).in_memory()[:-4].tobytes()
    known = word_crc(data)
    for bit in range(8 * 28):
        bad = bytearray(data)
        bad[4 + bit // 8] ^= 1 << bit % 8
        assert word_crc(bytes(bad)) != known


def test_the_checksum_is_the_one_that_is_written_down() -> None:
    """Bit by bit, as it is defined, of random words."""
    words = np.random.default_rng(0).integers(0, 2**32, 20, dtype=np.uint64)
    crc = 0xFFFFFFFF
    for word in words.tolist():
        for bit in range(31, -1, -1):
            top = (crc >> 31) ^ (word >> bit & 1)
            crc = (crc << 1 & 0xFFFFFFFF) ^ (0x04C11DB7 if top else 0)
    assert word_crc(struct.pack("<20I", *words.tolist())) == crc


def test_structures_are_laid_out_as_c_does() -> None:
    """Numbers at multiples of their own size."""
    assert layout_of("unitree_hg.msg.dds_.MotorCmd_") == ("BxxxfffffI", 4)
    assert layout_of("unitree_go.msg.dds_.BmsCmd_") == ("BBBB", 1)
    for kind in TYPES:
        assert struct.calcsize(f"@{layout_of(kind)[0]}") == struct.calcsize(
            f"<{layout_of(kind)[0]}"
        )


@pytest.mark.parametrize(
    ("model", "robot", "some"),
    [
        (
            "g1",
            "g1",
            {"left_hip_pitch_joint": 0, "waist_pitch_joint": 14, "right_wrist_yaw_joint": 28},
        ),
        ("g1", "g1_23dof", {"right_shoulder_pitch_joint": 22, "left_elbow_joint": 18}),
        ("h1_2", "h1_2", {"left_hip_yaw_joint": 0, "torso_joint": 12, "right_elbow_joint": 23}),
        ("go2", "go2", {"FL_hip_joint": 3, "FR_hip_joint": 0, "RR_calf_joint": 8}),
    ],
)
def test_motors_are_found_by_name(model: str, robot: str, some: dict[str, int]) -> None:
    """Never by position: ours is another order than theirs."""
    names = Robot.load(robot).joints.names
    rows = dict(zip(names, motor_rows(model, names), strict=True))
    assert some.items() <= rows.items() and len(set(rows.values())) == len(names)
    assert max(rows.values()) < len(MOTORS[model][1])


def test_without_dds_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, when the link is made."""
    monkeypatch.setattr(unitree_messages, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[deploy\]"):
        UnitreeLink("go2", ["FL_hip_joint"], np.ones(1))


def test_another_robots_joints_are_refused() -> None:
    """With the nearest right one."""
    with pytest.raises(NameMismatchError, match="unknown motor of a go2 'left_knee_joint'"):
        motor_rows("go2", ["left_knee_joint"])
    with pytest.raises(NameMismatchError, match="Unitree robot"):
        motor_rows("g2", [])
