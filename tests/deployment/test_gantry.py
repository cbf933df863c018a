"""A robot on its gantry: carried where it began, and upright, until it is let go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.deployment.gantry import Gantry
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.robot_link import JointCommand
from gapless.recordings.preparation.orientation import up_in_body
from gapless.robots import Robot
from gapless.worlds.named_worlds import world_of

HUNG = 4.0


def zero(robot: Robot) -> JointCommand:
    """Everything at zero, as before a stance."""
    joints, none = robot.joints, np.zeros(len(robot.joints.names))
    return replace(JointCommand.damping(joints.kd, none), kp=joints.kp.copy())


@pytest.mark.parametrize("world", ["mujoco:typical:3", "mujoco:typical:31"])
def test_a_hidden_robot_hangs_upright_and_is_let_go(world: str) -> None:
    """Legs that stretch against the floor tip a robot that is held by its middle alone."""
    robot = Robot.load("g1", mount="free")
    hidden = world_of(world, robot)
    link = WorldLink(hidden, gantry=Gantry(HUNG, hidden.rate))
    command, begun = zero(robot), link.read().base_pos
    lean, moved = [], []
    while link.gantry is not None and link.gantry.holds:
        link.write(command)
        state = link.read()
        assert state.base_quat_wxyz is not None and state.base_pos is not None
        lean.append(np.degrees(np.arccos(up_in_body(state.base_quat_wxyz[None])[0, 2])))
        moved.append(np.linalg.norm(state.base_pos - begun))
    assert len(lean) == HUNG * hidden.rate
    assert max(lean) < 25 and max(moved) < 0.15
    for _ in range(round(3 * hidden.rate)):
        link.write(command)
    assert up_in_body(link.read().base_quat_wxyz[None])[0, 2] < 0.5  # type: ignore[index]
