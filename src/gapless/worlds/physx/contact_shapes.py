"""The shapes that can touch something, each with the link that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gapless.errors import ModelError
from gapless.robots.build import HOME, STEP
from gapless.robots.rotations import conj, mul, rotate

Geom = mujoco.mjtGeom
KNOWN = (Geom.mjGEOM_PLANE, Geom.mjGEOM_SPHERE, Geom.mjGEOM_CAPSULE, Geom.mjGEOM_BOX)
HULLS = (Geom.mjGEOM_MESH, Geom.mjGEOM_CYLINDER, Geom.mjGEOM_ELLIPSOID)
RIM_POINTS = 48
"""Corners of the polygon that stands for a cylinder's rim."""
MOST_PAIRS = 32
"""Bits of PhysX's filter."""


@dataclass(frozen=True)
class ContactShape:
    """A collision shape in the frame of its link.

    Attributes:
        kind: MuJoCo's type of geom.
        size: as MuJoCo has it: radius, half lengths.
        pos: position of its centre.
        quat: orientation, wxyz.
        groups: contype and conaffinity, of the same meaning in PhysX, and one bit for each pair of
            links that ignore each other.
        points: (p, 3) points whose convex hull it is; None for a primitive.
    """

    kind: Geom
    size: np.ndarray
    pos: np.ndarray
    quat: np.ndarray
    groups: tuple[int, int, int]
    points: np.ndarray | None


def colliding_solids(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, list[ContactShape]]:
    """Solids by the body that carries them; geoms that can never touch anything are left out."""
    found: dict[int, list[ContactShape]] = {}
    ignored = _ignored_pairs(model)
    for geom in np.flatnonzero(_has_partner(model)):
        body = int(model.body_weldid[model.geom_bodyid[geom]])
        found.setdefault(body, []).append(_solid(model, data, int(geom), body, ignored))
    return found


def _has_partner(model: mujoco.MjModel) -> np.ndarray:
    kinds, affinities = model.geom_contype, model.geom_conaffinity
    links = model.body_weldid[model.geom_bodyid]
    meet = (kinds[:, None] & affinities[None]) != 0
    return ((meet | meet.T) & (links[:, None] != links[None])).any(axis=1)


def _ignored_pairs(model: mujoco.MjModel) -> list[set[int]]:
    """Links the model excludes, and links that overlap at home: PhysX would burst them apart."""
    links = [int(link) for link in model.body_weldid]
    pairs = [{links[word >> 16], links[word & 0xFFFF]} for word in model.exclude_signature]
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(HOME).id)
    mujoco.mj_forward(model, data)
    floor = np.array([_is_floor(model, geom) for geom in range(model.ngeom)], bool)
    geoms = data.contact.geom.reshape(-1, 2)
    for pair in model.body_weldid[model.geom_bodyid[geoms[~floor[geoms].any(axis=1)]]].tolist():
        if set(pair) not in pairs:
            pairs.append(set(pair))
    if len(pairs) > MOST_PAIRS:
        raise ModelError(
            f"{len(pairs)} pairs of links overlap at home or are excluded; PhysX can leave out "
            f"{MOST_PAIRS}. Use self_collision=False"
        )
    return pairs


def _is_floor(model: mujoco.MjModel, geom: int) -> bool:
    """Whether it is the plane or a step of the floor, which no link ignores."""
    resting, name = model.geom_bodyid[geom] == 0, model.geom(geom).name
    plane = model.geom_type[geom] == Geom.mjGEOM_PLANE
    return bool(plane or (resting and name.startswith(STEP)))


def _solid(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, body: int, ignored: list[set[int]]
) -> ContactShape:
    kind = Geom(model.geom_type[geom])
    if kind not in KNOWN + HULLS or (kind == Geom.mjGEOM_PLANE and body):
        name = model.geom(geom).name or geom
        raise ModelError(
            f"geom {name!r} on body {model.body(body).name!r} is a {kind.name}, which PhysX cannot "
            "represent there; turn its collisions off or give it another shape"
        )
    bits = sum(1 << bit for bit, pair in enumerate(ignored) if body in pair)
    turn, back = np.empty(4), conj(data.xquat[body])
    mujoco.mju_mat2Quat(turn, data.geom_xmat[geom])
    return ContactShape(
        kind=kind,
        size=model.geom_size[geom].copy(),
        pos=rotate(back, data.geom_xpos[geom] - data.xpos[body]),
        quat=mul(back, turn),
        groups=(
            int(model.geom_contype[geom]),
            int(model.geom_conaffinity[geom]),
            0 if _is_floor(model, geom) else bits,
        ),
        points=_hull_points(model, geom, kind) if kind in HULLS else None,
    )


def _hull_points(model: mujoco.MjModel, geom: int, kind: Geom) -> np.ndarray:
    if kind == Geom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return model.mesh_vert[first : first + model.mesh_vertnum[mesh]].copy()
    size = model.geom_size[geom]
    around = np.linspace(0, 2 * np.pi, RIM_POINTS, endpoint=False)
    circle = np.stack([np.cos(around), np.sin(around), 0 * around], axis=1)
    if kind == Geom.mjGEOM_CYLINDER:
        rim, top = circle * size[0], np.array([0.0, 0.0, size[1]])
        return np.concatenate([rim + top, rim - top])
    heights = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 17))[:, None, None]
    rings = np.sqrt(1 - heights**2) * circle + heights * np.array([0.0, 0.0, 1.0])
    return rings.reshape(-1, 3) * size
