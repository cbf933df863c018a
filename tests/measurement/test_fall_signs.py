"""Whether a recorded robot fell: by its tilt where it was logged, else by its feet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.cli.main import main
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.fall_signs import fall_finding
from gapless.recordings.findings import Finding
from gapless.recordings.importers import read
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import prepare
from gapless.recordings.recording import Recording
from gapless.recordings.store.writer import DatasetWriter
from gapless.robots import Robot
from gapless.robots.rotations import about, rotate
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

LOGS = ("base", "imu", "accelerometer", "turned base", "joints")


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A free G1."""
    return Robot.load("g1", mount="free")


@pytest.fixture(scope="module")
def fallen(g1: Robot) -> Recording:
    """A G1 without feedback that throws its legs back: it lies on its face from 1.5 s on."""
    world = MujocoWorld(g1, 50)
    targets = np.tile(g1.joints.default, (200, 1))
    for side in ("left", "right"):
        targets[10:, g1.joints.index(f"{side}_ankle_pitch_joint")] += 0.4
    return record(world, targets, "fall", start=world.home())


@pytest.fixture(scope="module")
def one_leg(g1: Robot) -> Recording:
    """A leg is lifted to the front for two seconds, the centre of mass beside the other foot."""
    q = np.tile(g1.joints.default, (200, 1))
    up = np.clip(np.minimum(np.arange(200) - 40, 150 - np.arange(200)) / 5, 0, 1)
    for joint, angle in (("hip_pitch", -1.2), ("knee", 0.5)):
        q[:, g1.joints.index(f"left_{joint}_joint")] += angle * up
    clip = Recording("kick", g1.joints.names, 50.0, q, q.copy(), np.ones(q.shape, bool))
    upright = {"base_pos": np.tile([0.0, 0.0, 0.78], (200, 1))}
    upright["base_quat_wxyz"] = np.tile([1.0, 0.0, 0.0, 0.0], (200, 1))
    return replace(clip, channels=upright)


def logged(clip: Recording, how: str) -> Recording:
    """The same as another robot would have logged it."""
    pos, quat = clip.channels["base_pos"], clip.channels["base_quat_wxyz"]
    felt = rotate(quat * [1, -1, -1, -1], np.array([0.0, 0.0, 9.81]))
    channels = {
        "base": {"base_pos": pos, "base_quat_wxyz": quat},
        "imu": {"imu_quat_wxyz": quat},
        "accelerometer": {"imu_acc": felt},
        "turned base": {"base_quat_wxyz": quat},
        "joints": {},
    }
    return replace(clip, channels=channels[how])


def finding(clip: Recording, robot: Robot) -> Finding | None:
    """What is said of its balance."""
    return fall_finding(clip, in_robot_order(clip, robot).estimate)


@pytest.mark.parametrize("how", LOGS)
def test_a_fall_is_told_by_whatever_was_logged(g1: Robot, fallen: Recording, how: str) -> None:
    """The same fall, with the moment from when on it shows."""
    found = finding(logged(fallen, how), g1)
    assert found is not None and (found.severity, found.code) == ("warning", "balance")
    assert found.recording == "fall" and "may have fallen" in found.message
    assert ("deg from upright" in found.message) == (how != "joints")


@pytest.mark.parametrize("how", LOGS)
def test_who_balances_on_one_leg_has_not_fallen(g1: Robot, one_leg: Recording, how: str) -> None:
    """Its orientation says so; joints alone cannot tell it from a fall."""
    found = finding(logged(one_leg, how), g1)
    assert (found is not None) == (how == "joints")
    if found is not None:
        assert "nothing holds its centre of mass" in found.message


def test_a_robot_that_sits_upright_has_fallen(g1: Robot) -> None:
    """What it sits on is lower than its feet, though the tilt shows nothing."""
    q = np.tile(g1.joints.default, (100, 1))
    for side in ("left", "right"):
        q[30:, g1.joints.index(f"{side}_hip_pitch_joint")] = -1.7
        q[30:, g1.joints.index(f"{side}_knee_joint")] = 0.0
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (100, 1))
    clip = Recording("sit", g1.joints.names, 50.0, q, q.copy(), np.ones(q.shape, bool))
    found = finding(replace(clip, channels={"imu_quat_wxyz": quat}), g1)
    assert found is not None and "not on its feet from 0.6 to 2.0 s" in found.message


def test_an_imu_that_is_silent_tells_no_fall(g1: Robot, one_leg: Recording) -> None:
    """Samples without an orientation are no sign; a log that has none at all goes by its joints."""
    quat = np.tile(about(np.array([0.0, 1.0, 0.0]), 0.2), (200, 1))
    quat[60:140] = np.nan
    assert finding(replace(one_leg, channels={"imu_quat_wxyz": quat}), g1) is None
    assert finding(replace(one_leg, channels={"imu_quat_wxyz": np.nan * quat}), g1) is not None


@pytest.mark.parametrize("rate", [50, 100])
def test_a_real_robot_that_walks_has_not_fallen(shared_data: Path, rate: int) -> None:
    """K-Bot is at most 22 deg from upright, though for a second its feet do not hold it."""
    robot = Robot.load("kbot_legs", mount="free")
    folder = next((shared_data / "kbot_walk").glob(f"run{rate}hz*"))
    clip = prepare(next(iter(read("kscale", folder))), robot, ImportOptions(), rate).recordings[0]
    estimate = in_robot_order(clip, robot).estimate
    assert estimate is not None and estimate.unbalanced(rate) is not None
    assert fall_finding(clip, estimate) is None


def test_check_warns_of_a_fall_with_a_logged_base(
    fallen: Recording, one_leg: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of that recording alone."""
    with DatasetWriter(tmp_path / "data", "g1", fallen.joints, 50.0, {}) as writer:
        for clip in (fallen, one_leg):
            writer.append(logged(clip, "base"))
    main(["check", str(tmp_path / "data"), "--json", str(tmp_path / "found.json")])
    capsys.readouterr()
    assert (tmp_path / "found.json").read_text().count('"balance"') == 1
