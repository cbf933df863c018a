"""DatagramRobot: a World behind a UDP port, in its own process, with its own watchdog."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gapless.deployment.command_watchdog import WatchedBody
from gapless.deployment.gantry import Gantry
from gapless.deployment.links.datagram_link import Address, shape_of
from gapless.deployment.loop_timing import Clock, MonotonicClock, step_until
from gapless.deployment.packets import COMMAND, HELLO, MOST, STATE, Packet, PacketCounts, PacketGate
from gapless.deployment.robot_link import LinkState
from gapless.deployment.state_values import command_of_row, state_row, state_sizes

if TYPE_CHECKING:
    from gapless.worlds.world import State, World


class DatagramRobot:
    """Tells its state at the world's rate to whoever said hello last, and obeys that one.

    Args:
        world: the robot; its rate is that of the states.
        host: to listen on; this computer alone by default.
        port: 0 is any that is free.
        start: (1, ...) where it begins.
        patience: s without a command after which it damps, until it is started anew.
        clock: what time is.
        gantry: that it hangs on at first.
        channels: of its states; all that the world has by default.
    """

    def __init__(
        self,
        world: World,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        start: State | None = None,
        patience: float = 0.1,
        clock: Clock | None = None,
        gantry: Gantry | None = None,
        channels: Sequence[str] | None = None,
    ) -> None:
        self.body = WatchedBody(world, start, patience, gantry)
        self.clock = clock or MonotonicClock()
        joints = self.body.link.joints
        self._sizes = state_sizes(len(joints), 0, channels or self.body.link.channels)
        self._shape = shape_of(joints, self._sizes)
        self.session = secrets.randbits(31) + 1
        self._gate = PacketGate(COMMAND, self.session, 5 * len(joints))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind((host, port))
        self._peer: Address | None = None
        self._period, self._number = 1.0 / world.rate, 0
        self.strangers = 0

    @property
    def address(self) -> Address:
        """Where it listens."""
        return self._socket.getsockname()

    @property
    def counts(self) -> PacketCounts:
        """What became of the commands."""
        return self._gate.counts

    def run(self, until: Callable[[], bool]) -> None:
        """Live in real time, or as fast as the simulation is, until told."""
        step_until(until, self.step, self.clock, self._period)
        self._socket.close()

    def step(self) -> LinkState:
        """One control step of the world: hear, obey or damp, tell."""
        now = self.clock.now()
        for _ in range(1000):
            try:
                self._hear(*self._socket.recvfrom(MOST), now)
            except BlockingIOError:
                break
        state = self.body.live(now)
        self._tell(state, now)
        return state

    def _hear(self, data: bytes, sender: Address, now: float) -> None:
        packet = Packet.unpack(data)
        if packet is not None and packet.kind == HELLO:
            self._greet(packet, sender)
            return
        if packet is not None and sender != self._peer:
            self.strangers += 1
            return
        admitted = self._gate.admit(data)
        if admitted is not None:
            self.body.hear(command_of_row(admitted.values), now)

    def _greet(self, packet: Packet, sender: Address) -> None:
        """One commander at a time; another one is answered only before the first command."""
        alike = len(packet.values) == 1 and int(packet.values[0]) == self._shape
        if alike and (self._peer in (None, sender) or not self.body.commanded):
            self._peer = sender
        elif sender != self._peer or not alike:
            self.strangers += 1

    def _tell(self, state: LinkState, now: float) -> None:
        if self._peer is None:
            return
        self._number += 1
        packet = Packet(STATE, self.session, self._number, now, state_row(state, self._sizes))
        try:
            self._socket.sendto(packet.pack(), self._peer)
        except OSError:
            return  # as good as lost; numbers tell
