"""Feet that touch the floor with a few spheres in place of the shapes they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapless.robots.tree import Shape

if TYPE_CHECKING:
    import mujoco

FIGURES = (
    *("contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp"),
    *("margin", "gap", "group"),
)
"""Of a geom's contacts, and where it is shown: what a sphere takes over."""


@dataclass(frozen=True)
class SimpleFoot:
    """Spheres at the corners of a sole.

    Attributes:
        spheres: in the frame of the foot's link.
        like: for each sphere the shape, counted in `replaced`, that it has the figures of.
        replaced: link and number among its geoms of each shape that touches nothing any more.
    """

    spheres: tuple[Shape, ...]
    like: tuple[int, ...]
    replaced: tuple[tuple[str, int], ...]


def put_on_spheres(spec: mujoco.MjSpec, feet: tuple[SimpleFoot, ...]) -> None:
    """Let these spheres touch things in place of the shapes they stand for.

    The shapes stay: the mass of a link may come from them, and people look at them.
    """
    import mujoco

    for foot in feet:
        old = [spec.body(link).geoms[number] for link, number in foot.replaced]
        for shape, like in zip(foot.spheres, foot.like, strict=True):
            sphere = spec.body(shape.link).add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE)
            sphere.size, sphere.pos, sphere.mass = [*shape.size, 0.0, 0.0], shape.pos, 0.0
            for name in FIGURES:
                setattr(sphere, name, getattr(old[like], name))
        for geom in old:
            geom.contype = geom.conaffinity = 0
