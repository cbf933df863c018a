"""The base of a robot that stands on its feet, from its joints alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.identification.problem.simulator import Simulator
from gapless.measurement import measure
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.base_estimate import BaseEstimate, describe
from gapless.measurement.fall_signs import fall_finding
from gapless.measurement.judge import replay_error
from gapless.measurement.replay import replay
from gapless.measurement.standing_starts import starts_in
from gapless.measurement.still_feet import base_followed
from gapless.measurement.windows import windows_of
from gapless.motions.balance import Balance
from gapless.motions.standing import stand
from gapless.parameters import parameters_of
from gapless.recordings.recording import Recording
from gapless.robots import Floor, Kinematics, Robot
from gapless.robots.rotations import about, angle_between, conj, mul, rotate
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.effects import Effects
from gapless.worlds.hidden.true_state import true_state
from gapless.worlds.record import record
from gapless.worlds.world import State

UPWARD = np.array([0.0, 0.0, 1.0])
BASE = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")
CLEATS = """
<mujoco><worldbody><geom type="plane" size="0 0 1"/>
  <body name="trunk_of_it" pos="0 0 .5"><freejoint name="floaty"/>
    <geom type="box" size=".1 .1 .1" mass="3"/>
    {legs}
  </body></worldbody>
  <actuator>{motors}</actuator></mujoco>"""
LEG = """
<body name="{s}_thigh" pos="0 {y} -.1"><joint name="{s}_hip" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".4" contype="0" conaffinity="0"/>
  <body name="{s}_shank" pos="0 0 -.2"><joint name="{s}_ankle" axis="0 1 0"/>
    <geom type="box" size=".06 .03 .005" pos=".02 0 -.01" mass=".1"/>
    <body name="{s}_sole">{cleats}</body>
  </body>
</body>"""


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A free G1."""
    return Robot.load("g1", mount="free")


@pytest.fixture(scope="module")
def cleated(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """A walker on cylinder cleats whose free joint and root have names of their own."""
    cleat = '<geom type="cylinder" size=".008 .009" pos="{} {} -.024" mass=".01"/>'
    cleats = "".join(cleat.format(x, y) for x in (-0.03, 0.07) for y in (-0.02, 0.02))
    legs = "".join(LEG.format(s=s, y=y, cleats=cleats) for s, y in (("l", 0.08), ("r", -0.08)))
    joints = ("l_hip", "l_ankle", "r_hip", "r_ankle")
    motors = "".join(f'<position joint="{j}" kp="60" kv="2"/>' for j in joints)
    path = tmp_path_factory.mktemp("cleats") / "cleats.xml"
    path.write_text(CLEATS.format(legs=legs, motors=motors))
    return Robot.from_mjcf(path, link_groups={"feet": ("l_shank", "r_shank")})


def estimate_of(clip: Recording, robot: Robot, *kept: str) -> BaseEstimate:
    """Of a recording stripped of all channels but some."""
    bare = replace(clip, channels={k: clip.channels[k] for k in kept})
    estimate = in_robot_order(bare, robot).estimate
    assert estimate is not None
    return estimate


def tilt_errors(estimate: BaseEstimate, quat: np.ndarray) -> np.ndarray:
    """(T,) deg."""
    ups = [rotate(conj(q), UPWARD) for q in (estimate.base_quat_wxyz, quat)]
    return np.degrees(np.linalg.norm(ups[0] - ups[1], axis=1))


def posed(robot: Robot, q: np.ndarray, rate: float = 50.0) -> Recording:
    """A clip of these positions."""
    return Recording("clip", robot.joints.names, rate, q, q.copy(), np.ones(q.shape, bool))


def standing_clip(robot: Robot, world: HiddenWorld, seconds: float = 3.0) -> Recording:
    """A squat under feedback: joints as logged, the base as it really was."""
    targets = stand(robot, seconds).targets(robot, robot.rate)[None]
    states: list[State] = []
    step = world.step
    world.step = lambda given: (states.append(true_state(world)), step(given))[1]  # type: ignore
    seen, commands = Balance(robot).play(world, targets)
    true = State.stack([s[0] for s in states])
    return Recording(
        name="squat",
        joints=robot.joints.names,
        rate=world.rate,
        q=seen.q[0, :-1],
        target=commands[0],
        mask=np.ones(commands[0].shape, bool),
        channels={name: getattr(true, name) for name in BASE},
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1, 3])
def test_base_of_a_hidden_robot_is_recovered(g1: Robot, unit: int) -> None:
    """Within 5 mm and 1.5 deg while it squats, and replays are as good as from the true base."""
    clip = standing_clip(g1, HiddenWorld(g1, "typical", unit))
    found = estimate_of(clip, g1)
    assert np.abs(found.base_pos[:, 2] - clip.channels["base_pos"][:, 2]).max() < 5e-3
    assert tilt_errors(found, clip.channels["base_quat_wxyz"]).max() < 1.5
    assert found.standing.all()
    world = MujocoWorld(g1)
    true, guessed = (replay_error([c], world, 0.5) for c in (clip, replace(clip, channels={})))
    assert guessed < 1.2 * true


def walk(robot: Robot, seconds: float = 4.0, rate: float = 100.0) -> tuple[Recording, np.ndarray]:
    """Squats on the left foot, which turns with the base's yaw, while the right one steps.

    Returns:
        The clip, and (T, F) which feet stand.
    """
    time = np.arange(round(seconds * rate)) / rate
    lift = np.clip(np.sin(2 * np.pi * time / 2), 0, None)[:, None] * 0.5
    q = np.tile(robot.joints.default, (len(time), 1))
    for side, bend in (("left", 0.1 * np.sin(3 * time)[:, None]), ("right", lift)):
        for joint, share in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
            q[:, robot.joints.index(f"{side}_{joint}_joint")] += share * bend[:, 0]
        q[:, robot.joints.index(f"{side}_hip_yaw_joint")] += 0.2 * lift[:, 0]
    bend = 0.1 * np.sin(3 * time)
    for joint, share in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
        q[:, robot.joints.index(f"right_{joint}_joint")] += share * bend
    return posed(robot, q, rate), np.stack([np.ones(len(time), bool), lift[:, 0] < 0.02], axis=1)


def test_the_standing_foot_stays_where_it_is(g1: Robot) -> None:
    """While the other lifts: no slide, no turn, no penetration, and velocities to match."""
    clip, stands = walk(g1)
    found = estimate_of(clip, g1)
    assert (found.standing[:, 0]).all()
    assert (found.standing[:, 1] == stands[:, 1]).mean() > 0.9
    kinematics = Kinematics.of(g1)
    pos, quat = kinematics.link_poses(clip.q, found.base_pos, found.base_quat_wxyz)
    foot = kinematics.links.index("left_ankle_roll_link")
    assert np.abs(pos[:, foot] - pos[:1, foot]).max() < 3e-3
    assert angle_between(quat[:, foot], quat[:1, foot]).max() < 0.02
    assert np.ptp(rotate(found.base_quat_wxyz, np.array([1.0, 0, 0]))[:, 1]) > 0.05  # it turned
    moved = np.gradient(found.base_pos, axis=0) * clip.rate
    assert np.abs(moved - found.base_lin_vel_w)[2:-2].mean() < 5e-3
    assert describe([found.quality]).startswith("base estimated from the feet of 1 recordings")


@pytest.mark.parametrize("kept", ["imu_quat_wxyz", "imu_acc", "imu_gyro"])
def test_an_imu_decides_what_the_feet_cannot(g1: Robot, kept: str) -> None:
    """Feet whose ankles read 0.1 rad wrong tilt the base; an IMU, or the gravity it feels, not."""
    q, quat = np.tile(g1.joints.default, (100, 1)), np.tile([1.0, 0.0, 0.0, 0.0], (100, 1))
    for side in ("left", "right"):
        q[:, g1.joints.index(f"{side}_ankle_pitch_joint")] += 0.1
    clip = posed(g1, q)
    clip.channels["imu_quat_wxyz"] = quat
    clip.channels["imu_acc"] = np.tile(9.81 * UPWARD, (100, 1))
    clip.channels["imu_gyro"] = np.zeros((100, 3))
    alone, helped = (tilt_errors(estimate_of(clip, g1, *k), quat) for k in ((), (kept,)))
    assert np.median(alone) == pytest.approx(np.degrees(0.1), abs=0.1)
    wrong = kept == "imu_gyro"  # it feels no gravity
    assert np.median(helped) == pytest.approx(np.median(alone) if wrong else 0, abs=0.1)


def test_a_still_robot_stays_where_the_estimate_puts_it(g1: Robot) -> None:
    """A replay from the estimated start neither drops nor jumps: the feet touch the floor."""
    balance, world = Balance(g1), MujocoWorld(g1)
    targets = np.tile(g1.joints.default, (1, 75, 1))
    seen, commands = balance.play(world, targets)
    clip = replace(posed(g1, seen.q[0, :-1]), target=commands[0])
    windows = windows_of([clip], g1, 0.5, limit=2)
    played = world.rollout(windows.start, windows.held, history=windows.history)
    assert played.base_pos is not None
    assert np.ptp(played.base_pos[..., 2], axis=1).max() < 2e-3
    assert np.abs(played.q[:, 1:] - windows.real.q).max() < 2e-3


def test_cylinder_cleats_and_odd_names_stand_on_the_floor(cleated: Robot) -> None:
    """Settled in MuJoCo, a walker on cleats has the height and tilt that the estimate says."""
    world = MujocoWorld(cleated, 50)
    clip = record(world, np.zeros((60, 4)), "still", start=world.home())
    found = estimate_of(clip, cleated)
    assert found.feet == ("l_shank", "r_shank")
    assert np.abs(found.base_pos[:, 2] - clip.channels["base_pos"][:, 2]).max() < 2e-3
    assert tilt_errors(found, clip.channels["base_quat_wxyz"]).max() < 1.0
    unnamed = estimate_of(clip, replace(cleated, link_groups={}))
    assert set(unnamed.feet) == set(found.feet)
    np.testing.assert_allclose(unnamed.base_pos, found.base_pos, atol=1e-9)


def test_four_point_feet_give_a_plane() -> None:
    """A go2 that leans: its feet say how, without an IMU."""
    robot = Robot.load("go2", mount="free")
    world = MujocoWorld(robot)
    targets = np.tile(robot.joints.default, (100, 1))
    for leg in ("FL", "RL"):
        targets[:, robot.joints.index(f"{leg}_calf_joint")] -= np.linspace(0, 0.25, 100)
    clip = record(world, targets, "lean", start=world.home())
    found = estimate_of(clip, robot)
    quat = clip.channels["base_quat_wxyz"]
    level = tilt_errors(replace(found, base_quat_wxyz=np.tile([1.0, 0, 0, 0], (100, 1))), quat)
    assert level.max() > 4
    assert tilt_errors(found, quat)[5:].max() < 1.0
    assert np.abs(found.base_pos[:, 2] - clip.channels["base_pos"][:, 2])[5:].max() < 5e-3
    assert "all 4 feet stand" in describe([found.quality])


def test_on_a_slope_the_soles_lie_on_the_slope(g1: Robot) -> None:
    """The estimate is that of the level floor, turned with the floor."""
    clip, _ = walk(g1, 1.0)
    floor = Floor(slope=0.1)
    level, sloped = (estimate_of(clip, r) for r in (g1, g1.with_floor(floor)))
    turned = mul(floor.quat_wxyz, level.base_quat_wxyz)
    assert angle_between(sloped.base_quat_wxyz, turned).max() < 1e-6


def test_a_robot_that_lies_has_no_estimate(g1: Robot) -> None:
    """Something else is lower than its feet: unknown, not scored, and said so."""
    clip = posed(g1, np.tile(g1.joints.default, (40, 1)))
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (40, 1))
    quat[20:] = about(np.array([0.0, 1.0, 0.0]), np.pi / 2)
    aligned = in_robot_order(replace(clip, channels={"imu_quat_wxyz": quat}), g1)
    assert aligned.valid[:20].all() and not aligned.valid[20:].any()
    assert aligned.estimate is not None
    assert "50 % of it the robot is not on its feet" in describe([aligned.estimate.quality])


def test_a_base_follows_joints_that_were_read_wrong(g1: Robot) -> None:
    """What a start errs by moves an estimated base along: feet stay where they were, logged not."""
    clip, _ = walk(g1, 0.1)
    start = in_robot_order(clip, g1).state[np.array([0, 5])]
    q = start.q + np.random.default_rng(0).normal(0, 1e-3, start.q.shape)
    moved = base_followed(g1, start, replace(start, q=q), np.array([True, False]))
    kinematics = Kinematics.of(g1)
    feet = [kinematics.links.index(link) for link in g1.link_groups["feet"]]
    slips = []
    for state in (moved, replace(start, q=q)):
        before, after = (
            kinematics.link_poses(s.q, s.base_pos, s.base_quat_wxyz)[0][:, feet].mean(axis=1)
            for s in (start, state)
        )
        slips.append(np.linalg.norm(after - before, axis=1))
    assert slips[0][0] < 1e-4 < 2e-4 < slips[1][0]
    assert slips[0][1] == slips[1][1]


def test_masked_and_lost_samples_spoil_no_other(g1: Robot) -> None:
    """A filler that is no number, and an IMU that is silent for a while."""
    clip, _ = walk(g1, 1.0)
    q, mask = clip.q.copy(), clip.mask.copy()
    q[30:33], mask[30:33] = np.nan, False
    quat = np.tile(about(UPWARD, 0.3), (len(clip), 1))
    quat[50:55] = np.nan
    broken = replace(clip, q=q, mask=mask, channels={"imu_quat_wxyz": quat})
    found = in_robot_order(broken, g1)
    lost = np.isin(np.arange(len(clip)), [30, 31, 32, *range(50, 55)])
    assert (found.valid == ~lost).all()
    assert found.state.base_pos is not None
    assert np.isfinite(found.state.base_pos[~lost]).all()


def test_a_robot_without_collision_shapes_is_refused(cleated: Robot, tmp_path: Path) -> None:
    """And told what it lacks: never to be hung in the air."""
    text = Path(cleated.source).read_text().replace("<geom", '<geom contype="0" conaffinity="0"')
    text = text.replace('contype="0" conaffinity="0"/>', "/>").replace(
        'mass=".4" contype="0" conaffinity="0"', 'mass=".4"'
    )
    (tmp_path / "air.xml").write_text(text)
    robot = Robot.from_mjcf(tmp_path / "air.xml", mount="free")
    with pytest.raises(ModelError, match="collision geoms") as error:
        in_robot_order(posed(robot, np.zeros((5, 4))), robot)
    assert "fixed" not in str(error.value)


def test_measuring_says_how_good_the_base_is(g1: Robot) -> None:
    """Once for all recordings and horizons."""
    world = MujocoWorld(g1)
    clip = record(world, np.tile(g1.joints.default, (40, 1)), "still", start=world.home())
    bare = [replace(clip, channels={}, name=name) for name in ("a", "b")]
    said = [s for s in measure(bare, world, horizons=[0.25, 0.5]).skipped if "base" in s]
    assert len(said) == 1 and "of 2 recordings: both feet stand 100 %" in said[0]


def test_soles_that_wrong_zeros_tilt_still_stand(cleated: Robot) -> None:
    """4 deg apart all the time is an error of encoders, for a second it is a foot in the air."""
    q = np.tile(np.radians([2.5, 0.0, -1.5, 0.0]), (200, 1))
    lifts = np.zeros_like(q)
    lifts[120:170, :2] = [-0.5, 0.2]
    found = estimate_of(posed(cleated, q), cleated)
    assert found.standing.all() and np.degrees(found.quality.tilt) == pytest.approx(4.0, abs=0.1)
    assert "encoder zeros are off" in describe([found.quality])
    found = estimate_of(posed(cleated, q + lifts), cleated)
    assert found.standing[:, 1].all()
    assert found.standing[:115, 0].all() and not found.standing[125:165, 0].any()


def test_a_robot_beside_its_feet_may_have_fallen(cleated: Robot) -> None:
    """Joints alone do not show it; that nothing holds it does. A moment of that is a step."""
    lean = np.zeros((200, 4))
    lean[60:80] = lean[110:190] = [0.7, -0.7, 0.7, -0.7]
    clip = posed(cleated, lean)
    found = estimate_of(clip, cleated)
    assert found.unbalanced(50.0) == pytest.approx((2.2, 3.8), abs=0.05)
    finding = fall_finding(clip, found)
    assert finding is not None
    assert "from 2.2 to 3.8 s" in finding.message and finding.recording == "clip"
    assert estimate_of(posed(cleated, lean[:100]), cleated).unbalanced(50.0) is None


def stepping(standing: np.ndarray, lean: float = 0.0) -> BaseEstimate:
    """A robot that is beside its feet all the time; they stand as told."""
    count = len(standing)
    quat = np.tile([np.cos(lean / 2), 0.0, np.sin(lean / 2), 0.0], (count, 1))
    nothing = np.zeros((count, 3))
    return BaseEstimate(
        *(nothing, quat, nothing, nothing, ("left", "right"), standing),
        *(np.zeros(count), np.zeros(count), np.full(count, 0.05), "feet"),
    )


def test_a_robot_that_steps_has_not_fallen() -> None:
    """The foot that comes down catches it; one that lies and kicks, or stops stepping, fell."""
    left = np.arange(200) // 20 % 2 == 0
    walk = np.column_stack([left, ~left])
    assert stepping(walk).unbalanced(50.0) is None
    walk[120:] = [True, False]
    found = stepping(walk).unbalanced(50.0)
    assert found is not None and found == pytest.approx((2.42, 4.0), abs=0.05)
    assert stepping(np.column_stack([left, ~left]), lean=1.3).unbalanced(50.0) == (0.0, 4.0)
    flicker = np.column_stack([np.ones(200, bool), np.arange(200) % 4 != 0])
    assert stepping(flicker).unbalanced(50.0) == (0.0, 4.0)


def test_feet_stand_by_the_zeros_that_a_world_knows(cleated: Robot) -> None:
    """Encoders off by a degree or two: replays and fits put the true angles on the floor."""
    weak = cleated.with_joints(kp=np.full(4, 20.0), kd=np.full(4, 1.0))  # the floor levels its feet
    bias = np.radians([1.5, -2.0, -1.0, 2.0])
    world = MujocoWorld(weak, 50.0, effects=Effects(encoder_bias=bias))
    wave = np.clip(np.arange(200) / 50 - 1, 0, 1) * np.sin(np.arange(200) / 8)
    sway = 0.05 * wave[:, None] * [1, -1, 1, -1]
    clip = record(world, weak.joints.default + sway, "sway", start=world.home()).clip(50, 200)
    windows = windows_of([replace(clip, channels={})], weak, 0.5, 24)
    stood = starts_in(world, windows)
    true = windows_of([clip], weak, 0.5, 24).start
    for name in ("base_pos", "base_quat_wxyz"):
        off = [np.abs(getattr(s, name) - getattr(true, name)) for s in (stood, windows.start)]
        column = 2  # height, and the tilt about y
        assert off[0][:, column].mean() < 0.6 * off[1][:, column].mean()
    hardly = starts_in(world.variant(effects=Effects(encoder_bias=1e-6 * bias)), windows)
    for name, read in windows.start.fields.items():
        assert read is not None  # no jump: slopes are taken at zero, too
        np.testing.assert_allclose(getattr(hardly, name), read, atol=1e-5)
    tried = np.stack([bias, 0 * bias])
    play = Simulator(world.variant(effects=Effects()), parameters_of(weak, ["encoder_bias"])).play
    same = world.rollout(stood, windows.held, history=windows.history)
    np.testing.assert_allclose(play(windows, tried).q[0], same.q[:, 1:], atol=1e-9)
    (played,) = replay([replace(clip, channels={})], world, 0.5)
    assert played.sim.base_pos is not None and true.base_pos is not None
    height = played.sim.base_pos[:, 0, 2].mean() - true.base_pos[:, 2].mean()
    assert abs(height) < 4e-4, "1.0 mm with the base of the log's angles"
