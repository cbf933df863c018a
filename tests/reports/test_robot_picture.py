"""The drawing of a robot: every joint where it is, the largest value most visible."""

from __future__ import annotations

import re

import pytest

from gapless.reports.robot_picture import SIZE, robot_svg
from gapless.robots import Robot


def circles(svg: str) -> list[tuple[float, float, float]]:
    """x, y and radius of each."""
    found = re.findall(r'<circle cx="([\d.-]+)" cy="([\d.-]+)" r="([\d.]+)"', svg)
    return [(float(x), float(y), float(r)) for x, y, r in found]


@pytest.mark.parametrize("name", ["h1_2", "g1", "so101", "go2"])
def test_every_joint_is_on_the_paper(name: str) -> None:
    """Joints with a value are drawn inside the picture, the largest last and largest."""
    robot = Robot.load(name)
    values = {joint: 0.01 * (k + 1) for k, joint in enumerate(robot.joints.names)}
    found = circles(robot_svg(robot, values))
    assert len(found) == len(values)
    assert all(0 <= x <= SIZE and 0 <= y <= SIZE for x, y, _ in found)
    radii = [r for *_, r in found]
    assert radii == sorted(radii) and radii[-1] == 15.0


def test_who_looks_at_a_robot_sees_its_left_arm_on_the_right() -> None:
    """The robot faces the reader; its head is above its feet."""
    robot = Robot.load("g1")
    joints = ("left_shoulder_roll_joint", "right_shoulder_roll_joint", "left_ankle_roll_joint")
    at = {j: circles(robot_svg(robot, {j: 1.0}))[0] for j in joints}
    assert at[joints[0]][0] > at[joints[1]][0] + 10
    assert at[joints[2]][1] > at[joints[0]][1] + 50
