"""Looks of links: the user's own meshes and shapes, and figures where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.reports import plain_meshes
from gapless.reports.link_meshes import link_meshes
from gapless.robots import Robot

ARM = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="upper">
      <joint name="lift" axis="0 1 0" range="-1 1"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
      {upper}
      <body name="lower" pos="0 0 0.3">
        <joint name="bend" axis="0 1 0" range="-1 1"/>
        <inertial pos="0 0 0.1" mass="0.5" diaginertia="0.002 0.002 0.001"/>
        {lower}
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="lift" kp="20" kv="1"/><position joint="bend" kp="20" kv="1"/>
  </actuator>
</mujoco>
"""


def arm(folder: Path, upper: str = "", lower: str = "") -> Robot:
    """Two links with the given geoms."""
    file = folder / "arm.xml"
    file.write_text(ARM.format(upper=upper, lower=lower))
    return Robot.load(file)


def extent(solid: plain_meshes.Solid) -> np.ndarray:
    """(3,) sides of the box around a solid."""
    return solid.vertices.max(axis=0) - solid.vertices.min(axis=0)


@pytest.mark.parametrize("name", ["h1_2", "g1", "so101", "go2", "kbot"])
def test_every_link_of_a_built_in_robot_can_be_seen(name: str) -> None:
    """Finite triangles of existing vertices, few enough for a phone."""
    robot = Robot.load(name)
    meshes = link_meshes(robot)
    assert set(meshes) == set(robot.links)
    for solid in meshes.values():
        assert np.isfinite(solid.vertices).all() and solid.vertices.dtype == np.float32
        assert solid.faces.min() >= 0 and solid.faces.max() < len(solid.vertices)
    assert sum(len(solid.faces) for solid in meshes.values()) < 25_000


def test_a_trunk_is_a_block_of_its_inertia_with_a_neck() -> None:
    """An H1-2's torso reaches from its waist to its head, which its shapes alone do not."""
    torso = link_meshes(Robot.load("h1_2"))["torso_link"]
    assert torso.vertices[:, 2].min() < 0.0 < 0.7 < torso.vertices[:, 2].max()
    assert extent(torso)[1] > 0.25
    heights = torso.vertices[torso.faces][:, :, 2]
    assert ((heights.min(axis=1) < 0.5) & (heights.max(axis=1) > 0.5)).any()


def test_meshes_of_the_user_are_drawn_and_contact_shapes_are_not(tmp_path: Path) -> None:
    """A visual mesh wins over primitives beside it and over group 3."""
    mesh = '<geom type="mesh" mesh="wedge" group="2" contype="0" conaffinity="0"/>'
    box = '<geom type="box" size="3 3 3" group="3"/>'
    robot = arm(tmp_path, mesh + box, box)
    meshes = link_meshes(robot)
    assert set(meshes) == {"upper"}
    assert extent(meshes["upper"]) == pytest.approx([1, 1, 1], abs=1e-5)
    assert meshes["upper"].vertices.min(axis=0) == pytest.approx([0, 0, 0], abs=1e-5)


def test_shapes_of_the_user_are_drawn_as_they_are(tmp_path: Path) -> None:
    """In their pose and size; a link that has one gets no bones."""
    shape = '<geom type="box" size="0.1 0.02 0.03" pos="0 0 0.5" group="{}"/>'
    meshes = link_meshes(arm(tmp_path, shape.format(0), shape.format(3)))
    for solid in meshes.values():
        assert extent(solid) == pytest.approx([0.2, 0.04, 0.06], abs=1e-5)
        assert solid.vertices.mean(axis=0) == pytest.approx([0, 0, 0.5], abs=1e-5)


def test_a_model_without_shapes_gets_bones(tmp_path: Path) -> None:
    """One to the child's joint; the last link is a block about its centre of mass."""
    meshes = link_meshes(arm(tmp_path))
    assert meshes["upper"].vertices[:, 2].max() == pytest.approx(0.3, abs=0.05)
    low, high = (getattr(meshes["lower"].vertices[:, 2], f)() for f in ("min", "max"))
    assert 0.5 * (low + high) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("sphere", "0.2"),
        ("capsule", "0.1 0.3"),
        ("cylinder", "0.1 0.3"),
        ("box", "0.1 0.2 0.3"),
        ("ellipsoid", "0.1 0.2 0.3"),
    ],
)
def test_solids_have_the_size_that_mujoco_gives_them(tmp_path: Path, kind: str, size: str) -> None:
    """Against the bounding box of the compiled geom."""
    robot = arm(tmp_path, f'<geom name="it" type="{kind}" size="{size}"/>')
    model = robot.model()
    half = model.geom_aabb[model.geom("it").id][3:]
    assert extent(link_meshes(robot)["upper"]) == pytest.approx(2 * half, rel=0.03)


def test_a_fine_mesh_is_drawn_coarser() -> None:
    """Far fewer triangles, the same size."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=6)
    drawn = plain_meshes.surface(ball.vertices, ball.faces)
    assert len(drawn.faces) < 0.6 * len(ball.faces)
    assert extent(drawn) == pytest.approx([2, 2, 2], rel=0.03)


def test_thinner_moves_every_face_inwards_alike() -> None:
    """Whatever its shape; corners stay together."""
    sides = np.array([0.02, 1.0, 3.0])
    slim = plain_meshes.box(0.5 * sides).thinner(0.004)
    assert extent(slim) == pytest.approx(sides - 0.008, abs=1e-5)
    assert len(np.unique(slim.vertices, axis=0)) == 8
    ball = plain_meshes.ellipsoid(np.full(3, 0.1)).thinner(0.01)
    assert np.linalg.norm(ball.vertices, axis=1) == pytest.approx(0.09, abs=1e-3)


def test_bones_reach_from_point_to_point_in_any_direction() -> None:
    """Straight down too."""
    for end in ([0, 0, 1.0], [0, 0, -1.0], [0.6, 0.8, 0.0]):
        made = plain_meshes.bone(0.1, np.zeros(3), np.array(end))
        along = made.vertices @ np.array(end)
        assert (along.min(), along.max()) == pytest.approx((-0.1, 1.1), abs=1e-4)
