"""Recordings beside their replays: one clock, windows laid end to end, files without code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError
from gapless.measurement.side_by_side import (
    SideBySide,
    Track,
    load_side_by_side,
    save_side_by_side,
    side_by_side,
)
from gapless.recordings import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP, nominal_pair, recorded


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return nominal_pair()


@pytest.fixture(scope="module")
def waves(pair: Robot) -> list[Recording]:
    """Two motions."""
    return recorded(pair, ["a", "b"], noise=0.0, seconds=3.0, unit="7")


@pytest.fixture(scope="module")
def worlds(pair: Robot) -> dict[str, MujocoWorld]:
    """The truth, and a robot with weak motors."""
    soft = pair.with_joints(kp=0.5 * pair.joints.kp)
    return {
        "raw": MujocoWorld(soft, physics_step=STEP),
        "corrected": MujocoWorld(pair, physics_step=STEP),
    }


def test_the_true_world_lies_on_the_recording(waves, worlds) -> None:
    """Over the whole clip; the weak one does not."""
    first = side_by_side(waves, worlds)[0]
    assert (first.name, first.unit, list(first.tracks)) == ("a", "7", ["real", "raw", "corrected"])
    assert np.abs(first.error("corrected")).mean() < 1e-3  # its start velocity is estimated
    assert np.abs(first.error("raw")).max() > 0.01
    assert len(first.time) == len(waves[0]) == len(first.target)


def test_short_windows_start_anew_from_the_recording(waves, worlds) -> None:
    """At the first sample of each window both sides agree."""
    whole, short = (side_by_side(waves, worlds, h)[0] for h in ("full", 0.5))
    error = np.abs(short.error("raw"))
    starts = np.arange(0, 125, 25)
    assert np.allclose(error[starts], 0)
    assert np.nanmean(error) < np.abs(whole.error("raw")).mean()


def test_a_file_gives_the_same_back(waves, worlds, tmp_path: Path) -> None:
    """Names, loads and numbers, NaN too."""
    clips = side_by_side(waves, worlds, 0.4)
    path = tmp_path / "clips.npz"
    save_side_by_side(path, clips)
    read: list[SideBySide] = load_side_by_side(path)
    assert [c.name for c in read] == ["a", "b"] and read[0].joints == clips[0].joints
    for track in clips[0].tracks:
        assert np.allclose(
            read[0].tracks[track].q, clips[0].tracks[track].q, atol=1e-6, equal_nan=True
        )


def test_a_track_lasts_as_long_as_asked() -> None:
    """Cut, or with nothing at its end; what it does not have it does not get."""
    track = Track(np.ones((3, 2)), distance=np.arange(3.0))
    longer, shorter = track.lasting(5), track.lasting(2)
    assert np.isnan(longer.q[3:]).all() and longer.distance is not None
    assert longer.distance[:3].tolist() == [0, 1, 2] and np.isnan(longer.distance[3:]).all()
    assert shorter.q.shape == (2, 2) and longer.base_pos is None


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    """A pickle in an NPZ is not opened; a cut file says so."""
    pickled = tmp_path / "p.npz"
    np.savez(pickled, head=np.array([{"a": 1}], dtype=object))
    broken = tmp_path / "b.npz"
    broken.write_bytes(pickled.read_bytes()[:40])
    for path in (pickled, broken, tmp_path / "none.npz"):
        with pytest.raises(FormatError, match="cannot be read"):
            load_side_by_side(path)


def test_worlds_need_names_of_their_own(waves, worlds) -> None:
    """`real` is the recording."""
    with pytest.raises(DataError, match="names"):
        side_by_side(waves, {"real": worlds["raw"]})
    with pytest.raises(DataError, match="names"):
        side_by_side(waves, {})
