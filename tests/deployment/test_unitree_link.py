"""LowCmd and LowState between two processes, over the loopback alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install gapless[deploy]")

from unitree_process import robot_process, wait_for

from gapless.deployment.control_loop import ControlLoop
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.links.unitree_dds import LOOPBACK, UnitreePort
from gapless.deployment.links.unitree_link import TICKS, UnitreeLink
from gapless.deployment.links.unitree_messages import message_type, sample_of
from gapless.deployment.links.unitree_wire import TYPES, numbers_of
from gapless.deployment.links.wire_message import WireMessage
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck, SafetyLimits
from gapless.errors import DataError, SafetyError
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot
from safe_arm import command as arm_command

FIRST = 20 + 2 * (os.getpid() % 40)
DOMAIN = {"go2": FIRST, "g1": FIRST + 1}
"""Tests that run beside these are in other domains."""
FAR = 30.0


@pytest.fixture(autouse=True, scope="module")
def loopback() -> Iterator[None]:
    """Neither multicast nor any other interface."""
    before = os.environ.get("CYCLONEDDS_URI")
    os.environ["CYCLONEDDS_URI"] = LOOPBACK
    yield
    if before is None:
        del os.environ["CYCLONEDDS_URI"]
    else:
        os.environ["CYCLONEDDS_URI"] = before


def link_to(model: str, **options: object) -> UnitreeLink:
    """To the simulated robot."""
    joints = Robot.load(model).joints
    return UnitreeLink(
        *(model, joints.names, np.maximum(joints.kd, 1.0), DOMAIN[model]),
        simulated=True,
        **options,  # type: ignore[arg-type]
    )


def hold(joints: tuple[str, ...], **targets: float) -> JointCommand:
    """The default pose, some joints elsewhere."""
    model = Robot.load("go2" if len(joints) == 12 else "g1")
    own = model.joints.select(joints)
    q = own.default.copy()
    for name, target in targets.items():
        q[joints.index(name)] = target
    return JointCommand.of_targets(q, np.full(len(q), 40.0), np.full(len(q), 2.0))


@pytest.mark.parametrize(
    ("model", "joint", "target"), [("go2", "FL_hip_joint", 0.5), ("g1", "left_elbow_joint", 0.6)]
)
def test_a_command_moves_the_joint_that_it_names(
    model: str, joint: str, target: float, tmp_path: Path
) -> None:
    """In the other process; all others stay, and states come back whole."""
    with robot_process(model, DOMAIN[model], FAR, tmp_path) as robot:
        link = link_to(model)
        with pytest.raises(SafetyError, match="its mode is not known"):
            link.write(hold(link.joints))
        link.damp()  # nobody to tell: nothing happens
        assert wait_for(lambda: link.read() is not None)
        start, row = link.read(), link.joints.index(joint)
        assert start is not None

        def there() -> bool:
            link.write(hold(link.joints, **{joint: target}))
            state = link.read()
            return state is not None and abs(state.q[row] - target) < 0.1

        assert wait_for(there)
        state = link.read()
        assert state is not None and state.sequence > start.sequence and state.stamp > start.stamp
        assert all(getattr(state, name) is not None for name in link.channels)
        assert state.voltage == 50.0 and state.temperature is not None
        assert (state.temperature == 30).all() and link.corrupt == 0
        np.testing.assert_allclose(state.base_quat_wxyz, [1, 0, 0, 0])  # type: ignore[arg-type]
        assert not link.is_real
        link.close()
        assert robot.end() == {"corrupt": 0, "foreign": 0}


def test_corrupt_and_foreign_commands_are_counted_and_not_obeyed(tmp_path: Path) -> None:
    """A wrong checksum, and a right one for another machine."""
    with robot_process("g1", DOMAIN["g1"], FAR, tmp_path) as robot:
        link = link_to("g1")
        assert wait_for(lambda: link.read() is not None)
        message, rows = link._message, tuple(range(35))
        for machine, crc in ((5, 1), (6, 0)):
            for field, value in {"mode": 1, "q": 1.0, "kp": 200.0}.items():
                message.put(f"motor_cmd.*.{field}", value, rows)
            for _ in range(30):
                message.put("mode_machine", machine)
                message.seal()
                message.put("crc", message.get("crc") ^ crc)
                link._port.give(message, seal=False)
                before = link.read()
                assert wait_for(lambda b=before: _later(link.read(), b))
        state = link.read()
        assert state is not None
        column = link.joints.index("left_shoulder_pitch_joint")
        assert state.q[column] < 0.5  # it would be at 1 by now
        counts = robot.end()
        assert counts["corrupt"] > 0 and counts["foreign"] > 0
        link.close()


def _later(state: LinkState | None, other: LinkState | None) -> bool:
    return state is not None and other is not None and state.sequence > other.sequence


def test_silence_damps_the_robot_and_commands_do_not_wake_it(tmp_path: Path) -> None:
    """Its own watchdog, without anybody's help."""
    with robot_process("go2", DOMAIN["go2"], 0.5, tmp_path) as robot:
        link = link_to("go2")
        assert wait_for(lambda: link.read() is not None)
        link.write(hold(link.joints))
        assert robot.line() == "tripped"
        row, last = link.joints.index("FL_hip_joint"), link.read()
        assert last is not None
        for _ in range(60):
            link.write(hold(link.joints, FL_hip_joint=1.0))
            before = link.read()
            assert wait_for(lambda b=before: _later(link.read(), b))
        state = link.read()
        assert _later(state, last) and state is not None and state.q[row] < 0.6
        robot.end()
        link.close()


class Holding:
    """A pilot that holds the default pose."""

    def __init__(self, joints: tuple[str, ...]) -> None:
        self.joints = joints

    rate: float | None = None

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """The pose."""
        return hold(self.joints)

    def observe(self, state: LinkState) -> None:
        """Nothing to see."""

    def decide(self) -> JointCommand:
        """The pose."""
        return hold(self.joints)


def test_the_whole_loop_runs_over_the_wire(tmp_path: Path) -> None:
    """Limits, recording and all; the end of it is damping, which the robot hears."""
    with robot_process("go2", DOMAIN["go2"], FAR, tmp_path) as robot:
        link = link_to("go2")
        limits = SafetyLimits.of_robot(Robot.load("go2"), link.channels, 50)
        # A computer that is busy with other tests may be late; that is not what is shown here.
        patient = {"deadline": SafetyCheck(0, "off"), "stale": SafetyCheck(1000, "damp")}
        patient |= {
            "start_distance": SafetyCheck(9, "off"),
            "start_velocity": SafetyCheck(9, "off"),
        }
        limits = SafetyLimits(
            limits.robot, limits.rate, limits.joints, {**limits.checks, **patient}
        )
        facts = ("go2", link.joints, 50, link.channels, "hold")
        with FlightRecorder(tmp_path / "data", *facts) as recorder:
            safety = SafetyFilter(limits, link.joints)
            report = ControlLoop(link, Holding(link.joints), safety, recorder, patience=60).run(60)
        assert report.damped is None and report.steps > 10, report
        robot.end()
        link.close()
    clips = list(Dataset.open(tmp_path / "data"))
    assert {"imu_quat_wxyz", "imu_gyro", "temperature", "torque"} <= set(clips[0].channels)
    assert sum(clip.mask.any(axis=1).sum() for clip in clips) > 5
    np.testing.assert_allclose(clips[0].target[-1], hold(link.joints).q, atol=1e-6)  # type: ignore[index]


def test_messages_are_the_vendors_types() -> None:
    """Names, order and number of fields, as a reader of the vendor expects them."""
    for kind in TYPES:
        made = message_type(kind)
        assert made.__idl_typename__ == kind
        assert list(made.__dataclass_fields__) == [name for name, _, _ in TYPES[kind]]
        assert made.__idl_annotations__ == {"autoid": "sequential", "extensibility": "final"}


def _filled(kind: str, of: str, rng: np.random.Generator) -> object:
    """A sample whose every number differs, field by field, as the library has it."""
    values = {}
    for name, what, count in TYPES[of]:
        many = []
        for _ in range(max(count, 1)):
            number = int(rng.integers(1, 100))
            many.append(_filled(kind, what, rng) if what in TYPES else number)
        values[name] = many if count else many[0]
    return message_type(of)(**values)


@pytest.mark.parametrize("kind", [k for k in TYPES if "Low" in k])
def test_bytes_are_those_that_the_library_writes(kind: str) -> None:
    """Two ways agree: field by field through cyclonedds, and numbers put into bytes."""
    rng = np.random.default_rng(0)
    sample = _filled(kind, kind, rng)
    data = bytes(sample.serialize())  # type: ignore[attr-defined]
    came = message_type(kind).deserialize(data)
    assert isinstance(came, WireMessage) and came.data == data
    assert bytes(sample_of(came).serialize()) == data
    ours = WireMessage(kind)
    for path in numbers_of(kind):
        owner = sample
        for part in path.split("."):
            owner = owner[int(part)] if part.isdigit() else getattr(owner, part)  # type: ignore[index]
        assert came.get(path) == owner
        ours.put(path, owner)
    assert ours.data == data
    # What is not plain CDR is read by the library, to the same numbers.
    bare = message_type(kind).deserialize(data[4:], has_header=False)
    assert bare.data == data


class _Port:
    """A port that gives what tests put in."""

    def __init__(self) -> None:
        self.waiting: list = []
        self.corrupt = 0

    def take(self) -> object:
        """The next."""
        return self.waiting.pop(0) if self.waiting else None


def test_a_torn_message_is_known() -> None:
    """Whatever bit it was."""
    for kind in ("unitree_hg.msg.dds_.LowCmd_", "unitree_go.msg.dds_.LowState_"):
        message = WireMessage(kind)
        field = "motor_cmd" if "Cmd" in kind else "motor_state"
        message.put(f"{field}.*.q", 0.3, (0, 7))
        message.seal()
        came = message_type(kind).deserialize(message.data)
        assert came.is_sealed and came.get(f"{field}.7.q") == np.float32(0.3)
        for place in (9, len(message.data) - 1):
            torn = bytearray(message.data)
            torn[place] ^= 1
            assert not message_type(kind).deserialize(bytes(torn)).is_sealed


def test_a_tick_that_does_not_rise_is_no_new_sample() -> None:
    """Repeated or earlier ones are old; one after the counter's end is new."""
    link, port = link_to("g1", mode_machine=5), _Port()
    link._port.close()
    link._port = port  # type: ignore[assignment]
    found = []
    for tick in (TICKS - 20, TICKS - 20, TICKS - 40, 10, 5):
        message = WireMessage("unitree_hg.msg.dds_.LowState_")
        message.put("tick", tick)
        message.put("mode_machine", 5)
        port.waiting.append(message)
        state = link.read()
        assert state is not None
        found.append((state.sequence, round(state.stamp, 3)))
    assert found == [(1, 0.0), (1, 0.0), (1, 0.0), (2, 0.03), (2, 0.03)]
    other = WireMessage("unitree_hg.msg.dds_.LowState_")
    other.put("tick", 40)
    other.put("mode_machine", 6)
    port.waiting.append(other)
    with pytest.raises(SafetyError, match="is it the right robot"):
        link.read()
    with pytest.raises(DataError, match="this robot has 29"):
        link.write(arm_command())


def test_states_of_the_vendors_simulators_are_taken() -> None:
    """They leave checksum and tick at zero; a robot that sealed once must do it always."""
    link, port = link_to("g1"), _Port()
    real = link._port
    kind = "unitree_hg.msg.dds_.LowState_"
    bare, torn, sealed = (WireMessage(kind) for _ in range(3))
    bare.put("motor_state.0.q", 0.5)
    torn.put("crc", 7)
    assert real._is_whole(bare) and not real._is_whole(torn)
    sealed.seal()
    assert real._is_whole(sealed) and not real._is_whole(bare)
    real.close()
    link._port = port  # type: ignore[assignment]
    port.waiting = [bare, bare]
    first, second = link.read(), link.read()
    assert first is not None and second is not None
    assert (first.sequence, second.sequence) == (1, 2) and second.stamp > first.stamp
    assert link.read() is second


def test_commands_without_a_checksum_are_not_taken() -> None:
    """Whoever they come from."""
    port = UnitreePort("unitree_hg", DOMAIN["g1"], robot_side=True)
    assert not port._is_whole(WireMessage("unitree_hg.msg.dds_.LowCmd_"))
    port.close()
