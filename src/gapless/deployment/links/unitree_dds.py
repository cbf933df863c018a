"""One side of Unitree's two topics: takes one kind of message, publishes the other."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

from gapless.deployment.links.unitree_messages import message_type, require_dds, sample_of
from gapless.deployment.links.unitree_wire import COMMAND, STATE
from gapless.deployment.links.wire_message import WireMessage

LOOPBACK = """<CycloneDDS><Domain Id="any"><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>40</MaxAutoParticipantIndex>
<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""
"""A CYCLONEDDS_URI for a robot that is a process on this computer: nothing leaves it."""


def interface_uri(name: str) -> str:
    """A CYCLONEDDS_URI for a robot on one of this computer's networks, such as eth0."""
    return (
        '<CycloneDDS><Domain Id="any"><General><Interfaces>'
        f"<NetworkInterface name={quoteattr(name)}/>"
        "</Interfaces></General></Domain></CycloneDDS>"
    )


class UnitreePort:
    """Default quality of service, as the vendor's own: the newest message counts.

    Args:
        family: unitree_hg or unitree_go.
        domain: 0 on robots, 1 in the vendor's simulator.
        robot_side: take commands and publish states, instead of the other way round.
        sealed: count and drop messages whose checksum is wrong.

    Attributes:
        given_kind: type of the messages that it publishes.
        corrupt: messages that were dropped because of their checksum.

    The vendor's simulators leave checksums of states at zero. Such states are taken from who never
    sealed one; whoever did once must do it always. Commands are never taken without.
    """

    def __init__(self, family: str, domain: int, robot_side: bool, sealed: bool = True) -> None:
        require_dds()
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        kinds = {COMMAND: f"{family}.msg.dds_.LowCmd_", STATE: f"{family}.msg.dds_.LowState_"}
        taken, given = (COMMAND, STATE) if robot_side else (STATE, COMMAND)
        self.given_kind = kinds[given]
        self._sealed, self._seals = sealed, robot_side
        self._participant: Any = DomainParticipant(domain)
        topics = {n: Topic(self._participant, n, message_type(k)) for n, k in kinds.items()}
        self._reader: Any = DataReader(self._participant, topics[taken])
        self._writer: Any = DataWriter(self._participant, topics[given])
        self.corrupt = 0

    def take(self) -> WireMessage | None:
        """The newest message since the last call, if one came whose checksum is right."""
        newest = None
        for message in self._reader.take(N=16):
            if not isinstance(message, WireMessage):
                continue  # the other side left
            if self._sealed and not self._is_whole(message):
                self.corrupt += 1
                continue
            newest = message
        return newest

    def _is_whole(self, message: WireMessage) -> bool:
        whole = message.is_sealed
        self._seals = self._seals or whole
        return whole or (message.get("crc") == 0 and not self._seals)

    def give(self, message: WireMessage, seal: bool = True) -> None:
        """Publish a message, with its checksum."""
        if seal:
            message.seal()
        self._writer.write(sample_of(message))

    def close(self) -> None:
        """Leave the domain."""
        self._reader = self._writer = self._participant = None
