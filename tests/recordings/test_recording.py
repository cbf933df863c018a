"""A Recording refuses what does not fit together, and says all of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from gapless.recordings.recording import Recording
from gapless.robots import Payload


def make(**changes) -> Recording:
    """Ten samples of two joints."""
    values = {
        "name": "walk",
        "joints": ("a", "b"),
        "rate": 50.0,
        "q": np.arange(20.0).reshape(10, 2),
        "target": np.zeros((10, 2)),
        "mask": np.ones((10, 2), bool),
    }
    return Recording(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": np.zeros((9, 2))}, "target has shape"),
        ({"mask": np.ones((10, 3), bool)}, "mask has shape"),
        ({"channels": {"dq": np.zeros((10, 1))}}, "dq has shape"),
        ({"channels": {"base_pos": np.zeros((10, 2))}}, "base_pos has shape"),
        ({"channels": {"imu_gyro": np.zeros((9, 3))}}, "imu_gyro has 9 samples"),
        ({"channels": {"speed": np.zeros((10, 2))}}, "unknown channel 'speed'"),
        ({"joints": ("a", "a")}, "named twice"),
        ({"rate": 0.0}, "rate is 0"),
        ({"q": np.full((10, 2), np.nan)}, "not finite where the mask"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict, message: str) -> None:
    """The message names the recording and the channel."""
    with pytest.raises(DataError, match=rf"'walk'.*{message}"):
        make(**changes)


def test_all_problems_are_said_at_once() -> None:
    """One error, every reason."""
    with pytest.raises(DataError, match=r"target has shape.*rate is -1"):
        make(target=np.zeros((9, 2)), rate=-1.0)


def test_frames_are_valid_where_every_usable_joint_is() -> None:
    """A joint masked throughout does not count; one masked here and there does."""
    mask = np.ones((10, 2), bool)
    mask[:, 0] = False
    mask[3, 1] = False
    clip = make(mask=mask)
    assert np.flatnonzero(~clip.frame_valid).tolist() == [3]
    assert not make(mask=np.zeros((10, 2), bool)).frame_valid.any()


def test_time_clip_and_columns() -> None:
    """The clock is uniform; a clip keeps its channels in step; a wrong joint is named."""
    recording = make(channels={"dq": np.arange(20.0).reshape(10, 2)})
    assert recording.duration == pytest.approx(9 / 50)
    part = recording.clip(2, 5)
    np.testing.assert_array_equal(part.channels["dq"], recording.channels["dq"][2:5])
    assert (len(part), part.column("b")) == (3, 1)
    with pytest.raises(NameMismatchError, match="'c'"):
        recording.column("c")


def test_conditions_survive_json() -> None:
    """Payloads, gains and held joints come back as they were."""
    conditions = Conditions(
        unit="7",
        payloads={"hand": Payload(1.5, (0.0, 0.1, 0.2))},
        gains={"a": (10.0, 1.0)},
        held={"b": 0.1},
    )
    assert Conditions.from_dict(conditions.to_dict()) == conditions
    assert conditions.payload_mass == 1.5
    assert Conditions().payload_mass is None
    assert Conditions(payloads={}).payload_mass == 0


def test_flags_are_kept_with_the_dataset(tmp_path: Path) -> None:
    """Of a recording and of an episode, in memory and read back."""
    clips = [make(), make(name="fall", provenance={"flags": ["not_followed"]})]
    Dataset.from_recordings(clips).save(tmp_path / "set")
    for dataset in (Dataset.from_recordings(clips), Dataset.open(tmp_path / "set")):
        assert [e.flags for e in dataset.episodes] == [(), ("not_followed",)]
        assert [r.flags for r in dataset] == [(), ("not_followed",)]
    assert make(provenance={"flags": None}).flags == ()
