"""A World in this process is a robot: it moves as the world itself does, and it brakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.deployment import JointCommand
from gapless.deployment.links.world_link import WorldLink
from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.worlds import Effects, MujocoWorld
from pendulum import pendulum
from small_biped import small_biped

ON_A_ROBOT = """
import pkgutil, sys, importlib
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mujoco", "torch", "cyclonedds"):
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
import gapless.deployment as package
names = [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_deployment_needs_neither_mujoco_nor_torch() -> None:
    """Every module of it loads on a computer that has neither, nor DDS."""
    done = subprocess.run([sys.executable, "-c", ON_A_ROBOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_a_command_is_a_step_of_the_world(tmp_path: Path) -> None:
    """Through the link a world gives the numbers that it gives itself."""
    robot = pendulum(tmp_path)
    gains = Conditions(gains={"swing": (30.0, 4.0)})
    world, link = MujocoWorld(robot, 50), WorldLink(MujocoWorld(robot, 50))
    world.reset(world.home(1), conditions=[gains])
    for k in range(20):
        target = np.array([0.05 * k])
        seen = world.step(target[None])
        link.write(JointCommand.of_targets(target, np.array([30.0]), np.array([4.0])))
        state = link.read()
        np.testing.assert_array_equal(state.q, seen.q[0])
        np.testing.assert_array_equal(state.torque, seen.torque[0])  # type: ignore[index]
    assert state.sequence == 20 and state.stamp == pytest.approx(0.4)
    assert abs(state.q[0]) > 0.1


def test_velocity_and_torque_of_a_command_reach_the_motor(tmp_path: Path) -> None:
    """kd (dq - dq_now) + tau, without any position gain."""
    moved = {}
    for name, dq, tau in (("speed", 1.0, 0.0), ("torque", 0.0, 3.0), ("none", 0.0, 0.0)):
        link, one = WorldLink(MujocoWorld(pendulum(tmp_path), 50)), np.ones(1)
        for _ in range(10):
            link.write(JointCommand(0 * one, dq * one, 0 * one, 8 * one, tau * one))
        moved[name] = link.read().q[0]
    assert moved["speed"] > 0.02 and moved["torque"] > 0.02
    assert abs(moved["none"]) < 1e-6


def test_gains_change_and_delayed_targets_stay_under_way(tmp_path: Path) -> None:
    """Where the robot is and what was commanded before survive a change of gains."""
    link = WorldLink(MujocoWorld(pendulum(tmp_path), 50, effects=Effects(delay=0.04)))
    stiff, soft = np.array([30.0]), np.array([29.0])
    for _ in range(30):
        link.write(JointCommand.of_targets(np.ones(1), stiff, np.array([8.0])))
    before = link.read()
    link.write(JointCommand.of_targets(-np.ones(1), soft, np.array([8.0])))
    after = link.read()
    # The new target, which would turn it back, is still on its way.
    assert before.dq[0] > 0.1 and after.dq[0] > 0.7 * before.dq[0]
    assert after.q[0] > before.q[0]
    assert after.sequence == before.sequence + 1


def test_damping_brakes_a_swinging_robot(tmp_path: Path) -> None:
    """It sinks to rest; it does not go back to a target."""
    link = WorldLink(MujocoWorld(pendulum(tmp_path), 50))
    for _ in range(50):
        link.write(JointCommand.of_targets(np.ones(1), np.array([60.0]), np.array([4.0])))
    lifted = link.read().q[0]
    for _ in range(150):
        link.damp()
    assert lifted > 0.5
    assert abs(link.read().q[0]) < 0.2 and abs(link.read().dq[0]) < 0.2


def test_a_broken_simulation_gives_no_new_samples(tmp_path: Path) -> None:
    """A world that diverged looks like a cable that was pulled."""
    link = WorldLink(MujocoWorld(small_biped(tmp_path), 50))
    ones = np.ones(6)
    link.write(JointCommand.of_targets(0 * ones, 20 * ones, ones))
    good = link.read()
    link.push(np.full(3, 1e9))
    for _ in range(3):
        link.write(JointCommand.of_targets(0 * ones, 20 * ones, ones))
    assert link.world.health.diverged.all()
    assert link.read().sequence == good.sequence


def test_a_command_for_another_robot_is_refused(tmp_path: Path) -> None:
    """Six joints are not one."""
    link = WorldLink(MujocoWorld(pendulum(tmp_path), 50))
    with pytest.raises(DataError, match="this robot has 1"):
        link.write(JointCommand.damping(np.ones(6)))
    assert link.channels == ("torque",) and not link.is_real
