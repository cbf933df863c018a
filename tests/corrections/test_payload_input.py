"""When a correction looks at the mass that is carried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gapless.corrections import CorrectSettings, correct
from gapless.corrections.payload_input import payload_inputs
from gapless.errors import DataError
from gapless.recordings import Split
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot


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


def test_held_out_recordings_do_not_decide(pair: Robot, waves: list[Recording]) -> None:
    """A model looks at what learning and choosing states; what tests must state it then."""
    told = [carrying(w, 0.2) for w in waves[:2]]
    for kg in (0.0, 0.2, None):
        split = Split.of(told[:1], told[1:], [carrying(waves[2], kg)])
        assert CorrectSettings().suited_to(split, 10.0, pair).model_settings["payload"]
    with pytest.raises(DataError, match=r"1 held-out recordings \(.*do not say what was carried"):
        correct(split, pair)
