"""Only whole, new packets of this session pass, whatever a wire does; the rest is counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.deployment.packets import COMMAND, STATE, Packet, PacketGate
from gapless.deployment.robot_link import CHANNELS
from gapless.deployment.state_values import (
    command_of_row,
    command_row,
    state_of_row,
    state_row,
    state_sizes,
)
from safe_arm import command, state


def packet(number: int, session: int = 7, kind: int = STATE, size: int = 3) -> bytes:
    """Whose values say its number."""
    return Packet(kind, session, number, 0.5, np.full(size, float(number))).pack()


def test_a_packet_arrives_as_it_was_sent() -> None:
    """All of it."""
    found = Packet.unpack(packet(12))
    assert found is not None
    assert (found.kind, found.session, found.number, found.stamp) == (STATE, 7, 12, 0.5)
    np.testing.assert_array_equal(found.values, [12.0] * 3)


def test_any_wrong_bit_is_found() -> None:
    """And any missing byte."""
    data = packet(1)
    for bit in range(8 * len(data)):
        bad = bytearray(data)
        bad[bit // 8] ^= 1 << bit % 8
        assert Packet.unpack(bytes(bad)) is None
    assert all(Packet.unpack(data[:k]) is None for k in range(len(data)))
    assert Packet.unpack(data + b"\0") is None


def test_what_is_lost_late_or_doubled_is_counted() -> None:
    """1 2 - 5 (3 late) (5 again) 6."""
    gate = PacketGate(STATE, 7)
    admitted = [gate.admit(packet(n)) for n in (1, 2, 5, 3, 5, 6, 3)]
    assert [p.number for p in admitted if p is not None] == [1, 2, 5, 6]
    counts = gate.counts
    assert (counts.accepted, counts.missing, counts.late, counts.duplicate) == (4, 2, 1, 2)


@pytest.mark.parametrize("odd", [{"session": 8}, {"kind": COMMAND}, {"size": 2}])
def test_what_is_not_meant_for_us_does_not_pass(odd: dict[str, int]) -> None:
    """Of a robot before its restart, of another kind, of another robot."""
    gate = PacketGate(STATE, 7, 3)
    assert gate.admit(packet(1, **odd)) is None and gate.counts.foreign == 1
    assert gate.admit(packet(1)) is not None


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_a_bad_wire_changes_nothing_but_the_counts(chance: object, sent: int) -> None:
    """Drop, double, delay and damage at random: numbers that pass only rise, values are right."""
    draw = chance.random  # type: ignore[attr-defined]
    wire: list[tuple[float, bytes, bool]] = []
    lost = 0
    for number in range(1, sent + 1):
        times = 0 if draw() < 0.2 else 2 if draw() < 0.2 else 1
        lost += times == 0
        for _ in range(times):
            data, broken = bytearray(packet(number)), draw() < 0.2
            if broken:
                data[int(draw() * len(data))] ^= 1 << int(draw() * 8)
            wire.append((number + (5 * draw() if draw() < 0.3 else 0), bytes(data), broken))
    gate, passed = PacketGate(STATE, 7, 3), []
    for _, data, broken in sorted(wire, key=lambda entry: entry[0]):
        found = gate.admit(data)
        if found is not None:
            assert not broken and (found.values == found.number).all()
            passed.append(found.number)
    assert passed == sorted(set(passed))
    counts = gate.counts
    assert counts.corrupt == sum(broken for *_, broken in wire)
    assert counts.accepted + counts.late + counts.duplicate + counts.corrupt == len(wire)


def test_memory_of_a_gate_does_not_grow() -> None:
    """Five thousand packets."""
    gate = PacketGate(STATE, 7)
    for number in range(5000):
        gate.admit(packet(number))
    assert len(gate._recent) == 1000 and gate.counts.accepted == 5000


def test_states_and_commands_survive_the_wire() -> None:
    """Every field, to the bit."""
    sizes = state_sizes(2, 2, CHANNELS)
    sent = state(41, voltage=47.5)
    back = state_of_row(state_row(sent, sizes), sizes, 3.0)
    assert (back.sequence, back.stamp, back.received, back.voltage) == (41, sent.stamp, 3.0, 47.5)
    for name in ("q", "dq", *CHANNELS):
        np.testing.assert_array_equal(getattr(back, name), getattr(sent, name))
    wanted = command(0.3, tau=np.array([1.0, 2.0]))
    again = command_of_row(command_row(wanted))
    for name in ("q", "dq", "kp", "kd", "tau"):
        np.testing.assert_array_equal(getattr(again, name), getattr(wanted, name))
