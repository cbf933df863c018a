"""UnitreeLink: a G1, H1-2 or Go2 by its own messages, without the vendor's SDK."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gapless.deployment.links.unitree_wire import HEAD, LEVEL, MOTORS, motor_rows
from gapless.deployment.links.wire_message import Rows, WireMessage
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.errors import SafetyError

_SEEN = ("torque", "temperature", "base_quat_wxyz", "base_ang_vel_b", "acceleration", "voltage")
CHANNELS = {"unitree_hg": (*_SEEN, "motor_fault"), "unitree_go": (*_SEEN, "contact")}
TICKS = 2**32
"""A robot's count of time begins again after so many."""


class UnitreeLink:
    """Reads rt/lowstate, writes rt/lowcmd.

    The orientation is that of the IMU, which policies take for the root's. Nothing is written
    before the first state: its mode_pr and mode_machine are those that commands must have.

    Args:
        model: g1, h1_2 or go2.
        joints: of the robot, in the order of all arrays; motors that have none are left off.
        damping: (J,) gains of `damp`, N·m·s/rad.
        domain: 0 on robots, 1 in the vendor's simulator.
        simulated: True only where nothing can break.
        mode_machine: that the robot must show; None takes what it shows.
        sealed: drop states whose checksum is wrong.
    """

    def __init__(
        self,
        model: str,
        joints: Sequence[str],
        damping: np.ndarray,
        domain: int = 0,
        *,
        simulated: bool = False,
        mode_machine: int | None = None,
        sealed: bool = True,
    ) -> None:
        self._rows = tuple(motor_rows(model, joints))
        from gapless.deployment.links.unitree_dds import UnitreePort

        self.joints, self.is_real = tuple(joints), not simulated
        self.family = MOTORS[model][0]
        self.channels = CHANNELS[self.family]
        self._damping = np.array(damping, float)
        self._port = UnitreePort(self.family, domain, robot_side=False, sealed=sealed)
        self._message = WireMessage(self._port.given_kind)
        self._mode_machine = mode_machine
        self._state: LinkState | None = None
        self._tick = 0
        self._fill(JointCommand.damping(self._damping))  # the first time takes longest
        self._message.seal()

    @property
    def corrupt(self) -> int:
        """States that were dropped because of their checksum."""
        return self._port.corrupt

    def read(self) -> LinkState | None:
        """The newest state; the one before, where none came or its tick is no new one."""
        message = self._port.take()
        if message is not None and self._is_new(tick := int(message.get("tick"))):
            self._require_machine(message)
            self._state, self._tick = self._seen(message, tick), tick
        return self._state

    def write(self, command: JointCommand) -> JointCommand:
        """Send a command to the motors of the joints; the others are left off."""
        command.require_joints(len(self.joints))
        if self._state is None:
            raise SafetyError("nothing was received from the robot: its mode is not known")
        sent = self._fill(command)
        self._port.give(self._message)
        return sent

    def damp(self) -> None:
        """Brake; without any state there is nobody to tell."""
        if self._state is not None:
            self.write(JointCommand.damping(self._damping, self._state.q))

    def close(self) -> None:
        """Leave; the robot's own watchdog does the rest."""
        self._port.close()

    def _fill(self, command: JointCommand) -> JointCommand:
        """Write a command into the message; what became of its numbers there."""
        message, kept = self._message, {}
        message.put("motor_cmd.*.mode", 1, self._rows)
        for name in ("q", "dq", "kp", "kd", "tau"):
            message.put(f"motor_cmd.*.{name}", getattr(command, name), self._rows)
            kept[name] = message.get(f"motor_cmd.*.{name}", self._rows).astype(float)
        return JointCommand(**kept, output=command.output)

    def _is_new(self, tick: int) -> bool:
        """Whether time went on; in the vendor's simulators it is always 0, and each one is new."""
        if self._state is None or tick == self._tick == 0:
            return True
        return 0 < (tick - self._tick) % TICKS < TICKS // 2

    def _require_machine(self, message: WireMessage) -> None:
        """Take over the modes of the robot, or refuse another robot."""
        if self.family == "unitree_go":
            self._message.put("head", HEAD)
            self._message.put("level_flag", LEVEL)
            return
        machine = int(message.get("mode_machine"))
        if self._mode_machine is not None and machine != self._mode_machine:
            raise SafetyError(
                f"the robot says mode_machine {machine}, expected "
                f"{self._mode_machine}: is it the right robot?"
            )
        self._message.put("mode_pr", message.get("mode_pr"))
        self._message.put("mode_machine", machine)

    def _passed(self, tick: int, before: LinkState, now: float) -> float:
        """s since the state before: by the robot's count, or by our clock where it does not."""
        ticks = (tick - self._tick) % TICKS
        return ticks / 1000 if ticks else now - before.received

    def _seen(self, message: WireMessage, tick: int) -> LinkState:
        before, now = self._state, time.monotonic()
        return LinkState(
            sequence=1 if before is None else before.sequence + 1,
            stamp=0.0 if before is None else before.stamp + self._passed(tick, before, now),
            received=now,
            q=_motors(message, "q", self._rows),
            dq=_motors(message, "dq", self._rows),
            torque=_motors(message, "tau_est", self._rows),
            base_quat_wxyz=message.get("imu_state.quaternion").astype(float),
            base_ang_vel_b=message.get("imu_state.gyroscope").astype(float),
            acceleration=message.get("imu_state.accelerometer").astype(float),
            **_of_family(self.family, message, self._rows),
        )


def _motors(message: WireMessage, field: str, rows: Rows) -> np.ndarray:
    return message.get(f"motor_state.*.{field}", rows).astype(float)


def _of_family(family: str, message: WireMessage, rows: Rows) -> dict[str, Any]:
    """What the two families say differently."""
    if family == "unitree_go":
        return {
            "temperature": _motors(message, "temperature", rows),
            "voltage": float(message.get("power_v")),
            "contact": message.get("foot_force").astype(float),
        }
    case, winding = (_motors(message, f"temperature.{k}", rows) for k in (0, 1))
    return {
        "temperature": np.maximum(case, winding),
        "voltage": float(message.get("motor_state.*.vol", rows).min()),
        "motor_fault": _motors(message, "motorstate", rows),
    }
