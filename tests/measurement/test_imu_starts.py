"""Starts whose lean an IMU says: old readings, and encoders with wrong zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.identification.problem.simulator import Simulator
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.held_readings import between_readings
from gapless.measurement.replay import replay
from gapless.measurement.standing_body import StandingBody
from gapless.measurement.standing_starts import starts_in
from gapless.measurement.windows import windows_of
from gapless.parameters import parameters_of
from gapless.recordings.checks import check
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots.rotations import about, angle_between, conj, rotate
from gapless.worlds import MujocoWorld
from gapless.worlds.effects import Effects
from small_biped import small_biped, squat

SIDEWAYS = np.array([0.0, 1.0, 0.0])


@pytest.fixture(scope="module")
def biped(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Quick to simulate."""
    return small_biped(tmp_path_factory.mktemp("biped"))


def leaning(robot: Robot, every: int = 1) -> tuple[Recording, np.ndarray]:
    """A robot that squats and sways, its IMU read every so many samples; and how it leaned."""
    q, time = squat(1)[:200], np.arange(200) / 50
    true = about(SIDEWAYS, 0.1 * np.sin(2 * np.pi * 0.4 * time))
    seen = true[np.arange(200) // every * every]
    mask = np.ones(q.shape, bool)
    names = robot.joints.names
    return Recording("sway", names, 50.0, q, q, mask, {"imu_quat_wxyz": seen}), true


def test_an_orientation_turns_evenly_from_reading_to_reading() -> None:
    """Repeated readings are bridged; the ends, what never repeats and a robot at rest are not."""
    true = about(SIDEWAYS, 0.02 * np.arange(41))
    held, q = true[np.arange(41) // 10 * 10], np.arange(41.0)[:, None]
    assert angle_between(between_readings(held, q), true).max() < 1e-9
    assert angle_between(held, true).max() > 0.1
    np.testing.assert_array_equal(between_readings(true, q), true)
    np.testing.assert_array_equal(between_readings(held[:10], q[:10]), held[:10])
    ended = between_readings(held[:35], q[:35])
    np.testing.assert_allclose(ended[30:], held[30:35], atol=1e-12)
    np.testing.assert_allclose(between_readings(held, 0 * q), held, atol=1e-12)


def test_starts_lean_as_between_two_readings(biped: Robot) -> None:
    """An IMU that is read twice a second: replays do not start from its last word."""
    clip, true = leaning(biped, 25)
    found = in_robot_order(clip, biped).state.base_quat_wxyz
    assert found is not None
    off = [angle_between(q, true)[:175].mean() for q in (found, clip.channels["imu_quat_wxyz"])]
    assert off[0] < 0.5 * off[1]


def test_a_check_tells_an_orientation_that_is_old(biped: Robot) -> None:
    """Where joints move meanwhile; a robot that stands still has nothing new to tell."""
    clip, _ = leaning(biped, 25)
    (finding,) = [f for f in check(clip, biped) if f.code == "old_orientation"]
    assert finding.severity == "warning" and "up to 0.50 s" in finding.message
    assert "4% of its samples are new" in finding.message
    still = replace(clip, q=np.zeros_like(clip.q), target=np.zeros_like(clip.q))
    for quiet in (leaning(biped)[0], leaning(biped, 3)[0], still):
        assert not [f for f in check(quiet, biped) if f.code == "old_orientation"]


def test_feet_touch_the_floor_by_true_angles_where_an_imu_says_the_lean(biped: Robot) -> None:
    """Wrong zeros and an IMU that sits askew: replays and fits begin with feet on the floor."""
    clip, _ = leaning(biped)
    effects = Effects(encoder_bias=np.array([0.1, -0.2, 0.1] * 2), imu_pitch=0.05)
    world, windows = MujocoWorld(biped, 50.0, effects=effects), windows_of([clip], biped, 0.2, 8)
    body, start = StandingBody.of(biped), starts_in(world, windows)
    assert start.base_pos is not None and start.base_quat_wxyz is not None
    seen = rotate(conj(start.base_quat_wxyz), np.array([0.0, 0.0, 1.0]))
    up = rotate(about(SIDEWAYS, 0.05), seen)
    poses = body.poses(start.q - np.asarray(effects.encoder_bias))
    above = start.base_pos[:, 2] + body.lowest(poses, up) + body.sinking()
    assert np.abs(above).max() < 1e-5
    assert windows.start.base_pos is not None
    assert np.abs(windows.start.base_pos - start.base_pos)[:, 2].min() > 1e-3
    wanted = parameters_of(biped, ["encoder_bias", "imu_pitch"])
    play = Simulator(world.variant(effects=Effects()), wanted).play
    tried = np.array([[*np.asarray(effects.encoder_bias), 0.05], [0.0] * 7])
    same = world.rollout(start, windows.held, history=windows.history)
    np.testing.assert_allclose(play(windows, tried).q[0], same.q[:, 1:], atol=1e-9)
    (played,) = replay([clip], world, 0.2, 8)
    assert played.sim.base_pos is not None
    assert played.sim.base_pos[0, 0, 2] != pytest.approx(windows.start.base_pos[0, 2], abs=1e-3)


def test_a_logged_base_stays_where_it_was(biped: Robot) -> None:
    """Only an estimate follows the zeros."""
    clip, true = leaning(biped)
    logged = {"base_pos": np.tile([0.0, 0.0, 0.4], (200, 1)), "base_quat_wxyz": true}
    windows = windows_of([replace(clip, channels=logged)], biped, 0.2, 4)
    world = MujocoWorld(biped, 50.0, effects=Effects(encoder_bias=0.1))
    assert starts_in(world, windows) is windows.start


def test_a_sole_that_rolls_does_not_turn_the_base(biped: Robot) -> None:
    """The robot stands on its toes and waves its ankles: an IMU knows that its base rests."""
    time = np.arange(200) / 50
    q = np.zeros((200, 6))
    q[:, [2, 5]] = (0.35 + 0.1 * np.sin(2 * np.pi * 2 * time))[:, None]
    level = {"imu_quat_wxyz": np.tile([1.0, 0.0, 0.0, 0.0], (200, 1))}
    clip = Recording("toes", biped.joints.names, 50.0, q, q, np.ones(q.shape, bool), level)
    found = in_robot_order(clip, biped).state
    assert found.base_ang_vel_b is not None and found.base_lin_vel_w is not None
    assert np.abs(found.base_ang_vel_b).max() < 0.1, "1.3 rad/s if the soles did not roll"
    flat = replace(clip, q=0 * q, channels=level | {"dq": np.tile([1.0, -2.0, 1.0] * 2, (200, 1))})
    moving = in_robot_order(flat, biped).state
    assert moving.base_lin_vel_w is not None
    assert np.abs(moving.base_lin_vel_w[:, 0]).mean() == pytest.approx(0.02, abs=0.005)
