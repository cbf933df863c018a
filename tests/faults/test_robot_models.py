"""Faults 15, 16, 22 and 29: wrong names, hostile paths and broken models are refused, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import FormatError, GaplessError, ModelError, NameMismatchError
from gapless.robots import Robot

BODY = """<body name="arm"><joint name="pan" axis="0 0 1"/><geom size=".1"/>
<body name="hand" pos="0 0 .3"><joint name="lift" axis="0 1 0"/><geom size=".1"/></body></body>"""
PAIR = """<contact><pair geom1="s" geom2="f"/></contact>
<worldbody><geom name="f" size="1 1 1" type="box" pos="0 0 -9"/></worldbody></mujoco>"""
DRIVEN = '<position joint="pan" kp="5" kv="1"/><position joint="lift" kp="5" kv="1"/>'


def write(folder: Path, body: str = BODY, actuators: str = DRIVEN, head: str = "") -> Path:
    """Write a small MJCF arm and return its path."""
    path = folder / "model.xml"
    path.write_text(
        f"<mujoco>{head}<worldbody>{body}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )
    return path


def test_a_good_model_loads(tmp_path):
    """The model that the faults below are made from is itself accepted."""
    assert Robot.from_mjcf(write(tmp_path)).joints.names == ("pan", "lift")


def test_case_16_joint_order_is_by_name_and_a_23_joint_log_needs_the_locked_robot():
    """A 29-joint robot never fills six missing joints silently, and order does not matter."""
    g1, asap = Robot.load("g1"), Robot.load("g1_23dof")
    shuffled = tuple(reversed(asap.joints.names))
    assert [alias.joint for alias in g1.match(shuffled)] == list(shuffled)
    assert len(g1.match(shuffled)) == 23
    with pytest.raises(NameMismatchError, match="locked"):
        asap.match(g1.joints.names)


@pytest.mark.parametrize(
    "mesh", ["/etc/hostname.stl", "../secret.stl", "sub/../../secret.stl", "link.stl"]
)
def test_case_22_meshes_outside_the_folder_are_refused(tmp_path, mesh):
    """Absolute paths, parent folders and symlinks out of the folder are not followed."""
    (tmp_path / "secret.stl").write_bytes(b"solid")
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.stl").symlink_to(tmp_path / "secret.stl")
    head = f'<asset><mesh name="m" file="{mesh}"/></asset>'
    with pytest.raises(ModelError, match="outside its folder"):
        Robot.from_mjcf(write(folder, head=head))


def test_case_22_meshdir_and_include_outside_the_folder_are_refused(tmp_path):
    """The folder of the meshes and included files are held to the same rule."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "m.stl").write_bytes(b"solid")
    (tmp_path / "other.xml").write_text("<mujoco/>")
    head = '<compiler meshdir=".."/><asset><mesh name="m" file="m.stl"/></asset>'
    with pytest.raises(ModelError, match="outside its folder"):
        Robot.from_mjcf(write(folder, head=head))
    with pytest.raises(ModelError, match=r"other\.xml.*outside its folder"):
        Robot.from_mjcf(write(folder, head='<include file="../other.xml"/>'))


def test_a_wider_folder_can_be_allowed(tmp_path):
    """folder= widens the rule; the file is then found, and used."""
    folder = tmp_path / "model"
    folder.mkdir()
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "m.obj").write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    head = '<compiler meshdir=".."/><asset><mesh name="m" file="m.obj"/></asset>'
    body = BODY.replace('<geom size=".1"/>', '<geom type="mesh" mesh="m"/>', 1)
    assert Robot.from_mjcf(write(folder, body, head=head), folder=tmp_path).model().nmesh == 1


def test_a_robot_file_is_held_to_the_same_folder_rule(tmp_path):
    """A robot file does not open other folders by itself; its folder key does."""
    folder = tmp_path / "model"
    folder.mkdir()
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "m.obj").write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    head = '<compiler meshdir=".."/><asset><mesh name="m" file="m.obj"/></asset>'
    write(folder, BODY.replace('<geom size=".1"/>', '<geom type="mesh" mesh="m"/>', 1), head=head)
    robot = tmp_path / "robot.toml"
    robot.write_text('model = "model/model.xml"')
    with pytest.raises(ModelError, match="outside its folder"):
        Robot.load(robot)
    robot.write_text('model = "model/model.xml"\nfolder = "."')
    assert Robot.load(robot).model().nmesh == 1


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"= 1", b"model", b"\x00" * 100])
def test_robot_files_of_rubbish_are_format_errors(tmp_path, content):
    """Bytes that are no TOML are refused by the file's name."""
    (tmp_path / "robot.toml").write_bytes(content)
    with pytest.raises(FormatError, match=r"robot\.toml"):
        Robot.load(tmp_path / "robot.toml")


def test_case_29_missing_files_are_named_and_done_without(tmp_path):
    """All of them at once; what collided, or weighed something, is said loudly."""
    head = """<asset><mesh file="gone.stl"/><mesh name="sole" file="foot.obj"/>
    <texture name="t" type="2d" file="paint.png"/><material name="m" texture="t"/>
    <hfield name="h" file="hills.png" size="1 1 1 1"/></asset>"""
    body = BODY.replace(
        '<geom size=".1"/>',
        '<geom type="mesh" mesh="gone" material="m" mass="0" contype="0" conaffinity="0"/>'
        '<geom size=".1" material="m"/>',
        1,
    ).replace("</body></body>", '<geom name="s" type="mesh" mesh="sole"/></body></body>')
    body += '<geom type="hfield" hfield="h"/>'
    path = write(tmp_path, body, head=head)
    path.write_text(path.read_text().replace("</mujoco>", PAIR))
    robot = Robot.from_mjcf(path)
    files, contact, masses = robot.notes[:3]
    assert all(name in files for name in ("gone.stl", "foot.obj", "paint.png", "hills.png"))
    assert "CONTACT SHAPES ARE LOST" in contact and "hand, world" in contact
    assert "THE MASSES of hand" in masses
    assert robot.model().nmesh == 0 and robot.model().body("hand").mass > 0
    bare = Robot.from_mjcf(write(tmp_path))
    np.testing.assert_allclose(robot.model().body_mass, bare.model().body_mass)


def test_case_29_links_that_only_missing_meshes_weighed_are_refused(tmp_path):
    """A link without mass is no link; one with an inertial of its own is."""
    head = '<asset><mesh name="m" file="gone.stl"/></asset>'
    body = BODY.replace('<geom size=".1"/>', '<geom type="mesh" mesh="m"/>')
    with pytest.raises(ModelError, match=r"masses of arm, hand.*<inertial"):
        Robot.from_mjcf(write(tmp_path, body, head=head))
    weight = '<inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/>'
    whole = body.replace("<geom", f"{weight}<geom")
    assert Robot.from_mjcf(write(tmp_path, whole, head=head)).model().body("arm").mass == 1


def test_an_include_of_itself_ends(tmp_path):
    """A model that includes itself is refused, not followed for ever."""
    (tmp_path / "a.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    with pytest.raises(ModelError, match="included twice"):
        Robot.from_mjcf(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("body", "actuators", "message"),
    [
        (BODY.replace('<geom size=".1"/>', ""), DRIVEN, "arm|hand"),
        (BODY, '<position joint="pam" kp="5"/>', "pam"),
        (BODY, '<motor joint="pan"/><motor joint="lift"/>', r"torque motors.*pan, lift.*gains="),
        (BODY, '<position joint="pan" kp="5"/>', r"no actuator drives lift.*unactuated='lock'"),
        (BODY.replace('name="lift"', 'name="lift" type="ball"'), "", "ball joint.*three hinges"),
        ('<geom size=".1"/>', "", "no joints"),
        (BODY + BODY.replace('name="', 'name="x'), DRIVEN, r"2 mechanisms; pass root="),
    ],
)
def test_case_29_broken_models_are_refused_with_the_cause(tmp_path, body, actuators, message):
    """Zero mass, unknown joints, motors without gains, ball joints and twins are all named."""
    with pytest.raises(ModelError, match=message):
        Robot.from_mjcf(write(tmp_path, body, actuators))


def test_every_refusal_names_a_way_that_works(tmp_path):
    """gains=, unactuated= and root= do what the messages above promise."""
    motors = '<motor joint="pan" ctrlrange="-3 3" ctrllimited="true"/><motor joint="lift"/>'
    robot = Robot.from_mjcf(write(tmp_path, actuators=motors), gains={"*": (4.0, 0.5)})
    assert list(robot.joints.kp) == [4, 4]
    assert list(robot.joints.effort) == [3, np.inf]
    one = write(tmp_path, actuators='<position joint="pan" kp="5"/>')
    assert Robot.from_mjcf(one, unactuated="lock").joints.names == ("pan",)
    passive = Robot.from_mjcf(one, unactuated="passive")
    assert list(passive.joints.actuated) == [True, False]
    assert passive.model().actuator_forcelimited[1] == 0
    key = '<keyframe><key qpos=".1 .2 .3 .4"/></keyframe>'
    twins = write(tmp_path, BODY + BODY.replace('name="', 'name="x'), head=key)
    robot = Robot.from_mjcf(twins, root="arm")
    assert robot.links == ("arm", "hand")
    assert list(robot.joints.default) == [0.1, 0.2]
    assert any("xarm" in note for note in robot.notes)


def test_case_29_unlimited_joints_are_listed(tmp_path):
    """Joints without limits have infinite ones, and a note says so."""
    robot = Robot.from_mjcf(write(tmp_path))
    assert np.isinf(robot.joints.upper).all()
    assert sum("no position limits" in note for note in robot.notes) == 2


@pytest.mark.parametrize("text", ["", "<mujoco><worldbody>", "not xml", "<robot/>"])
def test_files_that_are_not_mjcf_are_refused(tmp_path, text):
    """Empty, truncated and foreign files are format errors that name the file."""
    path = tmp_path / "model.xml"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"model\.xml"):
        Robot.load(path)


def test_absent_files_are_refused(tmp_path):
    """A path to nothing is an error of ours, not a traceback of the library."""
    for name in ("gone.xml", "gone.urdf", "gone.toml"):
        with pytest.raises(GaplessError, match="gone"):
            Robot.load(tmp_path / name)


def test_case_29_a_model_that_is_not_utf8_is_refused(tmp_path):
    """A UTF-16 file is named as such, not met with a traceback."""
    path = tmp_path / "wide.xml"
    path.write_bytes(write(tmp_path).read_text().encode("utf-16"))
    with pytest.raises(FormatError, match="UTF-8"):
        Robot.from_mjcf(path)


def test_case_29_a_urdf_limit_in_words_is_refused(tmp_path):
    """velocity="fast" names the joint and the value."""
    path = tmp_path / "arm.urdf"
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial>"
    )
    path.write_text(
        f'<robot name="arm"><link name="base">{inertial}</link><link name="tip">{inertial}</link>'
        '<joint name="pan" type="revolute"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="fast"/></joint>'
        "</robot>"
    )
    with pytest.raises(GaplessError, match="'fast'"):
        Robot.from_urdf(path, gains={"*": (10.0, 1.0)})
