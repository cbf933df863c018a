"""Meshes, height fields and textures that a model names and nobody has: what is left without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from gapless.errors import ModelError

if TYPE_CHECKING:
    import mujoco

DROPPABLE = ("mesh", "hfield", "texture")
"""Elements that a model can do without."""
MARK = "files that do not exist: "
"""How every note about them begins."""


def drop_missing(spec: mujoco.MjSpec, missing: Iterable[tuple[str, str]]) -> list[str]:
    """Take what needs a missing file out of a model, and say what that costs.

    Args:
        spec: read, not yet compiled.
        missing: element and file, as the model writes them.

    Raises:
        ModelError: links have no mass without them.
    """
    gone = {tag: {file for t, file in missing if t == tag} for tag in DROPPABLE}
    if not any(gone.values()):
        return []
    meshes = [m for m in spec.meshes if m.file in gone["mesh"]]
    fields = [h for h in spec.hfields if h.file in gone["hfield"]]
    names = {m.name or PurePosixPath(m.file).stem for m in meshes}, {h.name for h in fields}
    shapes = [g for g in spec.geoms if g.meshname in names[0] or g.hfieldname in names[1]]
    touching = sorted({g.parent.name for g in shapes if g.contype or g.conaffinity})
    notes = losses([file for tag in DROPPABLE for file in sorted(gone[tag])], touching)
    weighed = _lost_masses(spec, shapes)
    _delete_shapes(spec, shapes)
    _clear_textures(spec, gone["texture"])
    for element in (*meshes, *fields):
        spec.delete(element)
    return notes + _check_masses(weighed)


def missing_notes(notes: Iterable[str]) -> list[str]:
    """Those of a robot's notes that are about missing files."""
    return [note for note in notes if note.startswith(MARK)]


def losses(files: Sequence[str], touching: Sequence[str]) -> list[str]:
    """What is said of missing files.

    Args:
        files: all of them.
        touching: links that lose shapes which could touch something.
    """
    if not files:
        return []
    text = f"{MARK}{', '.join(files)}; the model does without what they show"
    if not touching:
        return [text]
    lost = (
        f"{MARK}CONTACT SHAPES ARE LOST with them on {', '.join(touching)}: nothing of the kind "
        "touches the floor there any more. Put the files back, or add primitive shapes (box, "
        "capsule, cylinder) where these links touch"
    )
    return [text, lost]


def _delete_shapes(spec: mujoco.MjSpec, shapes: Sequence[Any]) -> None:
    named = {g.name for g in shapes if g.name}
    for pair in [p for p in spec.pairs if {p.geomname1, p.geomname2} & named]:
        spec.delete(pair)
    for shape in shapes:
        spec.delete(shape)


def _clear_textures(spec: mujoco.MjSpec, files: set[str]) -> None:
    lost = [t for t in spec.textures if {t.file, *t.cubefiles} & files]
    names = {t.name or PurePosixPath(t.file).stem for t in lost}
    for material in spec.materials:
        material.textures = ["" if name in names else name for name in material.textures]
    for texture in lost:
        spec.delete(texture)


def _lost_masses(spec: mujoco.MjSpec, shapes: Sequence[Any]) -> dict[str, Any]:
    """Bodies whose mass comes from shapes of which some are lost."""
    import mujoco

    always = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    owners = [g.parent for g in shapes if _weighs(g)]
    return {b.name: b for b in owners if b.name != "world" and (always or not b.explicitinertial)}


def _weighs(shape: Any) -> bool:
    return shape.mass > 0 if shape.mass == shape.mass else shape.density > 0  # NaN: by density


def _check_masses(bodies: dict[str, Any]) -> list[str]:
    """Refuse links that weigh nothing any more; say which weigh less."""
    empty = sorted(name for name, body in bodies.items() if not any(map(_weighs, body.geoms)))
    if empty:
        raise ModelError(
            f"the masses of {', '.join(empty)} come from meshes that do not exist. Put the files "
            "back, or give these links their mass in the model: "
            '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>'
        )
    if not bodies:
        return []
    return [
        f"{MARK}THE MASSES of {', '.join(sorted(bodies))} came from them in part; what is left are "
        "their other shapes' own. Put the files back, or write <inertial> into these links"
    ]
