"""SimulatedUnitree: a World that speaks and listens as Unitree's robots do, in its own process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gapless.deployment.command_watchdog import WatchedBody
from gapless.deployment.gantry import GRAVITY, Gantry
from gapless.deployment.links.unitree_wire import MOTORS, motor_rows
from gapless.deployment.links.wire_message import WireMessage
from gapless.deployment.loop_timing import Clock, MonotonicClock, step_until
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.robots.rotations import rotate

if TYPE_CHECKING:
    from gapless.worlds.world import State, World

VOLTS, WARM = 50.0, 30
"""What its battery and its motors show, where the world has no motors that warm up."""


class SimulatedUnitree:
    """Publishes rt/lowstate at the world's rate, and obeys rt/lowcmd.

    Args:
        world: the robot; its rate is that of the states.
        model: g1, h1_2 or go2.
        domain: of DDS.
        start: (1, ...) where it begins.
        patience: s without a command after which it damps, until it is started anew.
        mode_machine: that it shows, and that commands must show.
        clock: what time is.
        gantry: that it hangs on at first.
    """

    def __init__(
        self,
        world: World,
        model: str,
        domain: int = 1,
        *,
        start: State | None = None,
        patience: float = 0.1,
        mode_machine: int = 5,
        clock: Clock | None = None,
        gantry: Gantry | None = None,
    ) -> None:
        from gapless.deployment.links.unitree_dds import UnitreePort

        self._rows = tuple(motor_rows(model, world.robot.joints.names))
        self.body, self.family = WatchedBody(world, start, patience, gantry), MOTORS[model][0]
        self.clock = clock or MonotonicClock()
        self._port = UnitreePort(self.family, domain, robot_side=True)
        self._message = WireMessage(self._port.given_kind)
        self._mode_machine = mode_machine
        self._period = 1.0 / world.rate
        self._moved = np.zeros(3)
        self.foreign = 0

    @property
    def corrupt(self) -> int:
        """Commands that were dropped because of their checksum."""
        return self._port.corrupt

    def run(self, until: Callable[[], bool]) -> None:
        """Live in real time, or as fast as the simulation is, until told."""
        step_until(until, self.step, self.clock, self._period)
        self._port.close()

    def step(self) -> LinkState:
        """One control step of the world: hear, obey or damp, tell."""
        now, message = self.clock.now(), self._port.take()
        if message is not None and self._is_mine(message):
            self.body.hear(self._heard(message), now)
        state = self.body.live(now)
        self._port.give(self._told(state))
        return state

    def _is_mine(self, message: WireMessage) -> bool:
        """A command for another kind of machine is not obeyed."""
        mine = self.family == "unitree_go" or message.get("mode_machine") == self._mode_machine
        self.foreign += not mine
        return bool(mine)

    def _heard(self, message: WireMessage) -> JointCommand:
        fields = ("q", "dq", "kp", "kd", "tau")
        found = {f: message.get(f"motor_cmd.*.{f}", self._rows).astype(float) for f in fields}
        on = message.get("motor_cmd.*.mode", self._rows) != 0
        return JointCommand(**{n: a if n in ("q", "dq") else on * a for n, a in found.items()})

    def _told(self, state: LinkState) -> WireMessage:
        message = self._message
        message.put("tick", round(1000 * state.stamp) % 2**32)
        warm = WARM if state.temperature is None else np.round(state.temperature)
        motors = {
            **{"mode": 1, "q": state.q, "dq": state.dq},
            "tau_est": 0.0 if state.torque is None else state.torque,
        }
        if self.family == "unitree_hg":
            motors |= {"temperature.0": warm, "temperature.1": warm, "vol": VOLTS}
        else:
            motors |= {"temperature": warm}
        for field, values in motors.items():
            message.put(f"motor_state.*.{field}", values, self._rows)
        self._tell_body(state)
        return message

    def _tell_body(self, state: LinkState) -> None:
        message = self._message
        if state.base_quat_wxyz is not None and state.base_ang_vel_b is not None:
            message.put("imu_state.quaternion", state.base_quat_wxyz)
            message.put("imu_state.gyroscope", state.base_ang_vel_b)
            message.put("imu_state.accelerometer", self._felt(state, state.base_quat_wxyz))
        else:
            message.put("imu_state.quaternion", (1.0, 0.0, 0.0, 0.0))
            message.put("imu_state.accelerometer", (0.0, 0.0, GRAVITY))
        if self.family == "unitree_hg":
            message.put("mode_machine", self._mode_machine)
        else:
            message.put("power_v", VOLTS)
            message.put("foot_force", 1)

    def _felt(self, state: LinkState, quat_wxyz: np.ndarray) -> np.ndarray:
        """(3,) what an accelerometer shows, m/s²: gravity, and how the base gains speed."""
        moved = self._moved if state.base_lin_vel_w is None else np.array(state.base_lin_vel_w)
        gained, self._moved = (moved - self._moved) / self._period, moved
        backwards = np.array(quat_wxyz) * (1.0, -1.0, -1.0, -1.0)
        return rotate(backwards[None], gained + np.array([0.0, 0.0, GRAVITY]))[0]
