"""The live viewer without a browser: what it shows, and what its controls do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.closing import Run
from gapless.errors import ArtifactError, DataError
from gapless.measurement.side_by_side import SideBySide
from gapless.motions.excitation import multisine
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording
from gapless.reports.error_colours import scale_of, shade, worst_joint
from gapless.reports.robot_scene import BODY
from gapless.reports.viewer import Viewer
from gapless.reports.viewer_panel import plain, span_of, with_now
from gapless.reports.viewer_sources import DatasetSource, RunSource
from gapless.robots import Kinematics, Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

HOSTILE = "<img src=x onerror=alert(1)> [a](javascript:x) `b` **c**\n# d"


@pytest.fixture(scope="module")
def source() -> DatasetSource:
    """Two motions of an arm whose elbow is weak; the second commands nothing and is named badly."""
    arm = Robot.load("so101")
    weak = MujocoWorld(arm.with_joints(kp={"elbow_flex": 0.5 * arm.joints.kp[2]}))
    first, second = (
        record(weak, multisine(arm, 1.0, 50, seed=s), name, start=weak.home())
        for s, name in enumerate(("wave", HOSTILE))
    )
    return DatasetSource(
        Dataset.from_recordings([first, replace(second, target=None)], "so101"), arm
    )


@pytest.fixture
def viewer(source: DatasetSource) -> Iterator[Viewer]:
    """On a free port."""
    with Viewer(source, port=0) as started:
        yield started


def placed(viewer: Viewer, track: str) -> np.ndarray:
    """Orientations of a robot's links, as sent."""
    return np.array([node.wxyz for node in viewer._figures[track]._nodes])


def test_it_begins_with_the_worst_joint_of_the_first_recording(viewer: Viewer) -> None:
    """At its first sample, paused."""
    assert viewer.clip.name == "wave" and viewer.frame == 0 and not viewer.playing
    assert viewer.panel.joint.value == "elbow_flex"
    assert viewer.panel.time.max == pytest.approx(viewer.clip.time[-1])
    assert viewer.url.startswith("http://127.0.0.1:")


def test_scrubbing_moves_the_robots(viewer: Viewer) -> None:
    """Each as its own track says; beyond the end is the end."""
    before = {name: placed(viewer, name) for name in ("real", "raw")}
    viewer.scrub(0.5)
    after = {name: placed(viewer, name) for name in ("real", "raw")}
    assert np.abs(after["real"] - before["real"]).max() > 0.01
    assert np.abs(after["real"] - after["raw"]).max() > 1e-3
    viewer.scrub(99.0)
    assert viewer.frame == len(viewer._frames) - 1


def test_playing_moves_the_clock(viewer: Viewer) -> None:
    """Until paused."""
    viewer.play(True)
    for _ in range(12_000):  # ten minutes, for a busy machine
        if viewer.now > 0:
            break
        time.sleep(0.05)
    viewer.play(False)
    at = viewer.now
    assert at > 0 and viewer.panel.playing.label == "Play"
    time.sleep(0.1)
    assert viewer.now == at


def test_links_are_coloured_by_the_error_of_their_joint(viewer: Viewer) -> None:
    """The weak elbow's link is the reddest; without it all have their own colour again."""
    viewer.panel.colours.value = "error of raw"
    worst = int(np.nanargmax(np.abs(viewer.clip.error("raw")[:, 2])))
    viewer.scrub(worst / viewer.clip.rate)
    viewer.colour()
    colours = dict(zip(viewer._rig.links, viewer._figures["real"]._colours, strict=True))
    assert colours["base"] == BODY
    assert max(colours, key=lambda link: colours[link][0] - colours[link][2]) == "lower_arm"
    assert "red" in viewer.panel.note.content
    assert not viewer._figures["raw"].root.visible
    viewer.panel.colours.value = "plain"
    viewer.colour()
    assert set(viewer._figures["real"]._colours) == {BODY}
    assert viewer._figures["raw"].root.visible


def test_a_recording_that_cannot_be_replayed_is_shown_alone(viewer: Viewer) -> None:
    """With the reason, as text; the other robots are hidden."""
    viewer.choose(1)
    assert viewer.clip.name == HOSTILE and set(viewer.clip.tracks) == {"real"}
    assert viewer._figures["real"].root.visible and not viewer._figures["raw"].root.visible
    assert viewer.panel.tracks["raw"].disabled
    assert "cannot be replayed" in viewer.panel.note.content
    assert "<img" not in viewer.panel.note.content.replace("\\<", "")
    viewer.choose(0)
    assert viewer._figures["raw"].root.visible and viewer.panel.note.content == ""


def test_names_of_recordings_are_numbered(source: DatasetSource) -> None:
    """Two of one name can be told apart."""
    assert source.names[0] == "1. wave, 0 kg"
    assert source.names[1].startswith("2. <img")


def test_a_robot_without_base_is_shown_on_its_feet() -> None:
    """On the floor and tilted as its feet say, replayed or, without commands, alone."""
    robot = Robot.load("h1_2", mount="free")
    q = np.tile(robot.joints.default, (20, 1))
    for side in ("left", "right"):
        q[:, robot.joints.index(f"{side}_ankle_pitch_joint")] -= 0.2
    clip = Recording("lean", robot.joints.names, 50.0, q, q, np.ones(q.shape, bool))
    clips = [clip, replace(clip, name="alone", target=None)]
    source = DatasetSource(Dataset.from_recordings(clips, "h1_2"), robot)
    kinematics = Kinematics.of(robot)
    feet = [kinematics.links.index(link) for link in robot.link_groups["feet"]]
    for i in range(2):
        real = source.clip(i)[0].tracks["real"]
        _, quat = kinematics.link_poses(q, real.base_pos, real.base_quat_wxyz)
        assert real.base_pos is not None
        np.testing.assert_allclose(real.base_pos[:, 2], robot.standing_height, atol=0.05)
        np.testing.assert_allclose(np.abs(quat[:, feet, 0]), 1.0, atol=1e-5)  # soles are level


def test_an_empty_dataset_is_refused(source: DatasetSource) -> None:
    """There is nothing to show."""
    with pytest.raises(DataError, match="no recordings"):
        DatasetSource(source._dataset.select([]), source.robot)


def test_a_run_shows_its_stored_replays(source: DatasetSource) -> None:
    """Without replays it says what to type."""

    class Opened:
        path, facts = Path("RUN"), {"data": {"path": "DATA"}}
        robot, replays = source.robot, []

    with pytest.raises(ArtifactError, match=r"gapless close DATA --out RUN.*gapless view DATA"):
        RunSource(Opened)  # type: ignore[arg-type]
    clip, _ = source.clip(0)
    Opened.replays = [replace(clip, unit="7", payload=0.5)]
    shown = RunSource(Opened)  # type: ignore[arg-type]
    assert shown.names == ("1. wave, unit 7, 0.5 kg",) and shown.tracks == ("real", "raw")
    assert shown.clip(0)[0].unit == "7"


def test_a_finished_run_is_viewed_with_all_it_kept(run: Run) -> None:
    """Its user's own model, whatever the joints are called."""
    with Viewer(RunSource(run), port=0) as viewer:
        assert viewer.panel.joint.value in run.robot.joints.names
        assert set(viewer.clip.tracks) >= {"real", "raw", "identified"}
        viewer.scrub(0.5)
        assert set(viewer._figures) == set(viewer._source.tracks)


def test_text_of_a_log_makes_no_markup() -> None:
    """Every sign that means something in Markdown or HTML is escaped; lines are joined."""
    text = plain(HOSTILE)
    assert "\n" not in text
    for sign in "<>[]()`*#":
        assert text.count(sign) == text.count(f"\\{sign}")


def test_the_line_where_we_are_is_a_curve_of_its_own() -> None:
    """Upright: two samples at one time, nothing elsewhere; gaps do not spoil the axis."""
    line = np.array([np.nan, 1.0, 2.0])
    span = span_of([line])
    assert span[0] < 1.0 and span[1] > 2.0
    clock, doubled, mark = with_now(np.array([0.0, 0.1, 0.2]), [line], 0.1, span)
    assert clock.tolist() == [0.0, 0.1, 0.1, 0.2]
    assert doubled[1:].tolist() == [1.0, 1.0, 2.0]
    assert np.isnan(mark[[0, 3]]).all() and tuple(mark[1:3]) == span
    assert np.isfinite(span_of([np.full(3, np.nan)])).all()


def test_colours_of_errors(source: DatasetSource) -> None:
    """From neutral to red in steps; a clip without errors has a scale too."""
    assert shade(0.0) == BODY and shade(-5.0) == shade(1.0) == (229, 72, 77)
    clip: SideBySide = source.clip(0)[0]
    assert 0 < scale_of(clip, "raw") < 1
    same = replace(clip, tracks=clip.tracks | {"raw": clip.tracks["real"]})
    assert scale_of(same, "raw") == pytest.approx(1e-3)
    assert worst_joint(source.clip(1)[0], source.robot.joints.names) == "shoulder_pan"
