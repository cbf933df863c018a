"""A kinematic tree as plain figures: links, hinges and collision shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gapless.errors import unknown
from gapless.robots.rotations import about, conj, mul, rotate

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Hinge:
    """A hinge that moves its link; axis and position are in the link's frame."""

    name: str
    axis: Vector
    pos: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Link:
    """A rigid body; `hinge` None is a weld to the parent, parent "" is the root.

    Attributes:
        name: the link.
        parent: name of the parent link.
        pos: position of the link's frame in its parent's frame, metres, at joint zero.
        quat: orientation of the link's frame in its parent's frame, wxyz, at joint zero.
        mass: kilograms.
        com: centre of mass in the link's frame, metres.
        inertia: about the centre of mass, link axes: xx yy zz xy xz yz, kg·m².
        hinge: the joint between parent and link.
    """

    name: str
    parent: str
    pos: Vector
    quat: Vector
    mass: float
    com: Vector
    inertia: Vector
    hinge: Hinge | None = None


@dataclass(frozen=True)
class Shape:
    """A collision primitive on a link; sizes are half lengths, as in MuJoCo."""

    link: str
    kind: str
    size: Vector
    pos: Vector
    quat: Vector = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Tree:
    """Links, parents before children, and their collision shapes."""

    links: tuple[Link, ...]
    shapes: tuple[Shape, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all links."""
        return tuple(link.name for link in self.links)

    @property
    def identity(self) -> Any:
        """All figures, as plain data for a fingerprint."""
        return asdict(self)

    def link(self, name: str) -> Link:
        """One link by name."""
        if name not in self.names:
            raise unknown("link", name, self.names)
        return self.links[self.names.index(name)]

    def locked(self, angles: Mapping[str, float]) -> Tree:
        """The tree with these joints welded at these angles."""
        links = [
            weld(link, angles[link.hinge.name])
            if link.hinge and link.hinge.name in angles
            else link
            for link in self.links
        ]
        return replace(self, links=tuple(links))

    def rerooted(self, root: str) -> Tree:
        """The same mechanism grown from another link, every frame and joint sign unchanged."""
        old = {link.name: link for link in self.links}
        new = {**old, root: replace(self.link(root), parent="", hinge=None)}
        child = old[root]
        while child.parent:
            new[child.parent] = hang(old[child.parent], child)
            child = old[child.parent]
        return replace(self, links=_parents_first(new))

    def placed(self, pos: Vector, quat: Vector) -> Tree:
        """The tree with its root at this pose in the world."""
        head = replace(self.links[0], pos=pos, quat=quat)
        return replace(self, links=(head, *self.links[1:]))


def locked_pose(
    pos: Vector, quat: Vector, hinge_pos: Vector, axis: Vector, angle: float
) -> tuple[Vector, Vector]:
    """Pose of a link in its parent once its hinge is frozen at an angle."""
    anchor, turn = np.asarray(hinge_pos, float), about(np.asarray(axis, float), angle)
    shift = rotate(np.asarray(quat), anchor - rotate(turn, anchor))
    return _vector(np.asarray(pos) + shift), _vector(mul(np.asarray(quat), turn))


def weld(link: Link, angle: float) -> Link:
    """A link with its hinge frozen at an angle."""
    if link.hinge is None:
        return link
    pos, quat = locked_pose(link.pos, link.quat, link.hinge.pos, link.hinge.axis, angle)
    return replace(link, pos=pos, quat=quat, hinge=None)


def hang(parent: Link, child: Link) -> Link:
    """The old parent as a child of its old child, by the same hinge turned round."""
    quat = np.asarray(child.quat)
    back = conj(quat)
    hinge = child.hinge and Hinge(
        child.hinge.name,
        axis=_vector(-rotate(quat, np.asarray(child.hinge.axis))),
        pos=_vector(np.asarray(child.pos) + rotate(quat, np.asarray(child.hinge.pos))),
    )
    pos = _vector(-rotate(back, np.asarray(child.pos)))
    return replace(parent, parent=child.name, pos=pos, quat=_vector(back), hinge=hinge)


def _parents_first(links: Mapping[str, Link]) -> tuple[Link, ...]:
    order = [link for link in links.values() if not link.parent]
    for link in order:
        order += [other for other in links.values() if other.parent == link.name]
    return tuple(order)


def _vector(array: np.ndarray) -> Vector:
    return tuple(float(x) for x in array)
