"""Rewards of trackers: each term against its formula, written anew state by state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gapless.errors import NameMismatchError
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics, BodyStates
from gapless.robots.rotations import mul, normalise, rotate
from gapless.tracking.tracked_step import TrackedBodies, TrackedStep
from gapless.tracking.tracking_rewards import ASAP, BEYONDMIMIC, TERMS, reward
from gapless.worlds.world import State
from standing_motion import standing_motion

N = 5
SOFT = {"position": 0.9, "velocity": 0.8, "torque": 0.7}
RELATIVE = ("relative_position", "relative_turn")


@pytest.fixture(scope="module")
def which(walker: Robot) -> TrackedBodies:
    """Its groups of bodies, feet as high as they are when it stands."""
    kinematics = BodyKinematics(walker)
    home = kinematics.states(MotionFrames.of(standing_motion(walker), walker).state[[0]])
    return TrackedBodies.of(walker, kinematics.names, "torso_link", home)


def drawn_bodies(rng: np.random.Generator, count: int) -> BodyStates:
    """Near the origin, turned anyhow."""
    pos, vel, spin = 0.2 * rng.normal(size=(3, N, count, 3))
    return BodyStates(pos, normalise(rng.normal(size=(N, count, 4))), vel, spin)


def drawn_state(rng: np.random.Generator, joints: int) -> State:
    """Fast, strong and near the ends of its range."""
    pos, vel, spin = rng.normal(size=(3, N, 3))
    quat = normalise(rng.normal(size=(N, 4)))
    q, dq, torque = rng.normal(size=(3, N, joints)) * np.array([1.5, 20.0, 60.0])[:, None, None]
    return State(q, dq, pos, quat, vel, spin, torque)


@pytest.fixture
def step(walker: Robot, which: TrackedBodies) -> TrackedStep:
    """Everything off, at random."""
    rng, joints = np.random.default_rng(0), len(walker.joints)
    bodies = drawn_bodies(rng, 27), drawn_bodies(rng, 27)
    bodies[0].pos[:2, which.feet, 2] = 0.01  # on the floor
    states = drawn_state(rng, joints), drawn_state(rng, joints)
    actions = rng.normal(size=(2, N, joints))
    return TrackedStep(
        *(walker, which, states[0], bodies[0], states[1], bodies[1], *actions), soft=SOFT
    )


def mean_square(mine: np.ndarray, its: np.ndarray) -> float:
    """Over everything."""
    return float(np.mean((mine - its) ** 2))


def turned(mine: np.ndarray, its: np.ndarray) -> np.ndarray:
    """(B,) angles between quaternions, by SciPy."""
    one, other = (Rotation.from_quat(q, scalar_first=True) for q in (mine, its))
    return (one.inv() * other).magnitude()


def asap_terms(step: TrackedStep, i: int) -> dict[str, float]:
    """Table I of ASAP and its code, for one environment."""
    which, joints, soft = step.which, step.robot.joints, SOFT
    mine, its = step.bodies[i], step.wanted_bodies[i]
    near = {k: mean_square(mine.pos[v], its.pos[v]) for k, v in vars(which).items() if k in GROUPS}
    q, dq, torque = step.state.q[i], step.state.dq[i], step.state.torque[i]
    middle, half = (joints.upper + joints.lower) / 2, (joints.upper - joints.lower) / 2
    feet = list(which.feet)
    down = Rotation.from_quat(mine.quat_wxyz[feet], scalar_first=True).inv().apply([0, 0, -1])
    speed = np.linalg.norm(mine.lin_vel[feet], axis=1)
    stands = mine.pos[feet, 2] < which.standing + 0.03
    yaw = [yaw_of(quat) for quat in mine.quat_wxyz[feet]]
    off = [abs(wrapped(y - yaw_of(step.state.base_quat_wxyz[i]))) for y in yaw]
    return {
        "body_position": 0.5 * np.exp(-near["lower"] / 0.1) + np.exp(-near["upper"] / 0.03),
        "ends": np.exp(-near["ends"] / 0.03),
        "feet": np.exp(-near["feet"] / 0.03),
        "rotation": np.exp(-np.mean(turned(mine.quat_wxyz, its.quat_wxyz) ** 2)),
        "body_velocity": np.exp(-mean_square(mine.lin_vel, its.lin_vel)),
        "body_spin": np.exp(-mean_square(mine.ang_vel, its.ang_vel)),
        "joint_position": np.exp(-mean_square(q, step.wanted.q[i])),
        "joint_velocity": np.exp(-mean_square(dq, step.wanted.dq[i])),
        "torque": sum(torque**2),
        "action_rate": sum((step.action[i] - step.before[i]) ** 2),
        "tilted_feet": sum(np.hypot(down[:, 0], down[:, 1])),
        "turned_feet": sum(off),
        "slip": sum(speed[stands]),
        "position_limit": sum(
            max(0, abs(a - m) - soft["position"] * h)
            for a, m, h in zip(q, middle, half, strict=True)
        ),
        "velocity_limit": sum(
            min(1, max(0, abs(v) - soft["velocity"] * most))
            for v, most in zip(dq, joints.velocity, strict=True)
        ),
        "torque_limit": sum(
            min(1, max(0, abs(t) - soft["torque"] * most))
            for t, most in zip(torque, joints.effort, strict=True)
        ),
    }


GROUPS = ("upper", "lower", "ends", "feet")


def yaw_of(quat: np.ndarray) -> float:
    """Heading, by SciPy's Euler angles."""
    return float(Rotation.from_quat(quat, scalar_first=True).as_euler("ZYX")[0])


def wrapped(angle: float) -> float:
    """Into half a turn either way."""
    return float(np.angle(np.exp(1j * angle)))


@pytest.mark.parametrize("name", ASAP)
def test_terms_of_asap_are_their_formulas(name: str, step: TrackedStep) -> None:
    """On random data, state by state."""
    wanted = [asap_terms(step, i)[name] for i in range(N)]
    found = TERMS[name].of(step)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert np.ptp(found) > 0
    assert TERMS[name].penalty == (ASAP[name] < 0)


def beyondmimic_terms(step: TrackedStep, i: int) -> dict[str, float]:
    """BeyondMimic's kernels, with its reference moved to the robot's anchor, by matrices."""
    k, mine, its = step.which.anchor, step.bodies[i], step.wanted_bodies[i]
    own, ref = (Rotation.from_quat(b.quat_wxyz, scalar_first=True) for b in (mine, its))
    w, _, _, z = (own[k] * ref[k].inv()).as_quat(scalar_first=True)
    about = Rotation.from_euler("z", 2 * np.arctan2(z, w))
    ground = np.array([*mine.pos[k, :2], its.pos[k, 2]])
    moved = about.apply(its.pos - its.pos[k]) + ground
    turns = (own.inv() * (about * ref)).magnitude()
    return {
        "anchor_position": np.exp(-sum((mine.pos[k] - its.pos[k]) ** 2) / 0.3**2),
        "anchor_turn": np.exp(-((own[k].inv() * ref[k]).magnitude() ** 2) / 0.4**2),
        "relative_position": np.exp(-np.mean(np.sum((mine.pos - moved) ** 2, 1)) / 0.3**2),
        "relative_turn": np.exp(-np.mean(turns**2) / 0.4**2),
        "speed": np.exp(-np.mean(np.sum((mine.lin_vel - its.lin_vel) ** 2, 1))),
        "spin": np.exp(-np.mean(np.sum((mine.ang_vel - its.ang_vel) ** 2, 1)) / 3.14**2),
    }


@pytest.mark.parametrize("name", [n for n in BEYONDMIMIC if n not in ASAP])
def test_terms_of_beyondmimic_are_their_formulas(name: str, step: TrackedStep) -> None:
    """On random data, state by state."""
    wanted = [beyondmimic_terms(step, i)[name] for i in range(N)]
    np.testing.assert_allclose(TERMS[name].of(step), wanted, rtol=1e-9)
    assert not TERMS[name].penalty


def perfect(step: TrackedStep) -> TrackedStep:
    """The robot is the reference, in a pose within its limits, and acts as before."""
    robot = step.robot
    still = MotionFrames.of(standing_motion(robot), robot)
    state = replace(still.state[[5] * N], torque=np.zeros((N, len(robot.joints))))
    bodies = still.bodies[[5] * N]
    return TrackedStep(
        *(robot, step.which, state, bodies, state, bodies, step.action, step.action), soft=SOFT
    )


@pytest.mark.parametrize("weights", [ASAP, BEYONDMIMIC])
def test_perfect_tracking_gives_the_most(weights: dict[str, float], step: TrackedStep) -> None:
    """Every kernel is one; nothing is worth more than all of them."""
    most = sum(w * (1.5 if name == "body_position" else 1) for name, w in weights.items() if w > 0)
    best = perfect(step)
    gained = {n: w * TERMS[n].of(best) for n, w in weights.items() if w > 0}
    np.testing.assert_allclose(sum(gained.values()), most)
    assert (reward(step, weights) < most).all()


def test_penalties_are_scaled_by_the_curriculum(step: TrackedStep) -> None:
    """Rewards are not."""
    whole, half, none = (reward(step, ASAP, share) for share in (1.0, 0.5, 0.0))
    np.testing.assert_allclose(half, (whole + none) / 2)
    gained = {n: w for n, w in ASAP.items() if w > 0}
    np.testing.assert_allclose(none, reward(step, gained))
    assert (whole < none).all()


def test_limits_penalise_only_beyond_their_soft_share(step: TrackedStep) -> None:
    """Just within nothing, just beyond by as much; a limit that is not known never."""
    robot = step.robot
    joints, best = robot.joints, perfect(step)
    middle, half = (joints.upper + joints.lower) / 2, (joints.upper - joints.lower) / 2
    edges = {
        "position_limit": ("q", middle + 0.9 * half),
        "velocity_limit": ("dq", 0.8 * joints.velocity),
        "torque_limit": ("torque", -0.7 * joints.effort),
    }
    for name, (field, edge) in edges.items():
        at = replace(best.state, **{field: np.tile(edge, (N, 1))})
        assert TERMS[name].of(replace(best, state=at)).max() < 1e-9
        out = np.tile(edge + 0.01 * np.sign(edge - (middle if field == "q" else 0)), (N, 1))
        over = TERMS[name].of(replace(best, state=replace(best.state, **{field: out})))
        np.testing.assert_allclose(over, 0.01 * len(joints), rtol=1e-6)
    endless = {"lower": -np.inf, "upper": np.inf, "velocity": np.inf, "effort": np.inf}
    loose = replace(step, robot=robot.with_joints(**endless))
    for name in edges:
        assert not TERMS[name].of(loose).any()


def moved(bodies: BodyStates, turn: np.ndarray, way: np.ndarray) -> BodyStates:
    """All of them turned about the vertical through the origin, then carried along."""
    turn = turn[:, None]
    return BodyStates(
        rotate(turn, bodies.pos) + way[:, None],
        mul(turn, bodies.quat_wxyz),
        rotate(turn, bodies.lin_vel),
        rotate(turn, bodies.ang_vel),
    )


@pytest.mark.parametrize("name", RELATIVE)
def test_relative_terms_do_not_care_where_the_robot_is(name: str, step: TrackedStep) -> None:
    """Moved over the floor and turned about the vertical they are the same; lifted they are not."""
    rng = np.random.default_rng(3)
    angle, way = rng.uniform(-3, 3, N), rng.normal(size=(N, 3))
    turn = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=1)
    way[:, 2] = 0
    before = TERMS[name].of(step)
    there = replace(step, bodies=moved(step.bodies, turn, way))
    np.testing.assert_allclose(TERMS[name].of(there), before, rtol=1e-9)
    other = TERMS["anchor_position"].of(there)
    assert np.abs(other - TERMS["anchor_position"].of(step)).max() > 0.1
    lifted = replace(step, bodies=replace(step.bodies, pos=step.bodies.pos + np.array([0, 0, 0.3])))
    if name == "relative_position":
        assert (TERMS[name].of(lifted) < 0.9 * before).all()


def test_a_robot_without_feet_or_a_base_is_not_penalised_for_them(step: TrackedStep) -> None:
    """Nor rewarded."""
    armless = replace(step.which, feet=[], standing=np.zeros(0))
    held = replace(step.state, base_quat_wxyz=None, base_pos=None, torque=None)
    step = replace(step, which=armless, state=held)
    for name in ("feet", "tilted_feet", "turned_feet", "slip", "torque", "torque_limit"):
        np.testing.assert_array_equal(TERMS[name].of(step), np.zeros(N))
    assert np.isfinite(reward(step, ASAP)).all()


def test_a_reward_that_is_not_known_is_refused(step: TrackedStep) -> None:
    """With the nearest that is."""
    with pytest.raises(NameMismatchError, match=r"unknown reward 'slipp'. Did you mean 'slip'"):
        reward(step, {"slipp": 1.0})
