"""The other end of the soak: a simulated Go2 in its own process, which lies and breaks when told.

It judges every command that it receives, and keeps its own count of those beyond the limits.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gapless.deployment.command_watchdog import CommandWatchdog, WatchedBody
from gapless.deployment.datagram_robot import DatagramRobot
from gapless.deployment.link_addresses import UDP_CHANNELS, use_interface
from gapless.deployment.links.wire_message import WireMessage
from gapless.deployment.packets import STATE, Packet
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_limits import SafetyLimits
from gapless.deployment.simulated_robot import SimulatedUnitree
from gapless.deployment.soft_realtime import soft_realtime
from gapless.deployment.state_values import state_row
from gapless.robots import Robot
from gapless.worlds import MujocoWorld, World

RATE, PATIENCE, LATE, BEYOND = 100, 0.3, 0.5, 3.0
"""States per second; s of its watchdog; s that late states are late; rad of an excursion."""
PILOT_RATE, SLACK = 50, 0.1
"""Commands per second; s by which a state may be older than the command that it led to."""


class Judge:
    """Counts commands, and those that no limit allows: of targets, their speed, and torques.

    The pilot judged by a sample that was a little older: what a joint moves in SLACK s is allowed.
    """

    def __init__(self, body: WatchedBody, limits: SafetyLimits) -> None:
        self._joints = limits.joints.in_order(body.link.joints)
        self._body = body
        self._hear, body.hear = body.hear, self.hear  # type: ignore[method-assign]
        self._before: tuple[JointCommand, float] | None = None
        self.heard = self.beyond = 0

    def hear(self, command: JointCommand, now: float) -> None:
        """Judge it, and hand it on."""
        self.heard += 1
        self.beyond += not self._allowed(command, now)
        self._before = (command, now)
        self._hear(command, now)

    def _allowed(self, command: JointCommand, now: float) -> bool:
        own, near = self._joints, 1e-5
        driven = command.kp > 0
        within = (command.q >= own.lower - near) & (command.q <= own.upper + near)
        parts = (command.q, command.dq, command.kp, command.kd, command.tau)
        if not all(np.isfinite(part).all() for part in parts):
            return False
        fast = (np.abs(command.dq) > own.velocity + near) | self._leaps(command, now)
        return not (driven & (~within | fast | self._pushes(command))).any()

    def _leaps(self, command: JointCommand, now: float) -> np.ndarray:
        """Targets that go further than their rate allows in the time since the command before."""
        if self._before is None:
            return np.zeros(len(command.q), bool)
        before, then = self._before
        way = self._joints.rate * (now - then + 2 / PILOT_RATE)
        return (before.kp > 0) & (np.abs(command.q - before.q) > way)

    def _pushes(self, command: JointCommand) -> np.ndarray:
        """Joints that are driven with more than their torque; braking may be as hard as it is."""
        state, most = self._body.link.read(), self._joints.torque
        drive = command.kp * (command.q - state.q) + command.tau
        torque = drive + command.kd * (command.dq - state.dq)
        slack = 0.1 * most + (SLACK * command.kp + command.kd) * np.abs(state.dq)
        return (drive * torque > 0) & (np.abs(torque) > most + slack)


class FaultyDatagrams(DatagramRobot):
    """Tells over UDP what it is told to."""

    fault = ""

    def __init__(self, world: World, **options: Any) -> None:
        super().__init__(world, **options)
        self._waiting: deque[tuple[float, bytes]] = deque()

    def _tell(self, state: LinkState, now: float) -> None:
        if self._peer is None:
            return
        self._number += self.fault != "frozen"
        row = state_row(lied(state, self.fault), self._sizes)
        data = Packet(STATE, self.session, self._number, now, row).pack()
        if self.fault == "wrong CRC":
            data = data[:-1] + bytes([data[-1] ^ 1])
        self._waiting.append((now + (LATE if self.fault == "late" else 0.0), data))
        while self._waiting and self._waiting[0][0] <= now:
            self._socket.sendto(self._waiting.popleft()[1], self._peer)


class FaultyPort:
    """Unitree's port of a robot that lies and breaks."""

    def __init__(self, port: Any) -> None:
        self._port, self.fault, self._tick = port, "", 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def give(self, message: WireMessage) -> None:
        """Publish it, or what a fault makes of it; what is late by so much is not seen at all."""
        if self.fault == "late":
            return
        self._tick = self._tick if self.fault == "frozen" else int(message.get("tick"))
        message.put("tick", self._tick)
        if self.fault == "NaN state":
            message.put("motor_state.3.q", np.nan)
        if self.fault == "excursion":
            message.put("motor_state.3.q", message.get("motor_state.3.q") + BEYOND)
        message.seal()
        if self.fault == "wrong CRC":
            message.put("crc", message.get("crc") ^ 1)
        self._port.give(message, seal=False)


def lied(state: LinkState, fault: str) -> LinkState:
    """A state as a broken sensor shows it."""
    q = state.q.copy()
    q[3] = {"NaN state": np.nan, "excursion": q[3] + BEYOND}.get(fault, q[3])
    return replace(state, q=q)


def live(link: str, place: int, told: Connection) -> None:
    """A robot until it is told to end, or killed.

    Args:
        link: udp or dds.
        place: DDS domain.
        told: faults come in, the address and the counts go out.
    """
    model = Robot.load("go2", mount="fixed")
    world = MujocoWorld(model, RATE, physics_step=0.005)
    use_interface("lo")
    with soft_realtime():  # threads of a link keep its priority
        if link == "udp":
            robot: Any = FaultyDatagrams(world, channels=UDP_CHANNELS[:1], patience=PATIENCE)
            faulty, address = robot, robot.address
        else:
            robot = SimulatedUnitree(world, "go2", place, patience=PATIENCE)
            robot._port = faulty = FaultyPort(robot._port)
            address = ("", place)
    judge = Judge(robot.body, SafetyLimits.of_robot(model, ()))
    told.send(address)
    asked = ""

    def over() -> bool:
        nonlocal asked
        while told.poll():
            asked = told.recv()
            if asked == "restart":  # a person looked, and started it anew
                robot.body.watchdog = CommandWatchdog(PATIENCE)
                told.send((judge.heard, judge.beyond))
            faulty.fault = asked if asked not in ("restart", "end") else ""
        return asked == "end"

    with soft_realtime():  # as `gapless deploy --simulate` does
        robot.run(over)
    told.send((judge.heard, judge.beyond, time.monotonic()))
