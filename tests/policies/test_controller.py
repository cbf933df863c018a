"""From outputs of a network to targets of joints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from policy_samples import JOINTS, POSE, VELOCITY, small_contract, small_policy, states

import small_networks as nets
from gapless.errors import DataError, NameMismatchError
from gapless.policies.controller import PolicyController
from gapless.policies.policy_contract import Action, Block, PolicyContract, Ports, Term
from gapless.policies.reference import Reference, ReferenceMotion

OUTPUT = (1.0, -2.0, 0.5)
REST = np.zeros(3)


def started(
    contract: PolicyContract, folder: Path, output=OUTPUT, environments: int = 1
) -> PolicyController:
    """A policy whose network always gives the same output."""
    network = nets.constant(folder / "net.onnx", contract.width, output)
    return small_policy(contract, network).start(contract.joints, REST, environments)


def acting(action: Action, folder: Path, steps: int = 1) -> np.ndarray:
    """(3,) targets after so many steps of the same output."""
    controller = started(small_contract(action=action), folder)
    for _ in range(steps):
        targets = controller.act(states(1), {})
    return targets[0]


def test_an_offset_is_added_to_the_default_pose(tmp_path: Path) -> None:
    """target = pose + scale * output; another pose where the action has its own."""
    plain = acting(Action("offset", (0.5,)), tmp_path)
    np.testing.assert_allclose(plain, np.array(POSE) + 0.5 * np.array(OUTPUT))
    other = acting(Action("offset", (0.5,), offset=(1.0, 2.0, 3.0)), tmp_path)
    np.testing.assert_allclose(other, [1.5, 1.0, 3.25])


def test_an_absolute_action_is_the_target(tmp_path: Path) -> None:
    """target = scale * output."""
    np.testing.assert_allclose(acting(Action("absolute", (2.0,)), tmp_path), [2.0, -4.0, 1.0])


def test_increments_add_up(tmp_path: Path) -> None:
    """From the default pose on, step by step."""
    found = acting(Action("increment", (0.1,)), tmp_path, steps=3)
    np.testing.assert_allclose(found, np.array(POSE) + 0.3 * np.array(OUTPUT))


def test_an_action_may_be_added_to_the_reference(tmp_path: Path) -> None:
    """At the same moment; after the end, to its last frame."""
    angles = np.arange(6.0).reshape(2, 3)
    motion = ReferenceMotion(Reference(angles, angles, angles, np.tile([1.0, 0, 0, 0], (2, 1))))
    contract = small_contract(action=Action("reference", (0.5,)), reference="motion.npz")
    network = nets.constant(tmp_path / "net.onnx", 3, OUTPUT)
    policy = small_policy(contract, network)
    controller = PolicyController(contract, policy.network, JOINTS, REST, 1, motion)
    for row in (0, 1, 1):
        expected = angles[row] + 0.5 * np.array(OUTPUT)
        np.testing.assert_allclose(controller.act(states(1), {})[0], expected)


def test_an_action_around_a_motion_needs_one(tmp_path: Path) -> None:
    """It is asked for."""
    contract = small_contract(action=Action("reference"), reference="motion.npz")
    network = nets.constant(tmp_path / "net.onnx", 3, OUTPUT)
    policy = small_policy(contract, network)
    controller = PolicyController(contract, policy.network, JOINTS, REST)
    with pytest.raises(DataError, match="acts around a motion"):
        controller.act(states(1), {})


def test_each_joint_may_have_its_scale_and_its_limits(tmp_path: Path) -> None:
    """Outputs are clipped before the scale, targets after all."""
    limits = ((-1.0, 0.2), (-10.0, 10.0), (0.0, 0.1))
    action = Action("absolute", (0.1, 0.2, 0.3), clip=(-1.5, 0.75), limits=limits)
    np.testing.assert_allclose(acting(action, tmp_path), [0.075, -0.3, 0.1])
    tight = acting(Action("absolute", (1.0,), limits=limits), tmp_path)
    np.testing.assert_allclose(tight, [0.2, -2.0, 0.1])


def test_the_policy_sees_its_output_as_it_was_clipped(tmp_path: Path) -> None:
    """And the targets it led to; zeros and the pose before the first."""
    contract = small_contract("last_action", "last_target", action=Action(clip=(-1.0, 1.0)))
    controller = started(contract, tmp_path)
    controller.act(states(1), {})
    np.testing.assert_allclose(controller.observation[0], [0, 0, 0, *POSE])
    controller.act(states(1), {})
    clipped = np.clip(OUTPUT, -1, 1)
    np.testing.assert_allclose(controller.observation[0], [*clipped, *(np.array(POSE) + clipped)])


def test_joints_are_found_by_name_whatever_their_order(tmp_path: Path) -> None:
    """Readings and targets of a robot that lists them otherwise, with one more."""
    contract = small_contract("joint_pos", "joint_vel")
    path = nets.linear(tmp_path / "net.onnx", nets.drawn(6, 3))
    policy, now = small_policy(contract, path), states(4)
    plain = policy.start(JOINTS, REST, 4).act(now, {})
    order = ("ankle", "waist", "hip", "knee")
    columns = [2, 0, 0, 1]
    mixed = replace(now, q=now.q[:, columns], dq=now.dq[:, columns])
    found = policy.start(order, np.array([0.0, 0.7, 0.0, 0.0]), 4).act(mixed, {})
    np.testing.assert_allclose(found[:, [2, 3, 0]], plain, atol=1e-6)
    assert np.abs(plain - POSE).max() > 0.01


def test_joints_that_are_not_moved_rest_or_are_held(tmp_path: Path) -> None:
    """At the robot's rest, or where the contract holds them."""
    contract = small_contract(hold={"waist": 0.4})
    policy = small_policy(contract, nets.constant(tmp_path / "net.onnx", 3, OUTPUT))
    names, rest = (*JOINTS, "waist", "neck"), np.array([0, 0, 0, 0.1, 0.2])
    readings = replace(states(2), q=np.zeros((2, 5)), dq=np.zeros((2, 5)))
    controller = policy.start(names, rest, 2)
    for _ in range(2):
        assert controller.act(readings, {})[:, 3:].tolist() == [[0.4, 0.2]] * 2
    controller.forget()
    assert controller.targets[0].tolist() == [*POSE, 0.4, 0.2]


@pytest.mark.parametrize("rows", [[1], np.array([False, True, False]), []])
def test_some_environments_begin_anew(rows: object, tmp_path: Path) -> None:
    """Memory, last action, targets and clock of those; the others go on."""
    contract = small_contract("last_action", "base_height", "last_target")
    path = nets.leaky(tmp_path / "net.onnx", width=7)
    controller = small_policy(contract, path).start(JOINTS, REST, 3)
    kept = [controller.act(states(3, k), {}) for k in range(3)]
    before = [k.copy() for k in kept]
    controller.forget(rows)  # type: ignore[arg-type]
    gone = 1 if len(rows) else None  # type: ignore[arg-type]
    assert controller.step.tolist() == [3, 0 if gone else 3, 3]
    again = controller.act(states(3, 9), {})
    fresh = small_policy(contract, path).start(JOINTS, REST, 3).act(states(3, 9), {})
    alike = np.isclose(again, fresh, atol=1e-6).all(axis=1)
    assert alike.tolist() == [False, bool(gone), False]
    np.testing.assert_array_equal(kept, before)


def test_many_environments_act_as_each_would_alone(tmp_path: Path) -> None:
    """With history, memory and commands."""
    names = ("joint_pos", "base_ang_vel", "command")
    contract = small_contract(*names, blocks=(Block(names, 2),), commands={"velocity": VELOCITY})
    policy = small_policy(contract, nets.lstm(tmp_path / "net.onnx", 18, 8, 3))
    many = policy.start(JOINTS, REST, 4)
    alone = [policy.start(JOINTS, REST) for _ in range(4)]
    for step in range(4):
        now, asked = states(4, step), np.random.default_rng(step).normal(size=(4, 3))
        found = many.act(now, {"velocity": asked})
        each = [alone[k].act(now[[k]], {"velocity": asked[[k]]})[0] for k in range(4)]
        np.testing.assert_allclose(found, each, atol=1e-5)


def test_an_output_that_is_not_finite_names_joint_and_step(tmp_path: Path) -> None:
    """The knee of the second environment, at the third step."""
    nodes = [nets.NODE("Log", ["obs"], ["actions"])]
    path = nets.save_graph(tmp_path / "n.onnx", nodes, {"obs": [1, 3]}, {"actions": [1, 3]}, {})
    controller = small_policy(small_contract(), path).start(JOINTS, REST, 2)
    good = replace(states(2), q=np.ones((2, 3)))
    for _ in range(2):
        controller.act(good, {})
    bad = replace(good, q=np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]))
    told = r"output of policy 'small' .* column 1 \(knee\) of environment 1 at control step 2"
    with pytest.raises(DataError, match=told):
        controller.act(bad, {})


def test_a_reading_that_is_not_finite_names_its_term(tmp_path: Path) -> None:
    """The network is not even asked."""
    controller = started(small_contract("joint_pos", "base_ang_vel"), tmp_path)
    bad = replace(states(1), base_ang_vel_b=np.array([[0.0, np.nan, 0.0]]))
    with pytest.raises(DataError, match=r"observation .* column 4 \(base_ang_vel\)"):
        controller.act(bad, {})


def test_a_robot_without_the_joints_is_refused(tmp_path: Path) -> None:
    """Those that are moved, held or seen."""
    terms = {"it": Term("it", "joint_vel", joints=("tail",))}
    contract = small_contract(hold={"neck": 0.0}, terms=terms, blocks=(Block(("it",)),))
    policy = small_policy(contract, nets.constant(tmp_path / "net.onnx", 1, OUTPUT))
    with pytest.raises(NameMismatchError, match="with ankle, neck, tail; this one has hip, knee"):
        policy.start(("hip", "knee"), np.zeros(2))


def test_what_cannot_be_read_is_asked_for(tmp_path: Path) -> None:
    """A base, commands, as many environments and joints as it was started with."""
    contract = small_contract("base_lin_vel", "command", commands={"velocity": VELOCITY})
    controller, asked = started(contract, tmp_path), {"velocity": np.zeros((1, 3))}
    with pytest.raises(DataError, match="sees 'base_lin_vel', which needs base_lin_vel_w"):
        controller.act(replace(states(1), base_lin_vel_w=None), asked)
    with pytest.raises(DataError, match="wants the command 'velocity'"):
        controller.act(states(1), {})
    with pytest.raises(DataError, match=r"'velocity' has shape \(1, 2\); expected \(1, 3\)"):
        controller.act(states(1), {"velocity": np.zeros((1, 2))})
    with pytest.raises(DataError, match=r"readings have q \(2, 3\)"):
        controller.act(states(2), asked)


def test_an_open_number_of_actions_is_checked_when_it_acts(tmp_path: Path) -> None:
    """A network that gives what it takes, two numbers for three joints."""
    nodes, open_row = [nets.NODE("Identity", ["obs"], ["actions"])], ["n", "many"]
    path = nets.save_graph(tmp_path / "n.onnx", nodes, {"obs": open_row}, {"actions": open_row}, {})
    controller = small_policy(small_contract("roll_pitch"), path).start(JOINTS, REST)
    with pytest.raises(DataError, match=r"gives actions of shape \(1, 2\); expected \(1, 3\)"):
        controller.act(states(1), {})


def test_steps_are_counted_for_networks_that_want_them(tmp_path: Path) -> None:
    """From zero, for each environment."""
    nodes = [nets.NODE("Add", ["obs", "tick"], ["actions"])]
    shapes = {"obs": [1, 3], "tick": [1, 1]}, {"actions": [1, 3]}
    path = nets.save_graph(tmp_path / "n.onnx", nodes, *shapes, {})
    contract = small_contract(action=Action("absolute"), ports=Ports(step="tick"))
    controller = small_policy(contract, path).start(JOINTS, REST, 2)
    still = replace(states(2), q=np.zeros((2, 3)))
    assert [controller.act(still, {})[:, 0].tolist() for _ in range(2)] == [[0, 0], [1, 1]]
    controller.forget([1])  # type: ignore[arg-type]
    assert controller.act(still, {})[:, 0].tolist() == [2, 0]
