"""Feet that stand on few spheres: the same support, the same robot, fewer contacts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot
from gapless.robots.polygons import area, outline, outside
from gapless.robots.rewrite import Rewriter
from gapless.robots.saved import load_robot, save_robot
from gapless.worlds import MujocoWorld

INERTIAL = ("body_mass", "body_inertia", "body_ipos", "body_iquat")
RAIL = '<geom type="capsule" size=".008" mass=".1" condim="4" margin=".001" solref=".01 1"'
HOPPER = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="base" pos="0 0 .5"><freejoint/><geom type="box" size=".1 .1 .05" mass="3"/>
 <body name="foot" pos="0 0 -.3" euler=".3 0 0"><joint name="ankle" axis="0 1 0"/>
  <frame euler="-.3 0 0">
   {RAIL} fromto="-.1 -.02 -.03 .1 -.02 -.03" friction=".9 .02 .003"/>
   <geom name="shin" type="capsule" size=".01" fromto="0 0 0 0 0 .1" mass=".1"/>
   {RAIL} fromto="-.1 0 -.03 .1 0 -.03"/>
   <body name="welded" pos="0 .02 -.03" euler="0 0 1">
    {RAIL} fromto="-.054 .0841 0 .054 -.0841 0"/></body>
  </frame>
 </body></body></worldbody>
<actuator><position joint="ankle" kp="50" kv="2"/></actuator></mujoco>"""


@pytest.fixture(scope="module", params=["g1", "g1_23dof"])
def pair(request: pytest.FixtureRequest) -> tuple[Robot, Robot]:
    """A robot on the floor, and the same with simple feet."""
    robot = Robot.load(request.param, mount="free")
    return robot, robot.with_simple_feet()


@pytest.fixture
def hopper(tmp_path: Path) -> Robot:
    """A model of one's own: three rails, one of them welded on, and a shin that stands on them."""
    (tmp_path / "hopper.xml").write_text(HOPPER)
    return Robot.from_mjcf(tmp_path / "hopper.xml", link_groups={"feet": ("foot",)})


def settled(robot: Robot, seconds: float = 0.3) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """MuJoCo after a while of standing."""
    model = robot.model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


def touching(model: mujoco.MjModel, data: mujoco.MjData, link: str) -> np.ndarray:
    """(N, 3) contact points of a foot, in its frame."""
    bodies = model.body_weldid[model.geom_bodyid[data.contact.geom]]
    mine = (bodies == model.body(link).id).any(axis=1)
    return (data.contact.pos[mine] - data.body(link).xpos) @ data.body(link).xmat.reshape(3, 3)


def test_feet_that_nobody_named_are_found(hopper: Robot) -> None:
    """A model of one's own has no groups: what reaches lowest carries it, and is made simple."""
    own = replace(hopper, link_groups={})
    assert own.feet == ("foot",)
    assert own.with_simple_feet().simple_feet == hopper.with_simple_feet().simple_feet
    assert own.with_simple_feet().simple_feet


@pytest.mark.parametrize("name", ["g1", "h1_2", "kbot", "go2"])
def test_feet_are_found_where_a_robot_names_them(name: str) -> None:
    """The lowest links are the feet of every robot whose feet are known."""
    robot = Robot.load(name, mount="free")
    assert robot.feet == robot.link_groups["feet"]
    assert set(replace(robot, link_groups={}).feet) == set(robot.feet)


def test_what_is_held_has_no_feet() -> None:
    """The lowest link of an arm is none."""
    assert Robot.load("so101").feet == ()


def test_the_support_polygon_stays(pair: tuple[Robot, Robot]) -> None:
    """Where MuJoCo lets the feet touch: six points, the same area, no point lost by over 3 mm."""
    (before, after) = (settled(robot) for robot in pair)
    for link in pair[0].link_groups["feet"]:
        old, new = touching(*before, link), touching(*after, link)
        assert len(old) == 14 and len(new) == 6
        polygons = outline(old[:, :2]), outline(new[:, :2])
        assert polygons[0] is not None and polygons[1] is not None
        assert area(polygons[1]) == pytest.approx(area(polygons[0]), rel=0.02)
        assert outside(old[:, :2], polygons[1]).max() < 0.003


def test_heights_masses_and_inertias_stay(pair: tuple[Robot, Robot]) -> None:
    """The robot is as heavy, and stands as high, at home and at rest."""
    robot, simple = pair
    assert simple.standing_height == pytest.approx(robot.standing_height, abs=1e-3)
    (model, data), (other, same) = settled(robot), settled(simple)
    assert same.qpos[2] == pytest.approx(data.qpos[2], abs=1e-3)
    for name in INERTIAL:
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))


@pytest.mark.parametrize("mount", ["fixed", "left_foot"])
def test_robots_that_are_held_do_the_same_to_the_byte(mount: str) -> None:
    """Nothing touches them, so nothing differs."""
    robot = Robot.load("g1", mount=mount)
    worlds = [MujocoWorld(r, threads=1) for r in (robot, robot.with_simple_feet())]
    targets = multisine(robot, 0.5, robot.rate, seed=0)[None]
    first, second = (world.rollout(world.home(), targets) for world in worlds)
    for name, array in first.fields.items():
        np.testing.assert_array_equal(array, second.fields[name], err_msg=name)
    assert worlds[0].identity.key != worlds[1].identity.key


def test_a_model_of_ones_own(hopper: Robot, tmp_path: Path) -> None:
    """Welded shapes count, what does not reach the sole stays, contact figures are taken over."""
    simple = hopper.with_simple_feet()
    (foot,) = simple.simple_feet
    assert foot.replaced == (("foot", 0), ("foot", 2), ("welded", 0))
    (model, data), (other, same) = settled(hopper), settled(simple)
    old, new = touching(model, data, "foot"), touching(other, same, "foot")
    assert len(old) == 6 and len(new) == 4
    np.testing.assert_allclose(np.ptp(new, axis=0), np.ptp(old, axis=0), atol=5e-4)
    for name in INERTIAL:
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    spheres = [g for g in range(other.ngeom) if other.geom_type[g] == mujoco.mjtGeom.mjGEOM_SPHERE]
    assert other.geom_size[spheres, 0] == pytest.approx(0.008)
    assert set(other.geom_condim[spheres]) == {4} and set(other.geom_margin[spheres]) == {0.001}
    assert sorted(other.geom_friction[spheres, 0]) == pytest.approx([0.9, 0.9, 1.0, 1.0])
    assert other.geom("shin").conaffinity == 1
    save_robot(simple, tmp_path / "saved")
    assert load_robot(tmp_path / "saved").fingerprint() == simple.fingerprint()


AT = '<geom {} pos="{} {} -.05"/>'
CORNERS = [(-0.1, -0.03), (-0.1, 0.03), (0.1, 0.03), (0.1, -0.03), (0, 0)]
SOLES = {
    "discs": ([AT.format('type="cylinder" size=".03 .01"', x, 0) for x in (-0.05, 0.05)], 6),
    "balls": ([AT.format('size=".01"', *at) for at in CORNERS], 4),
    "boxes": ([AT.format('type="box" size=".03 .02 .01"', *at) for at in CORNERS], 4),
    "a line": ([AT.format('size=".01"', 0.04 * k, 0) for k in range(5)], 0),
    "nothing": (['<inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>'], 0),
}


@pytest.mark.parametrize(("parts", "spheres"), SOLES.values(), ids=SOLES)
def test_soles_of_every_shape(parts: list[str], spheres: int, tmp_path: Path) -> None:
    """A disc stands on its rim, a box on its corners, an edge is left alone; no height changes."""
    first, last = HOPPER.index("<frame"), HOPPER.index("</frame>") + len("</frame>")
    flat = HOPPER[:first].replace('euler=".3 0 0"', "")
    (tmp_path / "own.xml").write_text(flat + "".join(parts) + HOPPER[last:])
    robot = Robot.from_mjcf(tmp_path / "own.xml", link_groups={"feet": ("foot",)})
    simple = robot.with_simple_feet()
    assert [len(foot.spheres) for foot in simple.simple_feet] == ([spheres] if spheres else [])
    assert simple.standing_height == pytest.approx(robot.standing_height, abs=1e-6)


def test_a_robot_file_asks_for_them(hopper: Robot, tmp_path: Path) -> None:
    """`feet = "hull"`."""
    text = 'model = "hopper.xml"\nfeet = "{}"\n[link_groups]\nfeet = ["foot"]'
    for feet, count in {"own": 0, "hull": 1}.items():
        (tmp_path / "mine.toml").write_text(text.format(feet))
        assert len(Robot.load(tmp_path / "mine.toml").simple_feet) == count


def test_a_saved_robot_keeps_its_feet(pair: tuple[Robot, Robot], tmp_path: Path) -> None:
    """Through a folder and back, and apart from the robot that it came from."""
    robot, simple = pair
    save_robot(simple, tmp_path / "robot")
    again = load_robot(tmp_path / "robot")
    assert again.simple_feet == simple.simple_feet and again.notes == simple.notes
    assert again.fingerprint() == simple.fingerprint() != robot.fingerprint()
    assert again.model().ngeom == simple.model().ngeom == robot.model().ngeom + 12


@pytest.mark.parametrize(
    ("name", "why"),
    [("h1_2", "4 points"), ("kbot", "4 points"), ("go2", "4 points"), ("so101", "no feet")],
)
def test_nothing_to_do_is_said(name: str, why: str) -> None:
    """Boxes, balls and robots without feet stay as they are, and the notes say so."""
    robot = Robot.load(name)
    simple = robot.with_simple_feet()
    assert simple.fingerprint() == robot.fingerprint() and not simple.simple_feet
    assert all(why in note for note in simple.notes[len(robot.notes) :])
    assert len(simple.notes) == len(robot.notes) + max(1, len(robot.link_groups.get("feet", ())))


def test_a_sole_that_needs_more_corners_is_kept() -> None:
    """Six spheres that would lose too much are not put there; a tolerance must be one."""
    robot = Robot.load("g1")
    assert robot.with_simple_feet(0.001).fingerprint() == robot.fingerprint()
    assert "more than 6 corners" in robot.with_simple_feet(0.001).notes[-1]
    assert [len(f.spheres) for f in robot.with_simple_feet(0.008).simple_feet] == [4, 4]
    with pytest.raises(ModelError, match="above 0"):
        robot.with_simple_feet(0.0)


def test_soles_loads_and_a_second_call(pair: tuple[Robot, Robot]) -> None:
    """Spheres move with the sole; asking twice changes nothing; a world takes loads."""
    robot, simple = pair
    link = robot.link_groups["feet"][0]
    moved = {link: (0.01, -0.02)}
    lower = robot.with_soles(moved).with_simple_feet()
    assert lower.fingerprint() == simple.with_soles(moved).fingerprint()
    assert lower.standing_height == pytest.approx(simple.standing_height + 0.02, abs=1e-3)
    assert (twice := simple.with_simple_feet()).notes == simple.notes
    assert twice.fingerprint() == simple.fingerprint()
    world = MujocoWorld(simple, threads=1)
    loads = [Conditions(payloads={link: Payload(0.2)}), Conditions()]
    played = world.rollout(
        world.home(2), np.tile(robot.joints.default, (2, 5, 1)), conditions=loads
    )
    assert played.valid.all()
    with pytest.raises(ModelError, match="simple_feet"):
        Rewriter(robot).model(simple)
    assert replace(simple, simple_feet=()).fingerprint() == robot.fingerprint()
