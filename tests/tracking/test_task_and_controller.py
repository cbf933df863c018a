"""A policy sees and commands the same while it is trained and while it is evaluated."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gapless.evaluation import Scenario, evaluate
from gapless.evaluation.policy_episodes import play, starts
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights
from gapless.policies.policy_contract import PolicyContract
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracker_episodes import whole_episodes
from gapless.tracking.tracker_files import Tracker
from gapless.tracking.tracker_training import JUDGED
from gapless.tracking.tracking_contract import tracking_contract
from gapless.tracking.tracking_rewards import ASAP
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds import MujocoWorld, World
from gapless.worlds.world import State
from small_networks import drawn
from standing_motion import standing_motion

N, STEPS = 3, 10


def any_weights(contract: PolicyContract, size: float = 1.0) -> MlpWeights:
    """A network that does something else for everything that it sees."""
    sizes = contract.width, 16, len(contract.joints)
    layers = ((0.5 * drawn(a, b).T, 0.1 * drawn(b)) for a, b in pairwise(sizes))
    return MlpWeights(tuple((size * w, size * b) for w, b in layers))


def saved(
    contract: PolicyContract, frames: MotionFrames, folder: Path, size: float = 1.0
) -> Policy:
    """It as a folder, read back."""
    seen = np.random.default_rng(0).normal(size=(9, contract.width))
    weights = any_weights(contract, size)
    return Tracker(contract, weights, frames, {}).save(folder, seen, weights(seen))


def in_training(task: TrackingTask, world: World, weights: MlpWeights, start: State) -> tuple:
    """States, observations and targets of some steps of the task."""
    task.look(start, np.ones(N, bool))
    seen, states, sent = [], [start], []
    for _ in range(STEPS):
        seen.append(task.observed)
        sent.append(task.command(weights(task.observed).astype(float), True).target)
        states.append(world.step(sent[-1]))
        task.reward(states[-1], world.health.diverged)
        task.look(states[-1], np.zeros(N, bool))
    return states, seen, sent


def anchored(robot: Robot, contract: PolicyContract):
    """Finds the anchor as an evaluation does."""
    kinematics = Kinematics.of(robot)
    column = kinematics.links.index(contract.anchor)

    def find(now: State) -> tuple[np.ndarray, np.ndarray]:
        pos, quat = kinematics.link_poses(now.q, now.base_pos, now.base_quat_wxyz)
        return pos[:, column], quat[:, column]

    return find


def legs_only(contract: PolicyContract) -> PolicyContract:
    """Legs in another order, elbows held, actions clipped, softer gains than the robot's."""
    some = contract.joints[:12][::-1]
    kp, kd = (tuple(v[:12][::-1]) for v in (contract.kp, contract.kd))
    action = replace(contract.action, scale=(0.25,), clip=(-0.5, 0.5), limits=((-0.4, 0.5),) * 12)
    soft, hold = tuple(0.8 * k for k in kp), {"left_elbow_joint": 0.3, "right_elbow_joint": 0.3}
    return replace(
        contract, joints=some, kp=soft, kd=kd, action=action, hold=hold, clip=(-2.0, 2.0)
    )


CASES = {
    "asap": ("asap", "residual", lambda contract: contract),
    "asap, around the default pose": ("asap", "default", lambda contract: contract),
    "beyondmimic": ("beyondmimic", "default", lambda contract: contract),
    "some joints": ("beyondmimic", "residual", legs_only),
}


@pytest.mark.parametrize("case", CASES)
def test_training_and_evaluation_agree(
    case: str, walker: Robot, frames: MotionFrames, tmp_path: Path
) -> None:
    """The same states give the same observations and targets, and so the same episodes."""
    sight, action, changed = CASES[case]
    contract = changed(tracking_contract(frames, walker, sight, action, 0.005))
    policy = saved(contract, frames, tmp_path / "policy")
    assert policy.contract == contract
    world = MujocoWorld(walker, physics_step=0.005)
    task = TrackingTask(
        frames, walker, contract, ASAP, N, where="first", starts=StartNoise().scaled(0.3)
    )
    start = task.begin(np.arange(N))
    world.reset(start.state, conditions=start.conditions)
    states, seen, sent = in_training(task, world, any_weights(contract), start.state)
    controller = policy.start(
        walker.joints.names, walker.joints.default, N, anchored(walker, contract)
    )
    for t in range(STEPS):
        wanted = controller.act(states[t], {})
        np.testing.assert_allclose(controller.observation, seen[t], atol=1e-5, err_msg=f"step {t}")
        np.testing.assert_allclose(wanted, sent[t], atol=1e-5, err_msg=f"step {t}")
    assert np.ptp(np.array(seen), axis=0).max() > 0.1
    alone = play(policy, world.twin(), Scenario(episodes=N), start=start.state)
    assert (alone.fell > STEPS).all()
    np.testing.assert_allclose(alone.targets[:, :STEPS], np.stack(sent, axis=1), atol=1e-4)
    q = np.stack([state.q for state in states], axis=1)
    np.testing.assert_allclose(alone.states.q[:, : STEPS + 1], q, atol=1e-4)


@pytest.mark.parametrize("sight", ["asap", "beyondmimic"])
def test_what_chooses_in_a_training_is_what_evaluate_prints(
    sight: str, walker: Robot, tmp_path: Path
) -> None:
    """The mean distance of bodies over whole motions, from starts of the same kind."""
    motion = standing_motion(walker, seconds=0.5)  # before it falls
    frames = MotionFrames.of(motion, walker, walker.rate)
    contract = tracking_contract(frames, walker, sight, "residual", 0.005)
    policy = saved(contract, frames, tmp_path / "policy", size=0.05)
    world = MujocoWorld(walker, physics_step=0.005)
    task = TrackingTask(frames, walker, contract, ASAP, 16, where="first", starts=JUDGED)
    chosen = whole_episodes(world.twin(), task, any_weights(contract, 0.05)).mean()
    found = evaluate(policy, world, Scenario(episodes=16), motion=motion).worlds[0]
    assert found.survival == 1.0
    assert 1000 * chosen == pytest.approx(found.mean("e_g_mpjpe"), rel=0.05)


def test_a_tracker_starts_where_its_motion_does(
    walker: Robot, frames: MotionFrames, tmp_path: Path
) -> None:
    """At the first frame, velocities included; without a motion at its stance."""
    contract = tracking_contract(frames, walker, "asap", "residual", 0.005)
    policy = saved(contract, frames, tmp_path / "policy")
    world, motion = MujocoWorld(walker, physics_step=0.005), standing_motion(walker)
    scenario = Scenario(episodes=N, start_noise=0.0)
    first = starts(policy, world, scenario, motion)
    for name in ("q", "dq", "base_pos", "base_lin_vel_w", "base_ang_vel_b"):
        wanted = getattr(frames.state, name)[0]
        np.testing.assert_allclose(getattr(first, name), np.tile(wanted, (N, 1)), atol=1e-12)
    stance = starts(policy, world, scenario)
    np.testing.assert_allclose(stance.q, np.tile(walker.joints.default, (N, 1)), atol=1e-12)
    near = starts(policy, world, Scenario(episodes=N), motion)
    off = np.abs(near.q - frames.state.q[0])
    assert 0.01 < off.max() <= 0.02 + 1e-12 and (near.q[0] != near.q[1]).any()
    begun = play(policy, world, replace(scenario, episodes=1), motion=motion).states
    np.testing.assert_allclose(begun.q[:, 0], frames.state.q[:1], atol=1e-6)
