"""Replays as MCAP, opened again by our own importer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless import Dataset, export, import_dataset
from gapless.closing import Run
from gapless.errors import DataError
from gapless.recordings.importers.mcap_messages import read_tracks

pytest.importorskip("mcap_ros2")


def test_a_replay_comes_back(arm_run: Run, tmp_path: Path) -> None:
    """What was recorded and commanded is imported; every simulator has a topic of its own."""
    found = export(arm_run, "mcap", tmp_path / "replays")
    clip = arm_run.replays[0]
    assert len(found.files) == len(arm_run.replays)
    tracks, notes = read_tracks(tmp_path / "replays" / found.files[0])
    assert notes == []
    for name in ("raw", "identified", "corrected"):
        played = tracks[f"/simulated/{name}"].channels(clip.joints, None)["q"]
        there = np.isfinite(clip.tracks[name].q).any(axis=1)
        assert played == pytest.approx(clip.tracks[name].q[there], nan_ok=True)
    import_dataset("mcap", tmp_path / "replays", arm_run.robot, tmp_path / "data")
    (recording,) = Dataset.open(tmp_path / "data")
    order = [recording.joints.index(j) for j in clip.joints]
    there = np.isfinite(clip.tracks["real"].q).all(axis=1)
    assert recording.q[:, order] == pytest.approx(clip.tracks["real"].q[there], abs=1e-6)


def test_a_base_has_its_pose(biped_run: Run, tmp_path: Path) -> None:
    """Of a robot on its feet, as stamped poses."""
    from mcap.reader import make_reader

    found = export(biped_run, "mcap", tmp_path / "replays")
    with (tmp_path / "replays" / found.files[0]).open("rb") as file:
        topics = {channel.topic for _, channel, _ in make_reader(file).iter_messages()}
    assert {"/joint_states/base", "/simulated/corrected/base"} <= topics


def test_a_run_without_replays_is_refused(arm_run: Run, tmp_path: Path) -> None:
    """There is nothing to write."""
    import shutil

    shutil.copytree(arm_run.path, tmp_path / "run")
    (tmp_path / "run" / "replays.npz").unlink()
    with pytest.raises(DataError, match="no replays"):
        export(tmp_path / "run", "mcap", tmp_path / "replays")
