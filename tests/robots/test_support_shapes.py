"""What of a robot can touch the floor, against MuJoCo's own contacts."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.robots.rotations import conj, normalise, rotate
from gapless.robots.support_shapes import floor_shapes

MESH = '<mesh name="wedge" vertex="0 0 0  .1 0 0  0 .2 0  0 0 .1  .03 .04 .02"/>'
SHAPES = {
    "sphere": 'type="sphere" size=".05"',
    "capsule": 'type="capsule" size=".03 .1"',
    "box": 'type="box" size=".05 .1 .02"',
    "cylinder": 'type="cylinder" size=".04 .07"',
    "ellipsoid": 'type="ellipsoid" size=".05 .1 .02"',
    "mesh": 'type="mesh" mesh="wedge"',
}


def model_of(geoms: str, more: str = "") -> mujoco.MjModel:
    """A free body, welded to which another carries these geoms, above a floor."""
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><asset>{MESH}</asset><worldbody>
      <geom name="floor" type="plane" size="0 0 1" contype="1" conaffinity="0"/>
      <body name="carrier" pos="0 0 1"><freejoint name="odd"/><inertial pos="0 0 0" mass="1"
        diaginertia="1 1 1"/>
        <body name="welded" pos=".1 .2 .3" quat=".9 .1 -.3 .2">{geoms}</body>
      </body></worldbody>{more}</mujoco>""")


@pytest.mark.parametrize("kind", SHAPES)
def test_the_lowest_point_is_where_mujoco_finds_it(kind: str) -> None:
    """The reach of every shape, at any pose, is the distance at which MuJoCo sees the floor."""
    geom = f'<geom {SHAPES[kind]} pos=".02 -.03 .05" euler="20 -50 70" margin="5" contype="0"/>'
    model = model_of(geom)
    (shape,) = floor_shapes(model)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    assert shape.link == "carrier"
    for _ in range(30):
        quat = normalise(rng.standard_normal(4))
        data.qpos[:] = [0.3, -0.2, 1.0, *quat]
        mujoco.mj_forward(model, data)
        down = rotate(conj(quat), np.array([0.0, 0.0, -1.0]))
        bottom = 1.0 - shape.reach(down)
        assert bottom == pytest.approx(data.contact.dist.min(), abs=1e-6)
        assert bottom == pytest.approx(1.0 + rotate(quat, shape.farthest(down))[2], abs=1e-9)


def test_upright_cylinders_and_flat_directions_are_exact() -> None:
    """Along its axis a cylinder's disc has no depth; many directions are answered at once."""
    model = model_of('<geom type="cylinder" size=".04 .07" contype="0"/>')
    (shape,) = floor_shapes(model)
    axis = shape.points[1] - shape.points[0]
    axis /= np.linalg.norm(axis)
    ends = shape.farthest(np.stack([axis, -axis]))
    np.testing.assert_allclose(ends[0] - ends[1], 0.14 * axis, atol=1e-9)


def test_what_does_not_collide_does_not_touch() -> None:
    """Pictures, geoms of another kind, planes and excluded bodies."""
    geoms = '<geom type="sphere" size=".1" contype="0" conaffinity="{}"/>'
    assert not floor_shapes(model_of(geoms.format(0)))
    assert not floor_shapes(model_of(geoms.format(2)))
    assert len(floor_shapes(model_of(geoms.format(3)))) == 1
    excluded = '<contact><exclude body1="world" body2="welded"/></contact>'
    assert not floor_shapes(model_of(geoms.format(1), excluded))
