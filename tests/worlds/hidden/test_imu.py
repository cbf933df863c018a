"""The IMU of a hidden robot: each effect alone leaves its signature in the base's log alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.motions.excitation import multisine
from gapless.recordings import Conditions
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, rotate
from gapless.worlds import MujocoWorld, State, Trajectory
from gapless.worlds.hidden import HiddenWorld
from gapless.worlds.hidden.true_state import true_rollout, true_state

RATE = 100.0
CHANCE = ("gyro_noise", "imu_noise")
STEADY = ("gyro_bias", "imu_tilt", "imu_delay")
IMU = CHANCE + STEADY
SHOWN = ("base_quat_wxyz", "base_ang_vel_b")
DOWN = np.array([0.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def dog() -> Robot:
    """A Go2 on the floor: it stands by itself."""
    return Robot.load("go2", mount="free")


def hidden(robot: Robot, *effects: str, rate: float = RATE) -> HiddenWorld:
    """A hard unit with these effects only."""
    return HiddenWorld(robot, "hard", only=effects, rate=rate)


def figures(world: HiddenWorld, effect: str, tmp_path: Path) -> np.ndarray:
    """The true figures, read from the file that was asked for."""
    world.write_truth(tmp_path / "truth.json")
    values = json.loads((tmp_path / "truth.json").read_text())["effects"][effect]["values"]
    return np.array(values["robot"])


def stood(world: HiddenWorld | MujocoWorld, seconds: float = 6.0) -> Trajectory:
    """What the log shows of a robot that stands."""
    pose = np.tile(world.robot.joints.default, (1, round(seconds * RATE), 1))
    return world.rollout(world.home(), pose)


def thrown(world: HiddenWorld | MujocoWorld, environments: int = 1) -> State:
    """High above the floor, turning about all axes."""
    home = world.home(environments)
    turning = np.tile([1.0, -2.0, 3.0], (environments, 1))
    return replace(home, base_pos=home.base_pos - 50 * DOWN, base_ang_vel_b=turning)  # type: ignore[operator]


def flown(world: HiddenWorld | MujocoWorld, seconds: float = 2.0) -> Trajectory:
    """What the log shows of a robot that swings its legs in the air."""
    targets = multisine(world.robot, seconds, world.rate, seed=3)[None]
    return world.rollout(thrown(world), targets)


def gyro_error(seen: Trajectory, true: Trajectory) -> np.ndarray:
    """(T+1, 3) rad/s."""
    return (seen.base_ang_vel_b - true.base_ang_vel_b)[0]  # type: ignore[operator]


def turn_error(seen: Trajectory, true: Trajectory) -> np.ndarray:
    """(T+1, 3) small angles about the axes of the base, rad."""
    return 2 * mul(conj(true.base_quat_wxyz), seen.base_quat_wxyz)[0, :, 1:]  # type: ignore[arg-type]


def require_rest_equal(seen: Trajectory, true: Trajectory) -> None:
    """All but the IMU's view is the nominal log, to the bit."""
    for name in true.fields.keys() - set(SHOWN):
        np.testing.assert_array_equal(getattr(seen, name), getattr(true, name))


def test_gyro_bias_is_what_the_gyro_shows_at_rest(dog: Robot, tmp_path: Path) -> None:
    """The same error at every sample, of any sign; orientations are right."""
    world = hidden(dog, "gyro_bias")
    bias = figures(world, "gyro_bias", tmp_path)
    seen, true = stood(world), stood(MujocoWorld(dog, RATE))
    assert bias.shape == (3,) and (np.abs(bias) > 1e-4).all()
    assert gyro_error(seen, true) == pytest.approx(np.tile(bias, (601, 1)), abs=1e-12)
    assert turn_error(seen, true) == pytest.approx(0.0, abs=1e-12)
    require_rest_equal(seen, true)


def test_gyro_noise_is_white_and_of_the_size_set(dog: Robot, tmp_path: Path) -> None:
    """About every axis alike, one sample not knowing the next; orientations are right."""
    world = hidden(dog, "gyro_noise")
    sigma = figures(world, "gyro_noise", tmp_path)
    seen, true = stood(world, 20.0), stood(MujocoWorld(dog, RATE), 20.0)
    noise = gyro_error(seen, true)
    assert noise.std(axis=0) == pytest.approx(np.repeat(sigma, 3), rel=0.1)
    assert np.abs(noise.mean(axis=0)).max() < 0.1 * sigma
    assert np.abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 0.1
    assert turn_error(seen, true) == pytest.approx(0.0, abs=1e-12)
    require_rest_equal(seen, true)


def test_imu_tilt_shows_in_gravity_at_rest(dog: Robot, tmp_path: Path) -> None:
    """Gravity of a level base leans by the tilt: forwards for a turn about y, left about x."""
    world = hidden(dog, "imu_tilt")
    about_x, about_y = figures(world, "imu_tilt", tmp_path)
    seen, true = stood(world), stood(MujocoWorld(dog, RATE))
    felt, level = (rotate(conj(s.base_quat_wxyz), DOWN)[0, -1] for s in (seen, true))  # type: ignore[arg-type]
    assert felt[:2] - level[:2] == pytest.approx([about_y, -about_x], abs=1e-3)
    require_rest_equal(seen, true)


def test_imu_tilt_turns_the_gyro_with_it(dog: Robot) -> None:
    """Orientation and angular velocity are of one frame, fixed to the base."""
    seen, true = flown(hidden(dog, "imu_tilt")), flown(MujocoWorld(dog, RATE))
    askew = mul(conj(true.base_quat_wxyz), seen.base_quat_wxyz)  # type: ignore[arg-type]
    assert np.ptp(askew, axis=1) == pytest.approx(0.0, abs=1e-12)
    turned = rotate(conj(askew), true.base_ang_vel_b)  # type: ignore[arg-type]
    assert seen.base_ang_vel_b == pytest.approx(turned, abs=1e-12)
    assert np.abs(gyro_error(seen, true)).max() > 0.01


def test_imu_noise_is_a_small_turn_about_any_axis(dog: Robot, tmp_path: Path) -> None:
    """White, of the size set, unit quaternions; the gyro is right."""
    world = hidden(dog, "imu_noise")
    sigma = figures(world, "imu_noise", tmp_path)
    seen, true = stood(world, 20.0), stood(MujocoWorld(dog, RATE), 20.0)
    noise = turn_error(seen, true)
    assert noise.std(axis=0) == pytest.approx(np.repeat(sigma, 3), rel=0.1)
    assert np.abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 0.1
    assert np.linalg.norm(seen.base_quat_wxyz, axis=-1) == pytest.approx(1.0)  # type: ignore[arg-type]
    assert gyro_error(seen, true) == pytest.approx(0.0, abs=1e-12)
    require_rest_equal(seen, true)


def age(seen: Trajectory, true: Trajectory, name: str) -> float:
    """The delay, s, that explains best what the log shows of the base."""
    late, now = (getattr(s, name)[0] for s in (seen, true))
    time, tried = np.arange(len(now)) / RATE, np.arange(0, 0.03, 0.0002)
    shifted = [[np.interp(time - t, time, column) for column in now.T] for t in tried]
    return float(tried[np.argmin(np.abs(np.array(shifted) - late.T).sum(axis=(1, 2)))])


def test_imu_delay_makes_the_base_older_than_the_joints(dog: Robot, tmp_path: Path) -> None:
    """Orientation and turning are late by it; positions and joints are not."""
    world = hidden(dog, "imu_delay")
    seconds = figures(world, "imu_delay", tmp_path)[0]
    seen, true = flown(world), flown(MujocoWorld(dog, RATE))
    for name in SHOWN:
        assert age(seen, true, name) == pytest.approx(seconds, abs=3e-4)
    require_rest_equal(seen, true)


def test_imu_delay_comes_on_top_of_the_sensors(dog: Robot, tmp_path: Path) -> None:
    """With both, the base's position is as old as the joints, its orientation older."""
    world = hidden(dog, "imu_delay", "sensor_delay")
    own = figures(world, "imu_delay", tmp_path)[0]
    shared = figures(world, "sensor_delay", tmp_path)[0]
    seen, true = flown(world), flown(MujocoWorld(dog, RATE))
    assert age(seen, true, "base_pos") == pytest.approx(shared, abs=3e-4)
    assert age(seen, true, "base_ang_vel_b") == pytest.approx(own + shared, abs=3e-4)


def test_steps_show_what_a_rollout_shows(dog: Robot) -> None:
    """Without chance; at a rate at which the IMU is many steps late."""
    world = hidden(dog, *STEADY, "sensor_delay", rate=500)
    targets = multisine(dog, 0.1, 500, seed=1)[None]
    rolled = world.rollout(thrown(world), targets)
    world.reset(thrown(world))
    for t in range(targets.shape[1]):
        stepped = world.step(targets[:, t])
        for name, array in stepped.fields.items():
            assert array == pytest.approx(rolled.fields[name][:, t + 1], abs=1e-9), name


def test_the_true_state_is_free_of_it(dog: Robot) -> None:
    """What the robot does is the nominal robot's; only its log is not."""
    world, plain = hidden(dog, *IMU), MujocoWorld(dog, RATE)
    targets = np.tile(dog.joints.default, (1, 30, 1))
    for each in (world, plain):
        each.reset(thrown(each))
    for t in range(30):
        seen, _ = world.step(targets[:, t]), plain.step(targets[:, t])
    for name, array in plain.state.fields.items():
        np.testing.assert_array_equal(getattr(true_state(world), name), array)
    assert np.abs(seen.base_ang_vel_b - plain.state.base_ang_vel_b).max() > 1e-3  # type: ignore[operator]
    true = true_rollout(world, thrown(world), targets)
    same = plain.rollout(thrown(plain), targets)
    np.testing.assert_array_equal(true.base_quat_wxyz, same.base_quat_wxyz)


def stepped(world: HiddenWorld, told: list[Conditions], steps: int = 12) -> np.ndarray:
    """(n, T, 7) the IMU's view by stepping environments of these conditions."""
    world.reset(world.home(len(told)), conditions=told)
    return _steps(world, len(told), steps)


def _steps(world: HiddenWorld, environments: int, steps: int) -> np.ndarray:
    pose = np.tile(world.robot.joints.default, (environments, 1))
    states = [world.step(pose) for _ in range(steps)]
    return np.stack([np.concatenate([getattr(s, k) for k in SHOWN], axis=1) for s in states], 1)


def test_a_sequence_has_its_own_chance(dog: Robot) -> None:
    """The same bytes alone, in any batch and after its neighbours went on; repeats differ."""
    world = HiddenWorld(dog, "hard", rate=500)
    told = [Conditions(extra={"repeat": r}) for r in range(3)]
    targets = np.tile(dog.joints.default, (3, 12, 1))
    rolled = world.rollout(world.home(3), targets, conditions=told)
    alone = world.rollout(world.home(1), targets[:1], conditions=told[1:2])
    np.testing.assert_array_equal(rolled.base_quat_wxyz[1], alone.base_quat_wxyz[0])  # type: ignore[index]
    assert np.abs(rolled.base_ang_vel_b[1] - rolled.base_ang_vel_b[0]).max() > 0.01  # type: ignore[index]
    together = stepped(world, told)
    np.testing.assert_array_equal(together[1], stepped(world, told[1:2])[0])


def test_an_environment_that_is_reset_is_as_new(dog: Robot) -> None:
    """Its noise begins anew, however long its neighbours have gone on."""
    world, told = hidden(dog, *IMU, rate=500), [Conditions(extra={"repeat": r}) for r in range(2)]
    fresh = stepped(world, told)
    world.reset(world.home(1), np.array([1]), conditions=told[1:])
    again = _steps(world, 2, 12)
    np.testing.assert_allclose(again[1], fresh[1], atol=1e-12)


@pytest.mark.parametrize("rate", [50.0, 500.0])
def test_encoders_keep_their_noise(dog: Robot, rate: float) -> None:
    """The IMU draws from chance of its own: the joints' log is the same with and without it."""
    seen = []
    for more in ((), IMU):
        world = hidden(dog, "encoder_noise", "sensor_delay", *more, rate=rate)
        rolled = world.rollout(world.home(), np.tile(dog.joints.default, (1, 8, 1)))
        world.reset(world.home())
        steps = [world.step(dog.joints.default[None]) for _ in range(8)]
        seen.append([rolled.q, rolled.dq, *(s.q for s in steps), *(s.dq for s in steps)])
    for without, beside in zip(*seen, strict=True):
        np.testing.assert_array_equal(beside, without)


def test_a_robot_without_a_base_has_no_imu(arms: Robot) -> None:
    """A fixed robot's log is the nominal one, to the bit."""
    world, plain = HiddenWorld(arms, "hard", only=IMU), MujocoWorld(arms)
    targets = multisine(arms, 0.5, arms.rate, seed=1)[None]
    np.testing.assert_array_equal(
        world.rollout(world.home(), targets).q, plain.rollout(plain.home(), targets).q
    )
    for each in (world, plain):
        each.reset(each.home())
    np.testing.assert_array_equal(world.step(targets[:, 0]).q, plain.step(targets[:, 0]).q)


@pytest.mark.parametrize("engine", ["mujoco", "physx"])
def test_everything_off_is_the_true_base(dog: Robot, engine: str) -> None:
    """In either engine, by preset or by name."""
    if engine == "physx":
        pytest.importorskip("sapien")
    targets = np.tile(dog.joints.default, (1, 5, 1))
    for world in (
        HiddenWorld(dog, "none", engine=engine),
        HiddenWorld(dog, "hard", only=(), engine=engine),
    ):
        seen, true = (
            world.rollout(world.home(), targets),
            true_rollout(world, world.home(), targets),
        )
        for name in SHOWN:
            np.testing.assert_array_equal(getattr(seen, name), getattr(true, name))
