"""Recordings of a run are there however it ended, and hold what was really sent."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.deployment import row_writer
from gapless.deployment.flight_format import FlightHeader, row_files
from gapless.deployment.flight_recorder import FlightRecorder, flight_folder
from gapless.deployment.flight_recovery import recover_flight
from gapless.deployment.robot_link import CHANNELS, JointCommand
from gapless.errors import ArtifactError, DataError, FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from safe_arm import DT, NAMES, command, state

REAL = tuple(c for c in CHANNELS if c not in ("base_pos", "base_lin_vel_w"))
KILLED = """
import sys, time
sys.path[:0] = sys.argv[2:]
from safe_arm import NAMES, command, state
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.robot_link import CHANNELS
with FlightRecorder(sys.argv[1], "arm", NAMES, 50, CHANNELS, "wave") as recorder:
    for k in range(10**9):
        recorder.add(k, k / 50, state(k), command(k / 1e6))
        if k == 500:
            recorder.flush()
            print("ready", flush=True)
        time.sleep(0.0002)
"""


def recorder(out: Path, channels: tuple[str, ...] = CHANNELS, **facts: object) -> FlightRecorder:
    """Of the arm."""
    return FlightRecorder(out, "arm", NAMES, 50, channels, "wave", **facts)  # type: ignore[arg-type]


def fly(flight: FlightRecorder, steps: list[int]) -> None:
    """Joint positions say the step."""
    for k in steps:
        flight.add(k, k * DT, state(k, q=np.full(2, k / 100)), command(k / 50))


def test_a_run_becomes_a_dataset(tmp_path: Path) -> None:
    """Time, names, gains, channels; the flight is gone when the dataset is there."""
    told = Conditions(unit="7", mount="free", policy="walk")
    with recorder(tmp_path / "data", conditions=told, provenance={"by": "test"}) as flight:
        fly(flight, list(range(40)))
        assert flight_folder(tmp_path / "data").is_dir() and not (tmp_path / "data").exists()
    data = Dataset.open(tmp_path / "data")
    assert (data.robot, data.joints, data.rate, len(data)) == ("arm", NAMES, 50, 1)
    clip = data[0]
    np.testing.assert_allclose(clip.q[:, 0], np.arange(40) / 100, atol=1e-6)
    assert clip.target is not None and clip.mask.all() and clip.name == "wave"
    np.testing.assert_allclose(clip.target[:, 1], np.arange(40) / 50, atol=1e-6)
    assert clip.conditions == replace(told, gains=dict.fromkeys(NAMES, (20.0, 1.0)))
    assert {"dq", "torque", "temperature", "base_pos", "imu_acc", "contact"} <= set(clip.channels)
    assert "target_dq" not in clip.channels  # none was ever commanded
    assert not flight_folder(tmp_path / "data").exists() and clip.flags == ()


def test_without_a_position_the_orientation_is_an_imus(tmp_path: Path) -> None:
    """As a real robot has it."""
    with recorder(tmp_path / "data", REAL) as flight:
        fly(flight, list(range(20)))
    names = set(Dataset.open(tmp_path / "data")[0].channels)
    assert {"imu_quat_wxyz", "imu_gyro", "imu_acc"} <= names and not names & {"base_quat_wxyz"}


def test_steps_that_were_missed_are_masked_not_made_up(tmp_path: Path) -> None:
    """The target was in force meanwhile; an old sample is no sample."""
    with recorder(tmp_path / "data") as flight:
        fly(flight, [*range(10), *range(13, 30)])
        flight.add(30, 30 * DT, state(29), command(0.6))
        flight.add(31, 31 * DT, None, command(0.6))
    clip = Dataset.open(tmp_path / "data")[0]
    assert len(clip) == 32
    assert np.flatnonzero(~clip.mask.all(axis=1)).tolist() == [10, 11, 12, 30, 31]
    np.testing.assert_allclose(clip.target[10:13, 0], 9 / 50, atol=1e-6)  # type: ignore[index]
    facts = clip.provenance
    assert (facts["steps_missing"], facts["samples_old"]) == (3, 2)


def test_other_gains_and_long_gaps_begin_another_recording(tmp_path: Path) -> None:
    """Gains are those of a whole recording; damping says that it is damping."""
    with recorder(tmp_path / "data") as flight:
        fly(flight, [*range(20), *range(100, 120)])
        for k in range(120, 140):
            flight.add(k, k * DT, state(k), JointCommand.damping(np.full(2, 3.0)))
    clips = list(Dataset.open(tmp_path / "data"))
    assert [len(clip) for clip in clips] == [20, 20, 20]
    assert [clip.flags for clip in clips] == [(), (), ("damped",)]
    assert clips[2].conditions.gains == dict.fromkeys(NAMES, (0.0, 3.0))


def test_what_is_recorded_is_what_was_sent(tmp_path: Path) -> None:
    """Velocities and torques beside the targets too."""
    with recorder(tmp_path / "data") as flight:
        for k in range(20):
            sent = command(0.1, dq=np.array([0.5, 0.0]), tau=np.array([0.0, 2.0]))
            flight.add(k, k * DT, state(k), sent)
    clip = Dataset.open(tmp_path / "data")[0]
    np.testing.assert_allclose(clip.channels["target_dq"], [[0.5, 0.0]] * 20)
    np.testing.assert_allclose(clip.channels["torque_ff"], [[0.0, 2.0]] * 20)


def test_a_killed_run_is_recovered(tmp_path: Path) -> None:
    """kill -9 while it writes: every step that was told is there, and no half one."""
    out = tmp_path / "data"
    paths = [str(Path(__file__).parents[1]), *sys.path]
    run = [sys.executable, "-c", KILLED, str(out), *paths]
    process = subprocess.Popen(run, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline().strip() == b"ready"
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not out.exists() and flight_folder(out).is_dir()
    recover_flight(flight_folder(out), out)
    clip = Dataset.open(out)[0]
    assert len(clip) > 500 and clip.mask.all() and clip.provenance["steps_missing"] == 0
    np.testing.assert_allclose(clip.target[:, 0], np.arange(len(clip)) / 1e6, atol=1e-7)  # type: ignore[index]
    assert not flight_folder(out).exists()


def cut_off(tmp_path: Path, steps: int = 50) -> Path:
    """A flight that nobody ended."""
    flight = recorder(tmp_path / "data").__enter__()
    fly(flight, list(range(steps)))
    flight._writer.close()
    return flight.folder


def test_torn_and_damaged_rows_are_known_by_their_checksum(tmp_path: Path) -> None:
    """Half a row at the end, and a bit that flipped in the middle."""
    folder = cut_off(tmp_path)
    file = next(row_files(folder))
    data = bytearray(file.read_bytes())
    size = 4 + 8 * FlightHeader.read(folder).width
    assert len(data) == 50 * size
    data[20 * size + 100] ^= 1
    file.write_bytes(bytes(data[:-17]))
    recover_flight(folder, tmp_path / "data")
    clip = Dataset.open(tmp_path / "data")[0]
    assert len(clip) == 49 and np.flatnonzero(~clip.mask.all(axis=1)).tolist() == [20]
    assert clip.provenance["rows_damaged"] == 2


def test_a_long_run_is_several_files_and_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of so many rows; each becomes recordings of its own."""
    monkeypatch.setattr(row_writer, "ROWS_A_FILE", 30)
    with recorder(tmp_path / "data") as flight:
        fly(flight, list(range(75)))
        flight.flush()
        assert len(list(row_files(flight.folder))) == 3
    clips = list(Dataset.open(tmp_path / "data"))
    assert [len(clip) for clip in clips] == [30, 30, 15]
    np.testing.assert_allclose(np.concatenate([c.q[:, 0] for c in clips]), np.arange(75) / 100)


def test_a_full_disk_costs_rows_not_the_robot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are counted, and missing in the recording."""
    real, calls = os.write, itertools.count()

    def full(file: int, data: bytes) -> int:
        call = next(calls)
        if 10 <= call < 14:
            raise OSError(28, "No space left on device")
        return real(file, data[:9] if call == 14 else data)

    with recorder(tmp_path / "data") as flight:
        monkeypatch.setattr(row_writer.os, "write", full)
        fly(flight, list(range(30)))
        flight.flush()
        monkeypatch.undo()
    assert (flight.rows, flight.lost) == (25, 5)
    clip = Dataset.open(tmp_path / "data")[0]
    assert np.flatnonzero(~clip.mask.all(axis=1)).tolist() == [10, 11, 12, 13, 14]


def test_a_header_that_was_refused_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it the rows would be numbers without names."""
    real, calls = FlightHeader.write, itertools.count()

    def full(self: FlightHeader, folder: Path) -> None:
        if next(calls) < 3:
            raise ArtifactError("the disk is full")
        real(self, folder)

    monkeypatch.setattr(FlightHeader, "write", full)
    with recorder(tmp_path / "data") as flight:
        fly(flight, list(range(30)))
    assert (flight.rows, flight.lost) == (27, 3)
    assert len(Dataset.open(tmp_path / "data")[0]) == 27


def test_a_disk_that_hangs_does_not_hold_up_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows wait while there is room for them; then they are lost, and counted."""
    real, free = os.write, threading.Event()

    def slow(file: int, data: bytes) -> int:
        free.wait()
        return real(file, data)

    with recorder(tmp_path / "data") as flight:
        monkeypatch.setattr(row_writer.os, "write", slow)
        fly(flight, list(range(row_writer.WAITING + 50)))
        assert flight.rows == 0 and 49 <= flight.lost <= 51  # and this line was reached
        free.set()
        flight.flush()
        monkeypatch.undo()
    assert flight.rows + flight.lost == row_writer.WAITING + 50
    assert sum(len(clip) for clip in Dataset.open(tmp_path / "data")) == flight.rows


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Neither a dataset nor a flight that was cut off."""
    folder = cut_off(tmp_path)
    with pytest.raises(ArtifactError, match="cut off"), recorder(tmp_path / "data"):
        pass
    recover_flight(folder, tmp_path / "data")
    with pytest.raises(ArtifactError, match="already exists"), recorder(tmp_path / "data"):
        pass
    with pytest.raises(FormatError, match="is no flight"):
        recover_flight(folder, tmp_path / "other")


def test_a_run_without_a_sample_leaves_nothing(tmp_path: Path) -> None:
    """And one of a few says that it is too short; its flight stays."""
    with recorder(tmp_path / "data") as flight:
        flight.add(0, 0.0, None, command())
    assert flight.lost == 1 and list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="fewer than 10"), recorder(tmp_path / "data") as flight:
        fly(flight, [0, 1, 2])
    assert flight.folder.is_dir() and not (tmp_path / "data").exists()
    with pytest.raises(DataError, match="plain JSON"):
        recorder(tmp_path / "data", provenance={"when": float("nan")})
    with pytest.raises(DataError, match="whole number"):
        FlightRecorder(tmp_path / "data", "arm", NAMES, 49.5, (), "wave")


def test_the_error_of_a_run_is_told_not_that_of_its_recording(tmp_path: Path) -> None:
    """Three steps, then it raises."""
    with pytest.raises(ZeroDivisionError), recorder(tmp_path / "data") as flight:
        fly(flight, [0, 1, 2])
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("columns", {"q": 2.0}),
        ("columns", {}),
        ("columns", {"q": -4}),
        ("motion", 1.5),
        ("conditions", "x"),
        ("conditions", {"gains": 3}),
    ],
)
def test_a_damaged_header_is_refused(key: str, value: object, tmp_path: Path) -> None:
    """Before a row is read; the flight stays."""
    folder = cut_off(tmp_path)
    header = json.loads((folder / "flight.json").read_text())
    (folder / "flight.json").write_text(json.dumps({**header, key: value}))
    with pytest.raises(FormatError, match=r"damaged|no header"):
        recover_flight(folder, tmp_path / "data")
    assert folder.is_dir() and not (tmp_path / "data").exists()


@pytest.mark.parametrize("step", [np.nan, np.inf, -1.0, 1e300])
def test_a_row_of_no_step_is_counted_as_damaged(step: float, tmp_path: Path) -> None:
    """Its checksum is right, and yet it says nothing."""
    folder = cut_off(tmp_path)
    (file,) = row_files(folder)
    width = 8 * FlightHeader.read(folder).width
    data = bytearray(file.read_bytes())
    data[4:12] = np.array(step, "<f8").tobytes()
    data[:4] = zlib.crc32(bytes(data[4 : 4 + width])).to_bytes(4, "little")
    file.write_bytes(bytes(data))
    recover_flight(folder, tmp_path / "data")
    clip = Dataset.open(tmp_path / "data")[0]
    assert len(clip) == 49 and clip.provenance["rows_damaged"] == 1


def test_a_counter_that_goes_back_begins_another_recording(tmp_path: Path) -> None:
    """Two runs in one file are two."""
    with recorder(tmp_path / "data") as flight:
        fly(flight, [*range(20), *range(15)])
    assert [len(clip) for clip in Dataset.open(tmp_path / "data")] == [20, 15]
