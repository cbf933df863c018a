"""What a robot looks like: one triangle mesh for each link, in the link's own frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import MissingExtraError
from gapless.reports import plain_meshes
from gapless.reports.plain_meshes import PlainMesh
from gapless.robots.tree import Tree

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

CONTACT_GROUP = 3
"""Geoms of this group and above are for contact only, by MuJoCo's custom."""
HEAVY = 0.07
"""Share of a robot's mass above which a link with several limbs is its trunk."""
DENSITY = 1200.0
"""kg/m³; gives a bone its thickness."""


def link_meshes(robot: Robot) -> dict[str, PlainMesh]:
    """The looks of every link that has any.

    Meshes and shapes of the user's own model are drawn as they are. A link that the model gives
    none, and the built-in robots, whose shapes are for contact only, get bones between their
    joints, and the trunk a block of its inertia.
    """
    try:
        import trimesh  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("trimesh", "report", "drawing a robot") from error
    model = robot.model()
    dressed = any(_is_visual_mesh(model, g) for g in range(model.ngeom))
    found = {}
    for name in robot.links:
        body = model.body(name).id
        parts = [_geom(model, g) for g in _shown(model, body, dressed)]
        if not dressed and (isinstance(robot.body, Tree) or not parts):
            parts += _figure(model, body, parts)
        if parts:
            found[name] = plain_meshes.joined(parts)
    return found


def _is_visual_mesh(model: mujoco.MjModel, geom: int) -> bool:
    import mujoco

    mesh = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH
    return bool(mesh and model.geom_group[geom] < CONTACT_GROUP)


def _shown(model: mujoco.MjModel, body: int, dressed: bool) -> list[int]:
    """Geoms to draw: meshes where there are any, else shapes; contact groups if nothing else."""
    first = model.body_geomadr[body]
    geoms = [g for g in range(first, first + model.body_geomnum[body]) if _drawable(model, g)]
    meshes = [g for g in geoms if _is_visual_mesh(model, g)]
    visual = [g for g in geoms if model.geom_group[g] < CONTACT_GROUP]
    return meshes or visual or ([] if dressed else geoms)


def _drawable(model: mujoco.MjModel, geom: int) -> bool:
    import mujoco

    kind = mujoco.mjtGeom
    endless = (kind.mjGEOM_PLANE, kind.mjGEOM_HFIELD, kind.mjGEOM_SDF)
    return model.geom_type[geom] not in endless and model.geom_rgba[geom, 3] > 0


def _geom(model: mujoco.MjModel, geom: int) -> PlainMesh:
    """One geom in its link's frame."""
    import mujoco

    kind, size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
    make = {
        mujoco.mjtGeom.mjGEOM_SPHERE: lambda: plain_meshes.ellipsoid(size[[0, 0, 0]]),
        mujoco.mjtGeom.mjGEOM_ELLIPSOID: lambda: plain_meshes.ellipsoid(size),
        mujoco.mjtGeom.mjGEOM_CAPSULE: lambda: plain_meshes.capsule(size[0], size[1]),
        mujoco.mjtGeom.mjGEOM_CYLINDER: lambda: plain_meshes.cylinder(size[0], size[1]),
        mujoco.mjtGeom.mjGEOM_BOX: lambda: plain_meshes.box(size),
        mujoco.mjtGeom.mjGEOM_MESH: lambda: _mesh(model, model.geom_dataid[geom]),
    }
    return make[kind]().placed(model.geom_pos[geom], model.geom_quat[geom])


def _mesh(model: mujoco.MjModel, mesh: int) -> PlainMesh:
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    face, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    return plain_meshes.surface(
        model.mesh_vert[first : first + count], model.mesh_face[face : face + faces]
    )


def _figure(model: mujoco.MjModel, body: int, parts: list[PlainMesh]) -> list[PlainMesh]:
    """Bones to child links that no shape reaches; a block for the trunk, or where nothing else."""
    thin = 0.02 * reach(model)
    children = [model.body_pos[c] for c in np.flatnonzero(model.body_parentid == body)]
    ends = [e for e in children if np.linalg.norm(e) > thin and not _covers(parts, e, thin)]
    share = model.body_mass[body] / max(len(ends), 1)
    found = [plain_meshes.bone(_thickness(share, end, thin), np.zeros(3), end) for end in ends]
    heavy = model.body_mass[body] > HEAVY * model.body_mass.sum()
    if heavy and len(children) > 1:
        return [*found, *_block(model, body), *_necks(model, body, 1.5 * thin)]
    return found or ([] if parts else _block(model, body))


def _covers(parts: list[PlainMesh], end: np.ndarray, margin: float) -> bool:
    """Whether shapes reach from the link's origin to a point."""
    if not parts:
        return False
    vertices = np.concatenate([part.vertices for part in parts])
    low, high = vertices.min(axis=0) - margin, vertices.max(axis=0) + margin
    return bool((low <= np.minimum(end, 0)).all() and (np.maximum(end, 0) <= high).all())


def _necks(model: mujoco.MjModel, body: int, thickness: float) -> list[PlainMesh]:
    """Bones from a link's centre to its shapes, so that a head does not float."""
    first, centre = model.body_geomadr[body], model.body_ipos[body]
    ends = model.geom_pos[first : first + model.body_geomnum[body]]
    far = [end for end in ends if np.linalg.norm(end - centre) > 2 * thickness]
    return [plain_meshes.bone(thickness, centre, end) for end in far]


def reach(model: mujoco.MjModel) -> float:
    """Length of the longest chain of links, m."""
    far = np.zeros(model.nbody)
    for body in range(1, model.nbody):
        parent = model.body_parentid[body]
        far[body] = far[parent] + (np.linalg.norm(model.body_pos[body]) if parent else 0.0)
    return float(far.max()) or 1.0


def _thickness(mass: float, end: np.ndarray, least: float) -> float:
    length = float(np.linalg.norm(end))
    return float(np.clip(np.sqrt(mass / (DENSITY * np.pi * length)), least, 3 * least))


def _block(model: mujoco.MjModel, body: int) -> list[PlainMesh]:
    """A block with the link's mass and moments."""
    mass, moments = model.body_mass[body], model.body_inertia[body]
    if mass <= 0:
        return []
    squares = 6 * (moments.sum() - 2 * moments) / mass
    half = 0.5 * np.sqrt(np.maximum(squares, 0.0))
    half = np.maximum(half, 0.1 * half.max())
    if half.max() <= 0:
        return []
    return [plain_meshes.block(half).placed(model.body_ipos[body], model.body_iquat[body])]
