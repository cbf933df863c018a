"""A small TOML file makes any MJCF or URDF usable by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.errors import FormatError, ModelError, NameMismatchError
from gapless.robots import Robot

BARE = """<mujoco><worldbody><body name="arm"><joint name="pan" axis="0 0 1"/><geom size=".1"/>
<body name="hand" pos="0 0 .3"><joint name="lift" axis="0 1 0"/><geom size=".1"/></body></body>
</worldbody></mujoco>"""
URDF = """<robot name="arm"><link name="base"><inertial><mass value="1"/>
<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="gone.stl"/></geometry></visual></link>
<link name="upper"><inertial><origin xyz="0 0 .1"/><mass value="1"/>
<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1.5" effort="7" velocity="3"/></joint></robot>"""
FULL = """
model = "models/arm.xml"
name = "mine"
title = "My arm"
rate = 100
mount = "fixed"
self_collision = true
height = 0.5
[gains]
"*" = [20, 1]
lift = [30, 2.5]
[effort]
"*" = 12
lift = 7.5
[armature]
"l*" = 0.02
[aliases]
motor_1 = "pan"
motor_2 = { joint = "lift", sign = -1, offset = 0.1 }
[default]
lift = 0.25
[link_groups]
hands = ["hand"]
upper_body = ["*"]
[joint_groups]
arms = ["*"]
[end_effectors]
tool = { body = "hand", offset = [0, 0, 0.1] }
knuckle = "hand"
[floor]
height = -0.04
tilt_x = 0.02
friction = 0.5
"""


def write(folder: Path, text: str) -> Path:
    """Write a bare model and a robot file that names it."""
    (folder / "models").mkdir(exist_ok=True)
    (folder / "models" / "arm.xml").write_text(BARE)
    (folder / "models" / "arm.urdf").write_text(URDF)
    path = folder / "my_robot.toml"
    path.write_text(text)
    return path


def test_every_key_reaches_the_robot(tmp_path):
    """Names, gains by pattern, aliases, pose, groups and points are all as the file says."""
    robot = Robot.load(write(tmp_path, FULL))
    assert (robot.name, robot.title, robot.rate, robot.mount) == ("mine", "My arm", 100, "fixed")
    assert (robot.self_collision, robot.height) == (True, 0.5)
    assert (list(robot.joints.kp), list(robot.joints.kd)) == ([20, 30], [1, 2.5])
    assert (list(robot.joints.effort), list(robot.joints.armature)) == ([12, 7.5], [0, 0.02])
    assert list(robot.joints.default) == [0, 0.25]
    found = robot.match(["motor_2", "motor_1"])
    assert [(a.joint, a.sign, a.offset) for a in found] == [("lift", -1, 0.1), ("pan", 1, 0)]
    assert robot.link_groups == {"hands": ("hand",), "upper_body": ("arm", "hand")}
    assert robot.joint_groups == {"arms": ("pan", "lift")}
    assert [(p.name, p.offset) for p in robot.end_effectors] == [
        ("tool", (0, 0, 0.1)),
        ("knuckle", (0, 0, 0)),
    ]
    assert (robot.floor.height, robot.floor.friction) == (-0.04, 0.5)
    assert robot.floor.tilt == pytest.approx((0.02, 0.0))
    assert robot.model().nu == 2 and robot.model().geom("floor").pos[2] == pytest.approx(-0.04)


def test_three_lines_are_enough_and_the_name_is_the_files(tmp_path):
    """The file that the error proposes works as it is."""
    with pytest.raises(ModelError) as refusal:
        Robot.load(write(tmp_path, "").parent / "models" / "arm.xml")
    lines = str(refusal.value).splitlines()[-3:]
    assert lines[0].strip() == 'model = "arm.xml"'
    path = tmp_path / "models" / "arm.toml"
    path.write_text("\n".join(lines))
    robot = Robot.load(path)
    assert (robot.name, list(robot.joints.kp)) == ("arm", [100, 100])


def test_urdf_and_its_missing_meshes(tmp_path):
    """A URDF takes its gains from the file, and may do without its meshes."""
    path = write(tmp_path, 'model = "models/arm.urdf"\nmeshes = "drop"\ngains = {lift = [9, 1]}')
    robot = Robot.load(path)
    assert (robot.joints.kp[0], robot.joints.effort[0]) == (9, 7)


def test_undriven_joints_can_be_locked(tmp_path):
    """Joints without gains are welded when asked, and leave their groups."""
    text = 'model = "models/arm.xml"\nunactuated = "lock"\n[gains]\npan = [5, 1]\n'
    robot = Robot.load(write(tmp_path, text + '[joint_groups]\nall = ["pan", "lift"]'))
    assert (robot.joints.names, robot.joint_groups) == (("pan",), {"all": ("pan",)})
    with pytest.raises(ModelError, match=r"my_robot\.toml: no actuator drives lift[\s\S]*gains"):
        Robot.load(write(tmp_path, text.replace('"lock"', '"refuse"')))


def test_all_wrong_entries_are_listed_at_once(tmp_path):
    """Unknown keys come with the nearest right one, wrong values with what is expected."""
    text = """model = "models/arm.xml"
rat = 50
mount = 3
unactuated = "weld"
[gain]
"*" = [1, 2]
[gains]
pan = 5
[aliases]
a = { joint = "pan", sin = 1 }
b = { joint = "pan", sign = 2 }
[end_effectors]
c = { body = "hand", offset = [1, 2] }
[floor]
hight = 0.1
softness = "much"
"""
    with pytest.raises(FormatError) as refusal:
        Robot.load(write(tmp_path, text))
    message = str(refusal.value)
    assert "'rat'. Did you mean 'rate'?" in message
    assert "'gain'. Did you mean 'gains'?" in message
    for part in ("mount is 3", "weld", "gains.pan", "aliases.a", "aliases.b", "end_effectors.c"):
        assert part in message
    assert "floor.softness" in message and "'hight'. Did you mean 'height'?" in message
    assert len(message.splitlines()) == 11


def test_all_wrong_names_are_listed_at_once(tmp_path):
    """Joints and links that the model lacks are named with the nearest that exist."""
    text = """model = "models/arm.xml"
mount = "hnad"
gains = { "*" = [1, 2], "lft*" = [1, 2] }
effort = { wrist = 3 }
default = { pam = 0.1 }
aliases = { m = "lfit" }
link_groups = { hands = ["hands"] }
"""
    with pytest.raises(ModelError) as refusal:
        Robot.load(write(tmp_path, text))
    message = str(refusal.value)
    assert len(message.splitlines()) == 7
    for part in ("mount: unknown link 'hnad'. Did you mean 'hand'", "'pam'. Did you mean 'pan'"):
        assert part in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = ", "no valid TOML file"),
        ("rate = 50", "model must be the path"),
        ('model = "gone.xml"', r"no model at .*gone\.xml"),
        ('model = "arm.obj"', "model must be the path"),
        ('model = "models/arm.xml"\nmeshes = "drop"', "URDF only"),
        ('model = "models/arm.xml"\ngains = 3', r"section \[gains\]"),
        ('model = "models/arm.xml"\nrate = 0', "above 0 Hz"),
    ],
)
def test_unusable_files_say_why(tmp_path, text, message):
    """Broken TOML, absent models and misplaced keys are format errors that name the file."""
    with pytest.raises(FormatError, match=rf"my_robot\.toml[\s\S]*{message}"):
        Robot.load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ('gains = { "*" = [-1, 2] }', "kp of joint 'pan' is -1"),
        ('gains = { "*" = [1, -2] }', "kd of joint 'pan' is -2"),
        ('gains = { "*" = [nan, 2] }', "kp of joint 'pan' is nan"),
        ('gains = { "*" = [1, 2] }\ndefault = { pan = nan }', "default or range of joint 'pan'"),
        ('gains = { "*" = [1, 2] }\neffort = { pan = -3 }', "effort of joint 'pan' is -3"),
    ],
)
def test_figures_that_no_joint_has_are_refused(tmp_path, figures, message):
    """Negative gains and what is no number, by the joint they are of."""
    with pytest.raises(ModelError, match=message):
        Robot.load(write(tmp_path, f'model = "models/arm.xml"\n{figures}'))


def test_a_name_that_is_no_robot_points_to_robot_files():
    """A dataset of a user's robot remembers its name only; the error says to give the path."""
    with pytest.raises(NameMismatchError, match=r"my_arm.*Known:.*robot file \(\.toml\)"):
        Robot.load("my_arm")


def test_the_command_line_takes_a_robot_file(tmp_path, capsys):
    """`gapless robots show my_robot.toml` prints the user's joints."""
    assert main(["robots", "show", str(write(tmp_path, FULL))]) == 0
    assert "lift" in capsys.readouterr().out
