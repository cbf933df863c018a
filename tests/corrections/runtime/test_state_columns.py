"""Corrections of the state: named columns, bounds from data, written back into the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.linearised.tangent import difference, joint_columns
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.state_columns import state_columns
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record
from gapless.worlds.world import World
from hidden_pair import STEP

Make = Callable[..., Correction]


@pytest.fixture(scope="module")
def biped() -> Robot:
    """The legs' pitch joints of a G1 that stands free."""
    robot = Robot.load("g1", mount="free")
    return robot.lock([j for j in robot.joints.names if "pitch" not in j or "ankle" not in j])


def targets(world: MujocoWorld, environments: int, steps: int) -> np.ndarray:
    """(environments, steps, J) targets that move about the default pose."""
    rng = np.random.default_rng(1)
    pose = world.robot.joints.default
    return pose + 0.2 * rng.standard_normal((environments, steps, len(pose)))


def first_change(world: World, correction: Correction, task: Task) -> np.ndarray:
    """(n, 2V) how far from the bare world the corrected one is after a step."""
    windows, bare = task.windows(0.2, 4), world.twin()
    corrected = CorrectedWorld(world, None, [correction])
    ends = []
    for each in (corrected, bare):
        each.reset(windows.start)
        ends.append(each.step(windows.targets[:, windows.before]))
    return difference(*ends)


def silent(correction: Correction) -> Correction:
    """The same, giving nothing."""
    last = {k for k in correction.weights if k.startswith("mlp.2")}
    weights = {k: 0 * v if k in last else v for k, v in correction.weights.items()}
    return correction.with_weights(weights)


def test_names_follow_the_order_of_the_state(biped: Robot) -> None:
    """Positions before velocities, a base before the joints."""
    names = state_columns(biped.joints.names, free=True)
    q, dq = joint_columns(MujocoWorld(biped).home())
    assert names[q] == tuple(f"q:{j}" for j in biped.joints.names)
    assert names[dq] == tuple(f"dq:{j}" for j in biped.joints.names)
    assert names[:3] == ("base_x", "base_y", "base_z")
    assert names[q.stop : q.stop + 3] == ("base_vx", "base_vy", "base_vz")
    assert state_columns(["a", "b"], free=False) == ("q:a", "q:b", "dq:a", "dq:b")


def test_only_chosen_joints_are_corrected(made: Make, task: Task) -> None:
    """A mask leaves the other joint's columns as the world gives them."""
    correction = made(head="state", joints=("elbow_flex",))
    assert correction.contract.outputs == ("q:elbow_flex", "dq:elbow_flex")
    assert correction.contract.columns.tolist() == [1, 3]
    change = first_change(task.world, correction, task)
    assert (change[:, [0, 2]] == 0).all()
    assert (change[:, [1, 3]] != 0).all()


def test_bounds_come_from_what_a_step_gets_wrong(task: Task) -> None:
    """Columns that a step predicts worse may be changed more; another multiple scales them."""
    six = untrained(contract_for(task.world, 50, model="mlp", head="state"), task).contract.bound
    three = contract_for(task.world, 50, model="mlp", head="state", bound=3.0)
    np.testing.assert_allclose(untrained(three, task).contract.bound, np.array(six) / 2)
    assert min(six[2:]) > 10 * max(six[:2]) > 0


def test_writing_back_keeps_delays_and_clock(pair: Robot, made: Make) -> None:
    """A correction that gives nothing changes nothing, although states are placed at each step."""
    world = MujocoWorld(pair, 50, physics_step=STEP, effects=Effects(delay=0.03, encoder_bias=0.01))
    nothing = silent(made(head="state", on=world))
    asked, start = targets(world, 3, 20), world.home(3)
    bare = world.rollout(start, asked)
    played = CorrectedWorld(world, None, [nothing]).rollout(start, asked)
    np.testing.assert_allclose(played.q, bare.q, atol=1e-12)
    assert played.valid.all()


def test_a_slow_correction_is_shared_among_fast_steps(made: Make, task: Task) -> None:
    """At twice its rate a world takes half of the change in each step."""
    correction = made(head="state")
    whole = first_change(task.world, correction, task)
    half = first_change(task.world.at_rate(100), correction, task)
    assert np.abs(whole).max() > 1e-4
    np.testing.assert_allclose(2 * half, whole, rtol=1e-6, atol=1e-12)


def test_a_base_is_written_back_with_a_unit_quaternion(biped: Robot) -> None:
    """A robot that stands free takes large turns, step after step, and stays a robot."""
    world = MujocoWorld(biped)
    asked = targets(world, 1, 60)
    clips = [record(world, asked[0], "sway", start=world.home())]
    task = Task(world, clips, clips, 0.5)
    start = untrained(contract_for(world, 50, model="mlp", head="state"), task)
    turning = np.array([n.startswith("base_turn") for n in start.contract.outputs])
    contract = replace(start.contract, bound=tuple(np.where(turning, 0.3, 1e-6).tolist()))
    weights = start.weights | {"mlp.2.bias": np.ones_like(start.weights["mlp.2.bias"])}
    correction = replace(start, contract=contract, weights=weights, envelope=None)
    played = CorrectedWorld(world, None, [correction]).rollout(world.home(), asked[:, :10])
    assert played.base_quat_wxyz is not None and played.valid.all()
    np.testing.assert_allclose(np.linalg.norm(played.base_quat_wxyz, axis=-1), 1, atol=1e-12)
    assert np.abs(np.diff(played.base_quat_wxyz, axis=1)).max() > 0.05
