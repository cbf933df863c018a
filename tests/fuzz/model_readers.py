"""Robots from files: compiled, simulated for a moment, written and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.reader import Reader
from fuzz.small_arm import MJCF, arm
from gapless.robots import Robot
from gapless.robots.saved import load_robot, save_robot
from gapless.worlds import MujocoWorld

LINK = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="60" velocity="10"/></joint>"""
TOML = """
model = "{model}"
name = "mine"
rate = 100
mount = "fixed"
height = 0.5
[gains]
"*" = [20, 1]
knee = [30, 2.5]
[effort]
"*" = 12
[armature]
"k*" = 0.02
[aliases]
motor_1 = "hip"
motor_2 = {{ joint = "knee", sign = -1, offset = 0.1 }}
[default]
knee = 0.25
[link_groups]
hands = ["lower"]
[joint_groups]
arms = ["*"]
[end_effectors]
tool = {{ body = "lower", offset = [0, 0, 0.1] }}
[floor]
height = -0.04
tilt_x = 0.02
friction = 0.5
"""


def moved(robot: Robot) -> None:
    """A tenth of a second in MuJoCo; a robot that cannot be simulated is refused, or diverges."""
    world = MujocoWorld(robot, physics_step=0.005, threads=1)
    world.rollout(world.home(), np.tile(robot.joints.default, (1, 5, 1)))


def mjcf(folder: Path) -> None:
    """A model with drives."""
    (folder / "arm.xml").write_text(MJCF)


def urdf(folder: Path) -> None:
    """A model without, and the file that gives them."""
    links = "".join(map(LINK.format, ("base", "upper", "lower")))
    joints = JOINT.format("hip", "base", "upper") + JOINT.format("knee", "upper", "lower")
    (folder / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    (folder / "arm.toml").write_text(TOML.format(model="arm.urdf"))


def robot_file(folder: Path) -> None:
    """The same of an MJCF."""
    mjcf(folder)
    (folder / "arm.toml").write_text(TOML.format(model="arm.xml"))


def use_file(name: str):
    """Load a robot and move it."""

    def use(source: Path, out: Path) -> None:
        moved(Robot.load(str(source / name)))

    return use


def saved(folder: Path) -> None:
    """As a run keeps it."""
    save_robot(arm(), folder / "robot")


def use_saved(source: Path, out: Path) -> None:
    """Read it and move it."""
    moved(load_robot(source / "robot"))


READERS = (
    Reader("mjcf", mjcf, use_file("arm.xml")),
    Reader("urdf", urdf, use_file("arm.toml"), ("*.urdf",)),
    Reader("robot toml", robot_file, use_file("arm.toml"), ("*.toml",)),
    Reader("saved robot", saved, use_saved),
)
