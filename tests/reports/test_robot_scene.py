"""Robots in a scene: poses, colours, and a page that needs nothing else."""

from __future__ import annotations

import re
import socket
from dataclasses import replace

import numpy as np
import pytest
from scene_messages import recorded

from gapless.errors import DataError, GaplessError, MissingExtraError
from gapless.measurement.side_by_side import SideBySide, Track
from gapless.reports import serving
from gapless.reports.rig import Rig, held
from gapless.reports.robot_scene import BODY, OTHERS, colour_of, frames_of, static_scene
from gapless.reports.serving import served
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import mul, rotate

HOSTILE = "</script>/../<img src=x onerror=alert(1)>"


def clip_of(robot: Robot, length: int = 40, **changes: object) -> SideBySide:
    """A robot that waves one joint, and two simulators that wave less."""
    wave = np.zeros((length, len(robot.joints)))
    wave[:, 1] = 0.3 * np.sin(np.arange(length) / 8)
    tracks = {"real": Track(wave), "raw": Track(0.8 * wave), HOSTILE: Track(0.9 * wave)}
    told = SideBySide(HOSTILE, None, None, robot.joints.names, 50.0, "full", wave, tracks)
    return replace(told, **changes)


def test_local_poses_put_together_are_the_robots(so101: Robot) -> None:
    """Each link's pose to its parent, chained, is what kinematics says."""
    clip, frames = clip_of(so101), np.array([0, 7, 30])
    rig = Rig(so101)
    poses = rig.poses(clip, "real", frames)
    expected = Kinematics.of(so101).link_poses(clip.tracks["real"].q[frames])
    pos, quat = poses.pos.copy(), poses.quat_wxyz.copy()
    for i, parent in enumerate(rig.parents):
        if parent >= 0:
            pos[:, i] = pos[:, parent] + rotate(quat[:, parent], pos[:, i])
            quat[:, i] = mul(quat[:, parent], quat[:, i])
    assert pos == pytest.approx(expected[0], abs=1e-3)
    assert np.abs((quat * expected[1]).sum(axis=-1)) == pytest.approx(1.0, abs=2e-3)


def test_gaps_hold_the_last_pose() -> None:
    """What comes first fills the front; a joint without anything rests."""
    nan = np.nan
    values = np.array([[nan, 1.0, nan], [2.0, nan, nan], [nan, 3.0, nan]])
    rest = np.array([9.0, 9.0, 9.0])
    assert held(values, rest).tolist() == [[2, 1, 9], [2, 1, 9], [2, 3, 9]]


def test_joints_are_matched_by_name(so101: Robot) -> None:
    """A clip may have other columns; one without any of the robot's joints is refused."""
    clip = clip_of(so101)
    rig, frames = Rig(so101), np.array([10])
    order = [5, 4, 3, 2, 1, 0]
    turned = replace(
        clip,
        joints=tuple(clip.joints[i] for i in order),
        tracks={name: Track(t.q[:, order]) for name, t in clip.tracks.items()},
    )
    assert (rig.poses(turned, "raw", frames).pos == rig.poses(clip, "raw", frames).pos).all()
    errors = np.arange(6.0)
    by_link = dict(zip(rig.links, rig.link_values(clip, errors), strict=True))
    assert by_link["upper_arm"] == 1.0 and np.isnan(by_link["base"])
    strange = replace(clip, joints=tuple(f"j{i}" for i in range(6)))
    with pytest.raises(DataError, match="--robot"):
        rig.poses(strange, "raw", frames)


def test_a_base_that_is_not_known_stays_home() -> None:
    """A free robot without a logged base stands; gaps in a logged one hold."""
    robot = Robot.load("go2")
    still = np.zeros((4, len(robot.joints)))
    base = np.full((4, 3), np.nan)
    unit = np.tile([1.0, 0, 0, 0], (4, 1))
    clip = clip_of(robot, 4, tracks={"real": Track(still, base, unit)})
    rig = Rig(robot)
    root = rig.links.index(robot.root)
    assert rig.poses(clip, "real", np.array([0])).pos[0, root, 2] > 0.1
    base[1:3] = [1.0, 2.0, 0.3]
    pos = rig.poses(clip, "real", np.arange(4)).pos[:, root]
    assert pos[:, 0] == pytest.approx([1, 1, 1, 1], abs=1e-3)


def test_frames_are_at_most_the_clips_own(so101: Robot) -> None:
    """Every second sample at half the rate; all of them at a higher one."""
    clip = clip_of(so101, 11)
    assert frames_of(clip, 25).tolist() == [0, 2, 4, 6, 8, 10]
    assert frames_of(clip, 200).tolist() == list(range(11))
    assert frames_of(clip_of(so101, 1), 25).tolist() == [0]


def test_tracks_have_colours_of_their_own() -> None:
    """Known ones theirs, others from a palette."""
    tracks = dict.fromkeys(["real", "raw", "mine", "yours"])
    assert colour_of("raw", tracks) == (229, 72, 77) and colour_of("real", tracks) == BODY
    assert [colour_of(name, tracks) for name in ("mine", "yours")] == list(OTHERS[:2])


def test_static_scene_is_one_page_with_only_what_moves(so101: Robot) -> None:
    """No references, no words of a log; welded links are sent once; small."""
    page = static_scene(so101, clip_of(so101))
    assert len(page) < 1.5e6
    assert HOSTILE not in page and "onerror" not in page
    remote = r"<(?:script|link|img|iframe)[^>]+(?:src|href)=.?(?:https?:)?//"
    assert not re.findall(remote, page)
    messages = recorded(page)
    assert "alert" not in str(messages)
    later = [m for time, m in messages if time > 0]
    assert {m["type"] for m in later} == {"SetOrientationMessage"}
    assert len({m["name"] for m in later}) == 3  # one joint of three robots
    assert max(time for time, _ in messages) == pytest.approx(38 / 50)


def test_a_clip_of_one_sample_is_a_still(so101: Robot) -> None:
    """Nothing moves, nothing fails."""
    assert all(time == 0 for time, _ in recorded(static_scene(so101, clip_of(so101, 1))))


def test_serving_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither at the start nor at the end."""
    with served() as server:
        assert server.get_port() > 0
    assert capfd.readouterr().out == ""


def test_a_port_in_use_is_refused() -> None:
    """By number, and with what to type."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GaplessError, match=f"port {port}.*--port"), served(port=port):
            pass


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    monkeypatch.setattr(serving, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[report\]"), served():
        pass
