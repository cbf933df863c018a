"""When a correction looks at the mass that is carried."""

from __future__ import annotations

from dataclasses import replace

from gapless.corrections.payload_input import payload_inputs
from gapless.recordings.recording import Recording
from gapless.robots import Payload


def carrying(recording: Recording, kg: float | None) -> Recording:
    """The recording with another load."""
    loads = None if kg is None else {"gripper": Payload(kg)} if kg else {}
    return replace(recording, conditions=replace(recording.conditions, payloads=loads))


def test_payload_is_seen_where_every_recording_states_it_and_some_carry(
    waves: list[Recording],
) -> None:
    """And nowhere else, or where it is not wanted."""
    loaded = [carrying(waves[0], 0.0), carrying(waves[1], 0.2)]
    assert payload_inputs("operator", loaded) == {"payload": True}
    assert payload_inputs("mlp", loaded)["now"][-1] == "payload"
    assert payload_inputs("gru", loaded, wanted=False) == {}
    silent = [*loaded, carrying(waves[2], None)]
    empty = [carrying(w, 0.0) for w in waves]
    for blind in (silent, empty):
        assert payload_inputs("operator", blind) == {"payload": False}
        assert payload_inputs("mlp", blind) == {}
