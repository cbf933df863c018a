"""UnitreeLink: a G1, H1-2 or Go2 by its own messages, without the vendor's SDK."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gapless.deployment.links.unitree_wire import HEAD, LEVEL, MOTORS, motor_rows
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
        self._rows = motor_rows(model, joints)
        from gapless.deployment.links.unitree_dds import UnitreePort
        from gapless.deployment.links.unitree_messages import blank_message

        self.joints, self.is_real = tuple(joints), not simulated
        self.family = MOTORS[model][0]
        self.channels = CHANNELS[self.family]
        self._damping = np.array(damping, float)
        self._port = UnitreePort(self.family, domain, robot_side=False, sealed=sealed)
        self._message = blank_message(self._port.given_kind)
        self._mode_machine = mode_machine
        self._state: LinkState | None = None
        self._tick = 0

    @property
    def corrupt(self) -> int:
        """States that were dropped because of their checksum."""
        return self._port.corrupt

    def read(self) -> LinkState | None:
        """The newest state; the one before, where none came or its tick is no new one."""
        message = self._port.take()
        if message is not None and self._is_new(message.tick):
            self._require_machine(message)
            self._state = self._seen(message)
            self._tick = message.tick
        return self._state

    def write(self, command: JointCommand) -> JointCommand:
        """Send a command to the motors of the joints; the others are left off."""
        command.require_joints(len(self.joints))
        if self._state is None:
            raise SafetyError("nothing was received from the robot: its mode is not known")
        names = ("q", "dq", "kp", "kd", "tau")
        sent = {name: np.float32(getattr(command, name)).astype(float) for name in names}
        told = zip(*(array.tolist() for array in sent.values()), strict=True)
        for row, numbers in zip(self._rows, told, strict=True):
            motor = self._message.motor_cmd[row]
            motor.mode = 1
            motor.q, motor.dq, motor.kp, motor.kd, motor.tau = numbers
        self._port.give(self._message)
        return JointCommand(**sent, output=command.output)

    def damp(self) -> None:
        """Brake; without any state there is nobody to tell."""
        if self._state is not None:
            self.write(JointCommand.damping(self._damping, self._state.q))

    def close(self) -> None:
        """Leave; the robot's own watchdog does the rest."""
        self._port.close()

    def _is_new(self, tick: int) -> bool:
        """Whether time went on; in the vendor's simulators it is always 0, and each one is new."""
        if self._state is None or tick == self._tick == 0:
            return True
        return 0 < (tick - self._tick) % TICKS < TICKS // 2

    def _require_machine(self, message: Any) -> None:
        """Take over the modes of the robot, or refuse another robot."""
        if self.family == "unitree_go":
            self._message.head, self._message.level_flag = list(HEAD), LEVEL
            return
        if self._mode_machine is not None and message.mode_machine != self._mode_machine:
            raise SafetyError(
                f"the robot says mode_machine {message.mode_machine}, expected "
                f"{self._mode_machine}: is it the right robot?"
            )
        self._message.mode_pr = message.mode_pr
        self._message.mode_machine = message.mode_machine

    def _passed(self, message: Any, before: LinkState, now: float) -> float:
        """s since the state before: by the robot's count, or by our clock where it does not."""
        ticks = (message.tick - self._tick) % TICKS
        return ticks / 1000 if ticks else now - before.received

    def _seen(self, message: Any) -> LinkState:
        motors, imu = [message.motor_state[row] for row in self._rows], message.imu_state
        before, now = self._state, time.monotonic()
        return LinkState(
            sequence=1 if before is None else before.sequence + 1,
            stamp=0.0 if before is None else before.stamp + self._passed(message, before, now),
            received=now,
            q=np.array([m.q for m in motors]),
            dq=np.array([m.dq for m in motors]),
            torque=np.array([m.tau_est for m in motors]),
            base_quat_wxyz=np.array(imu.quaternion, float),
            base_ang_vel_b=np.array(imu.gyroscope, float),
            acceleration=np.array(imu.accelerometer, float),
            **_of_family(self.family, message, motors),
        )


def _of_family(family: str, message: Any, motors: list[Any]) -> dict[str, Any]:
    """What the two families say differently."""
    if family == "unitree_go":
        return {
            "temperature": np.array([float(m.temperature) for m in motors]),
            "voltage": float(message.power_v),
            "contact": np.array(message.foot_force, float),
        }
    return {
        "temperature": np.array([float(max(m.temperature)) for m in motors]),
        "voltage": float(min(m.vol for m in motors)),
        "motor_fault": np.array([float(m.motorstate) for m in motors]),
    }
