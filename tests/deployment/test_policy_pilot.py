"""A policy through the whole loop: what it does in a world it does on a robot, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import small_networks as nets
from gapless.deployment.control_loop import ControlLoop
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.pilot import PolicyPilot
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyLimits
from gapless.errors import DataError
from gapless.policies import Policy
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from safe_arm import FakeClock
from still_policy import write_policy

STEPS = 30


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A Go2 that answers what it sees, a little."""
    folder = tmp_path_factory.mktemp("policy")
    file = write_policy(folder)
    nets.linear(folder / "policy.onnx", 0.3 * nets.drawn(18, 12))
    return Policy.load(file)


def test_a_policy_does_on_a_robot_what_it_does_in_a_world(policy: Policy, tmp_path: Path) -> None:
    """Same targets, same states; and the recording holds both."""
    robot, asked = Robot.load("go2"), [0.4, 0.0, -0.2]
    world = MujocoWorld(robot, 50)
    world.reset(world.home(1), conditions=[Conditions(gains=policy.contract.gains)])
    controller, seen = policy.start(robot.joints.names, robot.joints.default), world.home(1)
    targets, states = [], []
    for _ in range(STEPS):
        states.append(seen.q[0])
        targets.append(controller.act(seen, {"velocity": np.array([asked])})[0].copy())
        seen = world.step(targets[-1][None])
    link = WorldLink(MujocoWorld(robot, 50))
    limits = SafetyLimits.of_robot(robot, link.channels, 50)
    pilot = PolicyPilot(policy, robot, link.joints, lambda: {"velocity": asked})
    facts = ("go2", link.joints, 50, link.channels, "walk")
    with FlightRecorder(tmp_path / "data", *facts) as recorder:
        loop = ControlLoop(
            link, pilot, SafetyFilter(limits, link.joints), recorder, clock=FakeClock()
        )
        report = loop.run(STEPS)
    assert report.steps == STEPS and report.damped is None and report.counts == {}
    clip = Dataset.open(tmp_path / "data")[0]
    np.testing.assert_array_equal(clip.q, np.array(states, np.float32))
    np.testing.assert_array_equal(clip.target, np.array(targets, np.float32))
    assert np.ptp(np.array(targets), axis=0).min() > 1e-4
    assert clip.conditions.gains == policy.contract.gains


def test_joints_are_matched_by_name(policy: Policy) -> None:
    """A link may have them in any order."""
    robot = Robot.load("go2")
    names = robot.joints.names
    order = names[::-1]
    straight, turned = PolicyPilot(policy, robot, names), PolicyPilot(policy, robot, order)
    np.testing.assert_array_equal(straight.first().q, turned.first().q[::-1])
    state = WorldLink(MujocoWorld(robot, 50)).read()
    straight.observe(state)
    other = {k: getattr(state, k) for k in ("base_quat_wxyz", "base_ang_vel_b")}
    turned.observe(type(state)(1, 0.0, 0.0, state.q[::-1], state.dq[::-1], **other))
    np.testing.assert_array_equal(straight.decide().q, turned.decide().q[::-1])


def test_a_policy_decides_once_for_what_it_saw(policy: Policy) -> None:
    """Twice for one sample is a fault of the loop."""
    robot = Robot.load("go2")
    pilot = PolicyPilot(policy, robot, robot.joints.names)
    with pytest.raises(DataError, match="has observed nothing"):
        pilot.decide()
    pilot.observe(WorldLink(MujocoWorld(robot, 50)).read())
    assert pilot.decide().output is not None
    with pytest.raises(DataError, match="has observed nothing"):
        pilot.decide()
