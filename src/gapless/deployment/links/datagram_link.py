"""DatagramLink: a robot in another process, by numbered and proven UDP packets."""

from __future__ import annotations

import json
import socket
import time
import zlib
from collections.abc import Sequence

import numpy as np

from gapless.deployment.packets import COMMAND, HELLO, MOST, STATE, Packet, PacketCounts, PacketGate
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.state_values import command_row, state_of_row, state_sizes
from gapless.errors import SafetyError

Address = tuple[str, int]


class DatagramLink:
    """States are asked for by saying hello; what is lost, late, doubled or damaged is never used.

    Args:
        address: where the robot listens.
        joints: in the order of all arrays; the robot must have the same, in the same order.
        channels: of its states.
        damping: (J,) gains of `damp`, N·m·s/rad.
        feet: that its contact sensors are of.
        is_real: False for a World.
    """

    def __init__(
        self,
        address: Address,
        joints: Sequence[str],
        channels: Sequence[str],
        damping: np.ndarray,
        feet: int = 0,
        is_real: bool = False,
    ) -> None:
        self.joints, self.channels, self.is_real = tuple(joints), tuple(channels), is_real
        self._sizes = state_sizes(len(self.joints), feet, self.channels)
        self._gate = PacketGate(STATE, size=2 + sum(self._sizes.values()))
        self._damping = np.array(damping, float)
        self._hello = np.array([shape_of(self.joints, self._sizes)], float)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect(address)
        self._state: LinkState | None = None
        self._number = 0
        self._send(HELLO, self._hello)

    @property
    def counts(self) -> PacketCounts:
        """What became of the states."""
        return self._gate.counts

    def read(self) -> LinkState | None:
        """The newest state that came whole; a robot that is silent is greeted again."""
        fresh = False
        for data in drain(self._socket):
            packet = self._gate.admit(data)
            if packet is not None:
                self._gate.session = packet.session
                self._state = state_of_row(packet.values, self._sizes, time.monotonic())
                fresh = True
        if not fresh:
            self._send(HELLO, self._hello)
        return self._state

    def write(self, command: JointCommand) -> JointCommand:
        """Send a command; before the first state there is no session to send it to."""
        command.require_joints(len(self.joints))
        if self._gate.session is None:
            raise SafetyError("nothing was received from the robot: nobody is there to command")
        self._send(COMMAND, command_row(command))
        return command

    def damp(self) -> None:
        """Brake."""
        if self._state is not None:
            self.write(JointCommand.damping(self._damping, self._state.q))

    def close(self) -> None:
        """The robot's own watchdog does the rest."""
        self._socket.close()

    def _send(self, kind: int, values: np.ndarray) -> None:
        self._number += kind == COMMAND
        packet = Packet(kind, self._gate.session or 0, self._number, time.monotonic(), values)
        try:
            self._socket.send(packet.pack())
        except (BlockingIOError, ConnectionRefusedError):
            return  # as good as lost: the robot's silence will tell


def drain(connection: socket.socket, most: int = 1000) -> list[bytes]:
    """Packets that wait; no more than so many, whoever floods us."""
    found = []
    while len(found) < most:
        try:
            found.append(connection.recv(MOST))
        except BlockingIOError:
            break
        except ConnectionRefusedError:
            continue  # nobody listened when we last sent
    return found


def shape_of(joints: Sequence[str], sizes: dict[str, int]) -> int:
    """A number that differs where joints, their order or channels do."""
    return zlib.crc32(json.dumps([list(joints), sizes]).encode())
