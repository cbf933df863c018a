"""Packets between two processes: numbered, of one session, and proven by a checksum."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

HELLO, STATE, COMMAND = 1, 2, 3
_HEAD = struct.Struct("<4sBxHIQd")
_MAGIC = b"gapL"
MOST = 60_000
"""Bytes of a packet; UDP takes no more."""


@dataclass(frozen=True)
class Packet:
    """One message.

    Attributes:
        kind: HELLO, STATE or COMMAND.
        session: of the robot: a new number every time that it is started.
        number: rises by one with every packet of its sender.
        stamp: the sender's clock, s.
        values: float64 numbers.
    """

    kind: int
    session: int
    number: int
    stamp: float
    values: np.ndarray

    def pack(self) -> bytes:
        """As it is sent."""
        count = len(self.values)
        head = _HEAD.pack(_MAGIC, self.kind, count, self.session, self.number, self.stamp)
        data = head + np.asarray(self.values, "<f8").tobytes()
        return data + zlib.crc32(data).to_bytes(4, "little")

    @classmethod
    def unpack(cls, data: bytes) -> Packet | None:
        """What arrived; None where a single bit of it is wrong."""
        if len(data) < _HEAD.size + 4 or zlib.crc32(data[:-4]) != int.from_bytes(
            data[-4:], "little"
        ):
            return None
        magic, kind, count, session, number, stamp = _HEAD.unpack_from(data)
        if magic != _MAGIC or len(data) != _HEAD.size + 8 * count + 4:
            return None
        return cls(kind, session, number, stamp, np.frombuffer(data[_HEAD.size : -4], "<f8"))


@dataclass
class PacketCounts:
    """What became of the packets that came, and of those that did not.

    Attributes:
        accepted: new and whole.
        corrupt: not whole, or not ours.
        foreign: of another session, kind or size: from before a restart, or not meant for us.
        duplicate: that had come before.
        late: overtaken by a newer one; not acted on.
        missing: numbers that were skipped; those that come late are counted there too.
    """

    accepted: int = 0
    corrupt: int = 0
    foreign: int = 0
    duplicate: int = 0
    late: int = 0
    missing: int = 0


class PacketGate:
    """Lets through what is whole, ours and newer than all before; counts the rest.

    Args:
        kind: of packets that may pass.
        session: that they must have; None is any, until `session` is set.
        size: numbers that they must have; None is any.
    """

    def __init__(self, kind: int, session: int | None = None, size: int | None = None) -> None:
        self.kind, self.session, self.size = kind, session, size
        self.counts = PacketCounts()
        self._newest = -1
        self._recent: dict[int, None] = {}

    def admit(self, data: bytes) -> Packet | None:
        """The packet, if it may be acted on."""
        packet, counts = Packet.unpack(data), self.counts
        if packet is None:
            counts.corrupt += 1
            return None
        if not self._is_ours(packet):
            counts.foreign += 1
            return None
        if packet.number <= self._newest:
            again = packet.number in self._recent
            counts.duplicate += again
            counts.late += not again
            self._remember(packet.number)
            return None
        counts.missing += packet.number - self._newest - 1 if self._newest >= 0 else 0
        counts.accepted += 1
        self._newest = packet.number
        self._remember(packet.number)
        return packet

    def _is_ours(self, packet: Packet) -> bool:
        return (
            packet.kind == self.kind
            and self.session in (None, packet.session)
            and self.size in (None, len(packet.values))
        )

    def _remember(self, number: int) -> None:
        """The last thousand, to tell what comes again from what comes late."""
        self._recent[number] = None
        if len(self._recent) > 1000:
            self._recent.pop(next(iter(self._recent)))
