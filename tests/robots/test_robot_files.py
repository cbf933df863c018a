"""Users' own MJCF and URDF files become Robots with explicit figures."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError, NameMismatchError
from gapless.robots import Alias, Kinematics, Payload, Robot

BIPED = """
<mujoco model="biped">
  <compiler angle="degree" autolimits="true"/>
  <default><joint damping="0.5" armature="0.02" frictionloss="0.1"/></default>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 1"/>
    <body name="trunk" pos="0 0 0.9">
      <freejoint/>
      <geom type="box" size=".1 .15 .1" mass="8"/>
      {legs}
    </body>
  </worldbody>
  <actuator>
    <position name="a" joint="right_hip" kp="80" dampratio="1" forcerange="-40 40"/>
    <position name="b" joint="left_hip" kp="80" kv="3" forcerange="-40 40"/>
    <general name="c" joint="left_knee" biastype="affine" gainprm="60" biasprm="0 -60 -2"/>
    <position name="d" joint="right_knee" kp="10" kv="1" gear="2" forcerange="-10 10"/>
  </actuator>
  <keyframe><key name="stand" qpos="0 0 1 1 0 0 0 -.2 .4 -.2 .4"/></keyframe>
</mujoco>
"""
LEG = """
      <body name="{s}_thigh" pos="0 {y} -.1" euler="0 5 0">
        <joint name="{s}_hip" axis="0 1 0" range="-60 60"/>
        <geom type="capsule" size=".04" fromto="0 0 0 0 0 -.35" mass="2"/>
        <body name="{s}_shin" pos="0 0 -.35" euler="0 -5 0">
          <joint name="{s}_knee" axis="0 1 0" range="0 120"/>
          <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.35" mass="1"/>
          <geom type="box" size=".1 .04 .02" pos=".03 0 -.37" mass=".5"/>
        </body>
      </body>
"""
URDF = """
<robot name="arm">
  <link name="base"><inertial><mass value="1"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://arm/meshes/base.stl"/></geometry></visual></link>
  <link name="upper"><inertial><origin xyz="0 0 .1"/><mass value="1"/>
    <inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="tip" type="fixed"><parent link="upper"/><child link="tool"/>
    <origin xyz="0 0 .3"/></joint>
  <joint name="lift" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1.5" effort="7" velocity="3"/>
    <dynamics damping=".2" friction=".1"/></joint>
</robot>
"""


@pytest.fixture
def biped(tmp_path):
    """A small MJCF biped: degrees, Euler angles, dampratio, gears, its own floor."""
    legs = "".join(LEG.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1)))
    path = tmp_path / "biped.xml"
    path.write_text(BIPED.format(legs=legs))
    return path


@pytest.fixture
def urdf(tmp_path):
    """A one-joint URDF arm whose mesh file is missing."""
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    return path


def test_mjcf_gains_limits_and_pose_are_explicit(biped):
    """PD figures, gears, ranges in radians and the keyframe's pose are read by joint name."""
    robot = Robot.from_mjcf(biped)
    joints = robot.joints
    assert joints.names == ("left_hip", "left_knee", "right_hip", "right_knee")
    assert list(joints.kp) == [80, 60, 80, 40]
    assert list(joints.kd[[0, 1, 3]]) == [3, 2, 4]
    assert list(joints.effort) == [40, np.inf, 40, 20]
    np.testing.assert_allclose(joints.upper, np.radians([60, 120, 60, 120]))
    np.testing.assert_allclose(joints.default, [-0.2, 0.4, -0.2, 0.4])
    assert list(joints.damping) == [0.5] * 4
    assert robot.mount == "free"
    assert any("gear" in note for note in robot.notes)


def test_dampratio_becomes_the_compilers_own_velocity_gain(biped):
    """The resolved kd equals what MuJoCo itself would use, and is written out as a number."""
    robot = Robot.from_mjcf(biped)
    original = mujoco.MjModel.from_xml_path(str(biped))
    kd = robot.joints.kd[robot.joints.index("right_hip")]
    assert kd == pytest.approx(-original.actuator("a").biasprm[2])
    assert kd > 0
    assert robot.model().actuator("right_hip").biasprm[2] == pytest.approx(-kd)


def test_mjcf_simulates_as_the_original_does(biped):
    """Our rebuilt model and the user's file give the same motion in the air."""
    robot = Robot.from_mjcf(biped)
    spec = mujoco.MjSpec.from_file(str(biped))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    original, ours = spec.compile(), robot.model()
    data = [mujoco.MjData(m) for m in (original, ours)]
    for d, model in zip(data, (original, ours), strict=True):
        d.qpos[2] = 3.0
        for name, value in zip(robot.joints.names, (0.3, 0.8, -0.3, 0.5), strict=True):
            gear = 2 if name == "right_knee" and model is original else 1
            actuators = {model.joint(model.actuator_trnid[i, 0]).name: i for i in range(model.nu)}
            d.ctrl[actuators[name]] = gear * value
        for _ in range(100):
            mujoco.mj_step(model, d)
    np.testing.assert_allclose(data[0].qpos, data[1].qpos, atol=1e-9)


@pytest.mark.parametrize("lock", [[], ["left_hip"], ["right_knee", "left_knee"]])
def test_mjcf_ranges_stay_with_their_joints(biped, lock):
    """Whatever is locked, and though a free joint takes the place of the file's."""
    model = Robot.from_mjcf(biped).lock(lock).model()
    left = [n for n in ("left_hip", "left_knee", "right_hip", "right_knee") if n not in lock]
    reach = {"hip": [-60, 60], "knee": [0, 120]}
    for name in left:
        np.testing.assert_allclose(
            np.degrees(model.joint(name).range), reach[name.rpartition("_")[2]], atol=1e-9
        )
    assert model.njnt == len(left) + 1


def test_mjcf_stands_on_our_floor_only(biped):
    """The file's ground is replaced, and the feet touch ours at home."""
    model = Robot.from_mjcf(biped).model()
    planes = [model.geom(i).name for i in range(model.ngeom) if model.geom_type[i] == 0]
    assert planes == ["floor"]
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    lowest = min(
        mujoco.mj_geomDistance(model, data, model.geom("floor").id, i, 1.0, None)
        for i in range(model.ngeom)
        if model.geom(i).name != "floor"
    )
    assert abs(lowest) < 1e-6


@pytest.mark.parametrize("mount", ["fixed", "left_shin"])
def test_mjcf_mounts(biped, mount):
    """A fixed base loses its free joint; a clamped link stays put."""
    robot = Robot.from_mjcf(biped, mount=mount)
    model = robot.model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    link = "trunk" if mount == "fixed" else mount
    start = data.body(link).xpos.copy()
    for _ in range(200):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.body(link).xpos, start, atol=2e-3)
    assert model.nq == (4 if mount == "fixed" else 11)


def test_mjcf_locks_and_loads(biped):
    """Locks respect Euler angles in the file, and payloads work on any link."""
    robot = Robot.from_mjcf(biped, mount="fixed")
    locked = robot.lock(["left_knee"]).with_payloads({"right_shin": Payload(2.0)})
    whole = Kinematics.of(robot).points(robot.joints.default, points=robot.tracking)
    part = Kinematics.of(locked).points(locked.joints.default, points=robot.tracking)
    np.testing.assert_allclose(whole, part, atol=1e-9)
    assert locked.model().body_mass.sum() == pytest.approx(17.0)


def test_mjcf_takes_names_groups_and_aliases_from_the_user(biped):
    """What the file cannot say is given by keyword."""
    robot = Robot.from_mjcf(
        biped,
        name="mine",
        rate=100.0,
        aliases={"motor_1": Alias("left_hip", -1.0), "motor_2": "left_knee"},
        link_groups={"feet": ("left_shin", "right_shin")},
        default={"left_hip": 0.1},
    )
    assert (robot.name, robot.rate, robot.joints.default[0]) == ("mine", 100.0, 0.1)
    assert robot.match(["motor_1", "motor_2"]) == [Alias("left_hip", -1.0), Alias("left_knee")]
    assert robot.with_mount("right_foot").mount == "right_shin"
    with pytest.raises(NameMismatchError, match="left_hipp"):
        Robot.from_mjcf(biped, gains={"left_hipp": (1.0, 1.0)})
    with pytest.raises(NameMismatchError, match="'knee_left'"):
        Robot.from_mjcf(biped, aliases={"motor_1": "knee_left"})


def test_load_reads_paths(biped):
    """A path ending in .xml is a model, not a name."""
    assert Robot.load(biped, mount="fixed", lock=["left_hip"]).model().nq == 3


def test_urdf_limits_are_read_and_gains_must_be_given(urdf):
    """Effort and speed come from the file, gains from the user."""
    with pytest.raises(ModelError, match="holds no gains"):
        Robot.from_urdf(urdf)
    robot = Robot.from_urdf(urdf, gains={"*": (20.0, 1.0)}, meshes="drop")
    assert robot.name == "arm"
    assert robot.links == ("base", "upper", "tool")
    assert (robot.joints.effort[0], robot.joints.velocity[0]) == (7.0, 3.0)
    assert (robot.joints.damping[0], robot.joints.frictionloss[0]) == (0.2, 0.1)
    assert (robot.joints.lower[0], robot.joints.upper[0]) == (-1.0, 1.5)
    assert robot.model().actuator("lift").forcerange[1] == 7
    assert robot.with_mount("free").model().nq == 8


def test_urdf_without_its_meshes_says_what_is_lost(urdf):
    """Every missing mesh is named, and where contact shapes are lost."""
    robot = Robot.from_urdf(urdf, gains={"*": (20.0, 1.0)})
    (note,) = [note for note in robot.notes if "do not exist" in note]
    assert "package://arm/meshes/base.stl" in note and "CONTACT" not in note
    urdf.write_text(urdf.read_text().replace("visual>", "collision>"))
    robot = Robot.from_urdf(urdf, gains={"*": (20.0, 1.0)})
    assert any("CONTACT SHAPES ARE LOST with them on base" in note for note in robot.notes)
