"""Each effect alone leaves its signature: what a method can look for, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gapless.recordings import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld, State
from gapless.worlds.hidden import HiddenWorld

RATE = 100.0
HANDS = ("left_wrist_yaw_link", "right_wrist_yaw_link")


def only(*kept: str) -> Robot:
    """An H1-2 of which only these joints move, without friction of its own."""
    robot = Robot.load("h1_2", mount="fixed")
    robot = robot.lock([j for j in robot.joints.names if j not in kept])
    return robot.with_joints(frictionloss=0.0, damping=0.0)


@pytest.fixture(scope="module")
def arm() -> Robot:
    """Shoulder pitch and elbow: gravity acts on both."""
    return only("left_shoulder_pitch_joint", "left_elbow_joint")


@pytest.fixture(scope="module")
def elbow() -> Robot:
    """One joint under gravity."""
    return only("left_elbow_joint")


@pytest.fixture(scope="module")
def upright() -> Robot:
    """One joint about a vertical axis, on which gravity has no hold."""
    return only("left_shoulder_yaw_joint")


def hidden(robot: Robot, *effects: str, preset: str = "hard", rate: float = RATE) -> HiddenWorld:
    """A unit with these effects only."""
    return HiddenWorld(robot, preset, only=effects, rate=rate)


def figures(world: HiddenWorld, effect: str, tmp_path: Path) -> dict[str, float]:
    """Joint or link -> the true figure, read from the file that was asked for."""
    world.write_truth(tmp_path / "truth.json")
    values = json.loads((tmp_path / "truth.json").read_text())["effects"][effect]["values"]
    return {name: numbers[0] for name, numbers in values.items()}


def of_joints(world: HiddenWorld, effect: str, tmp_path: Path) -> np.ndarray:
    """The true figures in joint order."""
    found = figures(world, effect, tmp_path)
    return np.array([found[j] for j in world.robot.joints.names])


def held(world: HiddenWorld | MujocoWorld, seconds: float = 10.0, load: float = 0.0) -> np.ndarray:
    """The position the joints settle at while the default pose is commanded."""
    pose = np.tile(world.robot.joints.default, (1, round(seconds * RATE), 1))
    told = [Conditions(payloads={HANDS[0]: Payload(load)} if load else {})]
    return world.rollout(world.home(), pose, conditions=told).q[0, -1]


def played(world: HiddenWorld | MujocoWorld, targets: np.ndarray, load: float = 0.0) -> np.ndarray:
    """Logged positions under (T, J) targets from rest."""
    told = [Conditions(payloads={HANDS[0]: Payload(load)} if load else {})]
    start = State(q=targets[:1], dq=np.zeros((1, targets.shape[1])))
    return world.rollout(start, targets[None], conditions=told).q[0]


def triangle(robot: Robot, speed: float, size: float = 0.3, periods: int = 3) -> np.ndarray:
    """Both joints up and down at one speed (rad/s)."""
    steps = np.arange(round(periods * 4 * size / speed * RATE)) / RATE * speed / size
    wave = size * np.abs((steps - 1) % 4 - 2) - size
    return robot.joints.default + 0.3 + wave[:, None]


def sine(robot: Robot, hertz: float = 0.7, seconds: float = 5.0, size: float = 0.3) -> np.ndarray:
    """Both joints swing."""
    time = np.arange(round(seconds * RATE)) / RATE
    return robot.joints.default + 0.3 + size * (1 - np.cos(2 * np.pi * hertz * time))[:, None]


def loop_width(world: HiddenWorld | MujocoWorld, speed: float, load: float = 0.0) -> np.ndarray:
    """How much lower the joints are on the way up than on the way down, at the same target."""
    targets = triangle(world.robot, speed)
    q = played(world, targets, load)[:-1]
    rising = np.gradient(targets[:, 0]) > 0
    middle = np.abs(targets[:, 0] - targets[:, 0].mean()) < 0.1
    later = np.arange(len(targets)) > len(targets) // 3
    lag = targets - q
    return lag[rising & middle & later].mean(axis=0) - lag[~rising & middle & later].mean(axis=0)


def test_weak_motors_sag_more(arm: Robot, tmp_path: Path) -> None:
    """The error under gravity grows by one over the strength."""
    world = hidden(arm, "strength")
    sag = np.abs(held(world) - arm.joints.default)
    plain = np.abs(held(MujocoWorld(arm, RATE)) - arm.joints.default)
    expected = 1 / (1 - of_joints(world, "strength", tmp_path))
    assert sag / plain == pytest.approx(expected, rel=0.03)


def test_a_log_shows_the_torque_a_weak_motor_believes_in(arm: Robot) -> None:
    """At rest the logged torque is kp times the error with the nominal kp."""
    world = hidden(arm, "strength")
    targets = np.tile(arm.joints.default, (1, 400, 1))
    played = world.rollout(world.home(), targets)
    assert played.torque is not None
    believed = arm.joints.kp * (targets[0, -1] - played.q[0, -1])
    assert played.torque[0, -1] == pytest.approx(believed, rel=1e-3)


def test_the_speed_limit_caps_fast_moves_only(upright: Robot) -> None:
    """A large step is slower than nominal; a slow move is not changed at all."""
    slow = upright.with_joints(velocity=2.0)
    world, plain = hidden(slow, "speed_limit"), MujocoWorld(upright, RATE)
    step = np.tile(upright.joints.default + 1.0, (1, 60, 1))
    fast = [w.rollout(w.home(), step).dq.max() for w in (world, plain)]
    assert fast[0] < 2.05 < 4.0 < fast[1]
    gentle = triangle(upright, 0.2, periods=1)
    assert played(world, gentle) == pytest.approx(played(plain, gentle), abs=1e-9)


def test_heat_weakens_over_minutes(arm: Robot) -> None:
    """A loaded arm that holds still warms, and sinks further, over four minutes."""
    world = HiddenWorld(arm, "hard", only=["heat"], rate=50, physics_step=0.02)
    pose = np.tile(arm.joints.default - np.array([0.8, 0.0]), (1, 240 * 50, 1))
    told = [Conditions(payloads={HANDS[0]: Payload(3.0)})]
    played = world.rollout(State(q=pose[:, 0], dq=np.zeros((1, 2))), pose, conditions=told)
    assert played.temperature is not None
    early, late = 50 * 5, -1
    assert (np.diff(played.temperature[0, ::50, 0]) > 0).all()
    assert played.temperature[0, late, 0] > 35
    sag = np.abs(played.q[0] - pose[0, 0])[:, 0]
    assert sag[late] > 1.02 * sag[early]


def test_a_warm_start_is_weaker(arm: Robot) -> None:
    """The temperature in the conditions is where the motors begin."""
    world = hidden(arm, "heat")
    pose = np.tile(arm.joints.default, (2, 200, 1))
    told = [Conditions(extra={"motor_temperature": t}) for t in (25.0, 75.0)]
    q = world.rollout(world.home(2), pose, conditions=told).q[:, -1]
    sag = np.abs(q - arm.joints.default)
    assert sag[1] / sag[0] == pytest.approx(1 / (1 - 0.002 * 50), rel=0.02)


def test_dry_friction_opens_a_loop_of_constant_width(upright: Robot, tmp_path: Path) -> None:
    """Twice the friction over the gain, whatever the speed."""
    world = hidden(upright, "coulomb")
    torque = of_joints(world, "coulomb", tmp_path) * upright.joints.effort
    plain = MujocoWorld(upright, RATE)
    for speed in (0.1, 0.3):
        width = loop_width(world, speed) - loop_width(plain, speed)
        assert width == pytest.approx(2 * torque / upright.joints.kp, rel=0.02)


def test_viscous_friction_lags_with_speed(upright: Robot, tmp_path: Path) -> None:
    """Twice the damping times the speed over the gain."""
    world, plain = hidden(upright, "viscous"), MujocoWorld(upright, RATE)
    share = of_joints(world, "viscous", tmp_path)
    damping = share * upright.joints.effort / upright.joints.velocity
    for speed in (0.2, 0.6):
        width = loop_width(world, speed) - loop_width(plain, speed)
        assert width == pytest.approx(2 * damping * speed / upright.joints.kp, rel=0.1)


def test_stribeck_friction_is_worst_when_slow(upright: Robot) -> None:
    """The loop is wide near rest and closes with speed."""
    world, plain = hidden(upright, "stribeck"), MujocoWorld(upright, RATE)
    slow, fast = (loop_width(world, v) - loop_width(plain, v) for v in (0.08, 0.8))
    assert (slow > 3 * np.abs(fast)).all()


def test_load_friction_grows_with_the_load(arm: Robot) -> None:
    """The loop widens when the arm carries more."""
    world, plain = hidden(arm, "load_friction"), MujocoWorld(arm, RATE)
    light, heavy = (
        loop_width(world, 0.2, load) - loop_width(plain, 0.2, load) for load in (0.0, 3.0)
    )
    assert (light > 0).all()
    assert heavy[0] > 1.3 * light[0]


@pytest.mark.parametrize("effect", ["quadratic_friction", "backdrive"])
def test_friction_of_loaded_gears_grows_with_the_load(arm: Robot, effect: str) -> None:
    """Effects a unit has where they are named: the loop widens when the arm carries more."""
    world, plain = hidden(arm, effect), MujocoWorld(arm, RATE)
    light, heavy = (
        loop_width(world, 0.2, load) - loop_width(plain, 0.2, load) for load in (0.0, 3.0)
    )
    assert (heavy > 3 * np.abs(light)).all()


def test_backlash_gives_hysteresis_at_reversal(upright: Robot, tmp_path: Path) -> None:
    """Going up and coming down the joint lags half the play: the loop is as wide as the play.

    A little friction keeps the joint from coasting through the play on its own.
    """
    dry = upright.with_joints(frictionloss=0.2)
    world, plain = hidden(dry, "backlash"), MujocoWorld(dry, RATE)
    width = loop_width(world, 0.2) - loop_width(plain, 0.2)
    assert width == pytest.approx(of_joints(world, "backlash", tmp_path), rel=0.05)


def test_a_reversal_with_backlash_loses_the_play(upright: Robot, tmp_path: Path) -> None:
    """While the motor crosses its play the joint rests: it travels that much less."""
    dry = upright.with_joints(frictionloss=0.2)
    targets = triangle(dry, 0.1)
    after = round(0.6 / 0.1 * RATE) - round(0.3 / 0.1 * RATE)
    world, plain = hidden(dry, "backlash"), MujocoWorld(dry, RATE)
    window = slice(after, after + 40)
    moved = [np.ptp(played(w, targets)[window]) for w in (world, plain)]
    play = of_joints(world, "backlash", tmp_path)[0]
    assert 0.6 * play < moved[1] - moved[0] < 1.1 * play


def test_backlash_under_gravity_takes_half_its_play_at_rest(elbow: Robot, tmp_path: Path) -> None:
    """Gravity presses the joint against one side of the play."""
    world = hidden(elbow, "backlash")
    play = of_joints(world, "backlash", tmp_path)
    moved = np.abs(held(world) - held(MujocoWorld(elbow, RATE)))
    assert moved == pytest.approx(play / 2, rel=0.1)


def test_flex_twists_with_the_torque(elbow: Robot, tmp_path: Path) -> None:
    """At rest the joint hangs lower by the compliance times the torque it carries."""
    world, plain = hidden(elbow, "flex"), MujocoWorld(elbow, RATE)
    twist = of_joints(world, "flex", tmp_path) / elbow.joints.effort
    at = held(plain, load=2.0)
    torque = elbow.joints.kp * (elbow.joints.default - at)
    assert at - held(world, load=2.0) == pytest.approx(twist * torque, rel=0.1)


def delayed(q: np.ndarray, seconds: float) -> np.ndarray:
    """A trajectory some time ago, by interpolation."""
    time = np.arange(len(q)) / RATE
    return np.stack([np.interp(time - seconds, time, column) for column in q.T], axis=1)


def shift(world: HiddenWorld, robot: Robot) -> float:
    """The delay (s) that explains a hidden robot's response best."""
    targets = sine(robot)
    late, plain = played(world, targets), played(MujocoWorld(robot, RATE), targets)
    tried = np.arange(0, 0.04, 0.0005)
    return float(tried[np.argmin([np.abs(delayed(plain, t) - late).sum() for t in tried])])


def test_command_delay_shifts_the_response_by_what_was_set(arm: Robot, tmp_path: Path) -> None:
    """To half a physics step, the step to which a delay can act."""
    world = hidden(arm, "command_delay")
    assert shift(world, arm) == pytest.approx(
        figures(world, "command_delay", tmp_path)["robot"], abs=0.0012
    )


def test_sensor_delay_shifts_the_log_and_nothing_else(arm: Robot, tmp_path: Path) -> None:
    """The log is the undelayed motion, interpolated; the robot itself is not changed."""
    world = hidden(arm, "sensor_delay")
    seconds = figures(world, "sensor_delay", tmp_path)["robot"]
    targets = sine(arm)
    late, plain = played(world, targets), played(MujocoWorld(arm, RATE), targets)
    assert shift(world, arm) == pytest.approx(seconds, abs=0.0006)
    assert late == pytest.approx(delayed(plain, seconds), abs=2e-4)


def test_command_jitter_differs_from_repeat_to_repeat(arm: Robot, tmp_path: Path) -> None:
    """Its mean delays the response; two repeats are alike only on average."""
    world = hidden(arm, "command_jitter")
    targets = np.tile(sine(arm), (2, 1, 1))
    told = [Conditions(extra={"repeat": r}) for r in (1, 2)]
    start = State(q=targets[:, 0], dq=np.zeros((2, 2)))
    q = world.rollout(start, targets, conditions=told).q
    spread = np.abs(q[0] - q[1]).max()
    assert 1e-5 < spread < 0.02
    assert shift(world, arm) == pytest.approx(
        figures(world, "command_jitter", tmp_path)["robot"], abs=0.002
    )


def test_encoder_bias_is_a_robot_with_other_zeros(arm: Robot, tmp_path: Path) -> None:
    """The log is that of a true robot whose targets and positions are moved by the bias."""
    world = hidden(arm, "encoder_bias")
    bias = of_joints(world, "encoder_bias", tmp_path)
    targets = sine(arm)
    moved = played(MujocoWorld(arm, RATE), targets - bias) + bias
    assert played(world, targets) == pytest.approx(moved, abs=1e-9)


def test_encoder_noise_is_white_and_of_the_size_set(arm: Robot, tmp_path: Path) -> None:
    """The log scatters about the true motion, one sample not knowing the next."""
    world = hidden(arm, "encoder_noise")
    sigma = of_joints(world, "encoder_noise", tmp_path)
    noise = played(world, sine(arm)) - played(MujocoWorld(arm, RATE), sine(arm))
    assert noise.std(axis=0) == pytest.approx(sigma, rel=0.15)
    assert np.abs(np.corrcoef(noise[1:, 0], noise[:-1, 0])[0, 1]) < 0.15


def test_quantised_positions_are_whole_steps(arm: Robot, tmp_path: Path) -> None:
    """Every logged position is a multiple of the encoder's step, the nearest one."""
    world = hidden(arm, "quantisation")
    step = of_joints(world, "quantisation", tmp_path)
    q = played(world, sine(arm))
    assert q / step == pytest.approx(np.round(q / step), abs=1e-6)
    assert np.abs(q - played(MujocoWorld(arm, RATE), sine(arm))).max() <= step.max() / 2 + 1e-12


@pytest.mark.parametrize("effect", ["link_mass", "link_com"])
def test_wrong_masses_change_what_must_be_held(arm: Robot, effect: str) -> None:
    """The static torque differs."""
    moved = np.abs(held(hidden(arm, effect)) - held(MujocoWorld(arm, RATE)))
    assert moved[0] > 1e-4


@pytest.mark.parametrize("effect", ["link_inertia", "armature"])
def test_wrong_inertias_show_only_in_motion(arm: Robot, effect: str) -> None:
    """At rest nothing differs; a fast swing does."""
    world, plain = hidden(arm, effect), MujocoWorld(arm, RATE)
    assert held(world) == pytest.approx(held(plain), abs=1e-6)
    fast = sine(arm, hertz=2.5)
    assert np.abs(played(world, fast) - played(plain, fast)).max() > 1e-4


def test_an_unknown_load_is_a_payload_nobody_mentioned(arm: Robot, tmp_path: Path) -> None:
    """The log is that of a nominal robot which carries it."""
    world = hidden(arm, "unknown_load")
    mass = figures(world, "unknown_load", tmp_path)
    loaded = MujocoWorld(arm.with_payloads({h: Payload(m) for h, m in mass.items()}), RATE)
    start = State(q=sine(arm)[:1], dq=np.zeros((1, 2)))
    told = loaded.rollout(start, sine(arm)[None]).q[0]
    assert played(world, sine(arm)) == pytest.approx(told, abs=1e-9)


def test_a_load_held_further_out_weighs_more(arm: Robot) -> None:
    """Without a load the grip does nothing; with one the arm sags more."""
    world, plain = hidden(arm, "grip"), MujocoWorld(arm, RATE)
    assert held(world) == pytest.approx(held(plain), abs=1e-12)
    sag = [np.abs(held(w, load=3.0) - arm.joints.default)[1] for w in (world, plain)]
    assert sag[0] > 1.02 * sag[1]


@pytest.fixture(scope="module")
def dog() -> Robot:
    """A Go2 on the floor: it stands by itself."""
    return Robot.load("go2", mount="free")


def test_a_slippery_floor_lets_feet_slide_further(dog: Robot) -> None:
    """A robot that is shoved slides further than nominal."""
    far = []
    for world in (hidden(dog, "floor_friction"), MujocoWorld(dog, RATE)):
        start = world.home()
        assert start.base_lin_vel_w is not None
        start.base_lin_vel_w[:, 0] = 2.5
        shoved = world.rollout(start, np.tile(dog.joints.default, (1, 100, 1)))
        assert shoved.base_pos is not None
        far.append(shoved.base_pos[0, -1, 0])
    assert far[0] > far[1] + 0.02


def test_a_soft_floor_is_sunk_into(dog: Robot) -> None:
    """A standing robot comes to rest lower than nominal."""
    heights = []
    for world in (hidden(dog, "floor_softness"), MujocoWorld(dog, RATE)):
        stood = world.rollout(world.home(), np.tile(dog.joints.default, (1, 150, 1)))
        assert stood.base_pos is not None
        heights.append(stood.base_pos[0, -1, 2])
    assert heights[0] < heights[1] - 1e-4
