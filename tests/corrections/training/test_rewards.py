"""Rewards against values that can be had by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.training.reward_inputs import Bodies, RewardConstants, RewardInputs
from gapless.corrections.training.rewards import REWARDS, Asap, Residual, suited
from gapless.robots import Robot
from gapless.worlds.world import State

RATE = 50.0


def still(robot: Robot, environments: int = 2) -> State:
    """The default pose at rest."""
    joints = robot.joints.default
    based = {}
    if robot.mount == "free":
        based = {
            "base_pos": np.tile([0.0, 0.0, robot.standing_height], (environments, 1)),
            "base_quat_wxyz": np.tile([1.0, 0.0, 0.0, 0.0], (environments, 1)),
            "base_lin_vel_w": np.zeros((environments, 3)),
            "base_ang_vel_b": np.zeros((environments, 3)),
        }
    return State(np.tile(joints, (environments, 1)), np.zeros((environments, len(joints))), **based)


def moment(robot: Robot, state: State, **changes: object) -> RewardInputs:
    """A step that ended in a state, where the recording stood still."""
    joints, environments = len(robot.joints), len(state)
    real = still(robot, environments)
    columns = np.arange(joints)
    scene = RewardConstants(robot, columns, RATE, np.full(joints, 0.25))
    plain = RewardInputs(
        state=state,
        real=real,
        before=real,
        weight=np.ones((environments, joints)),
        outputs=np.zeros((3, environments, joints)),
        lost=np.zeros(environments, bool),
        scene=scene,
    )
    return replace(plain, **changes)


def moved(robot: Robot, by: float, pace: float = 0.0) -> State:
    """The default pose with all joints moved."""
    state = still(robot)
    return replace(state, q=state.q + by, dq=state.dq + pace)


@pytest.fixture(scope="module")
def arm() -> Robot:
    """A fixed arm without tracking points."""
    return Robot.load("so101")


@pytest.fixture(scope="module")
def humanoid() -> Robot:
    """A free robot with tracking points."""
    return Robot.load("g1_23dof")


def test_gaponet_is_the_published_formula(arm):
    """36/2π squared times the mean squares of position and a hundredth of velocity."""
    found = REWARDS["gaponet"]()(moment(arm, moved(arm, 0.1, 0.5)))
    assert found == pytest.approx(-((36 / (2 * np.pi)) ** 2) * (0.01 + 0.01 * 0.25))


def test_gaponet_looks_at_corrected_and_usable_joints_only(arm):
    """A joint that is not corrected, or not logged, costs nothing."""
    state = still(arm)
    state.q[:, 3] += 1.0
    masked = moment(arm, state)
    masked.weight[:, 3] = 0.0
    assert np.allclose(REWARDS["gaponet"]()(masked), 0.0)
    scene = replace(masked.scene, columns=np.array([0, 1]))
    assert np.allclose(REWARDS["gaponet"]()(moment(arm, state, scene=scene)), 0.0)


def test_divergence_is_the_worst_of_steps(arm):
    """An environment that flew apart is no better than one that is 1 rad off."""
    lost = np.array([True, False])
    for reward in (kind() for kind in REWARDS.values()):
        gone, there = reward(moment(arm, moved(arm, 0.5), lost=lost))
        assert gone < there


def test_residual_of_a_perfect_step(arm):
    """At rest on the recording: position 5, velocity 3, bonus 10."""
    perfect = moment(arm, still(arm))
    assert np.allclose(Residual()(perfect), 18.0)
    off = moment(arm, moved(arm, 0.05))
    share = np.exp(-len(arm.joints) * 0.05**2 / 0.25)
    assert np.allclose(Residual()(off), 5 * share + 3)


def test_residual_penalties(arm):
    """Torque, velocity, acceleration, action rate and its change, each with its weight."""
    n = len(arm.joints)
    state = replace(moved(arm, 0.0, 1.0), torque=np.full((2, n), 2.0))
    real = replace(still(arm), dq=np.ones((2, n)))
    outputs = 0.25 * np.array([1.0, 0.0, 0.5])[:, None, None] * np.ones((3, 2, n))
    found = Residual()(moment(arm, state, real=real, outputs=outputs))
    cost = 0.5e-5 * 4 + 0.5e-3 + 0.5e-6 * RATE**2 + 0.5e-4 + 0.5e-6 * 1.5**2
    assert found == pytest.approx(18.0 - n * cost)


def test_asap_without_points_has_the_joint_terms(arm):
    """A fixed arm is judged by its joints alone; all of it is times the control step."""
    middle = (arm.joints.lower + arm.joints.upper) / 2
    state = State(np.tile(middle, (2, 1)), np.zeros((2, len(arm.joints))))
    found = Asap()(moment(arm, state, real=state))
    assert np.allclose(found, (0.5 + 0.5) / RATE)


def test_asap_of_a_perfect_step_is_the_sum_of_its_weights(humanoid):
    """Every term that follows the recording is 1 at zero error."""
    found = Asap(q_limit=0.0)(moment(humanoid, still(humanoid)))
    assert np.allclose(found * RATE, 1.5 + 1 + 1 + 0.5 + 0.5 + 0.5 + 0.5 + 0.5)


def test_asap_of_a_base_that_slid(humanoid):
    """10 cm along x: a third of its square for each point, by the published widths."""
    state = still(humanoid)
    state.base_pos[:, 0] += 0.1
    d = 0.1**2 / 3
    groups = 0.5 * np.exp(-d / 0.1) + 3 * np.exp(-d / 0.03)
    found = Asap(q_limit=0.0)(moment(humanoid, state)) * RATE
    assert np.allclose(found, groups + 5 * 0.5)


def test_velocities_of_points(humanoid):
    """A body that only translates and turns moves its points as rigid bodies do."""
    state = still(humanoid)
    state.base_lin_vel_w[:, 0], state.base_ang_vel_b[:, 2] = 0.3, 0.7
    bodies = Bodies(humanoid)
    poses = bodies.poses(state)
    linear, angular = bodies.velocities(state, poses)
    arm = poses[0] - state.base_pos[:, None]
    assert np.allclose(angular, [0, 0, 0.7], atol=1e-6)
    assert np.allclose(linear, np.array([0.3, 0, 0]) + np.cross([0, 0, 0.7], arm), atol=1e-4)


def test_asap_keeps_actions_small(arm):
    """The bounded term never costs more than its weight; the published one does."""
    outputs = np.zeros((3, 2, len(arm.joints)))
    outputs[:, 1, 0] = 0.25 * 3.0
    quiet = {"q_limit": 0.0, "action_rate": 0.0}
    bounded = Asap(**quiet)(moment(arm, still(arm), outputs=outputs))
    unbounded = Asap(**quiet, bounded=False)(moment(arm, still(arm), outputs=outputs))
    assert (bounded[1] - bounded[0]) * RATE == pytest.approx(0.1 * (np.exp(-3) - 1))
    assert (unbounded[1] - unbounded[0]) * RATE == pytest.approx(-0.1 * (np.exp(3) - 1))


def test_asap_limits(arm):
    """Beyond 95 % of its range a joint costs ten times the overshoot."""
    state = still(arm)
    low, high = arm.joints.lower[0], arm.joints.upper[0]
    state.q[0, 0], state.q[1, 0] = high, (low + high) / 2
    found = Asap(q=0.0, dq=0.0)(moment(arm, state)) * RATE
    assert found[0] - found[1] == pytest.approx(-10 * 0.025 * (high - low))


def test_suited_reward():
    """The paper that trained such a correction decides."""
    assert suited("torque", "fixed") == "residual"
    assert suited("action", "free") == "asap"
    assert suited("action", "fixed") == "gaponet"
