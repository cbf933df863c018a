"""A user's URDF as a Robot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np

from gapless.errors import FormatError, ModelError
from gapless.robots.drives import Gains, NeedsOptionsError
from gapless.robots.joints import Alias, Joints
from gapless.robots.missing_files import losses
from gapless.robots.mjcf import Unactuated, read_files
from gapless.robots.xmlfiles import Files, inside, parse, read_file

Meshes = Literal["load", "drop"]


def read_urdf(
    path: Path,
    *,
    name: str | None = None,
    mount: str | None = None,
    unactuated: Unactuated = "refuse",
    gains: Gains | None = None,
    aliases: Mapping[str, Alias | str] | None = None,
    root: str | None = None,
    default: Mapping[str, float] | None = None,
    folder: Path | None = None,
    meshes: Meshes = "load",
    **fields: Any,
) -> dict[str, Any]:
    """The fields of a Robot from a URDF file.

    A URDF has limits but no gains: pass `gains`, for example {"*": (100, 2)}.

    Args:
        meshes: "drop" leaves out shapes made of meshes; "load" only those whose files do not
            exist, which the notes say.
        path, name, mount, unactuated, gains, aliases, root, default, folder, fields: as for
            `gapless.robots.mjcf.read_mjcf`.
    """
    if not path.is_file():
        raise ModelError(f"there is no model at {path}")
    tree = parse(path)
    if tree.tag != "robot":
        raise FormatError(f"{path} is not URDF: its first element is <{tree.tag}>, not <robot>")
    if gains is None and unactuated == "refuse":
        raise NeedsOptionsError(
            f"{path} is URDF, which holds no gains. Pass gains={{'*': (kp, kd)}}"
        )
    assets, notes = _take_meshes(tree, path.parent, folder or path.parent, meshes)
    _keep_links(tree)
    files = Files(ElementTree.tostring(tree, encoding="unicode"), assets=assets)
    name = name or tree.get("name") or path.stem
    values = read_files(files, name, mount, unactuated, gains, aliases, root, default, fields)
    notes = (*notes, *values["notes"])
    return {**values, "joints": _with_limits(values["joints"], tree), "notes": notes}


def _take_meshes(
    tree: ElementTree.Element, base: Path, folder: Path, meshes: Meshes
) -> tuple[dict[str, bytes], list[str]]:
    """Read the meshes and rename them by number; drop shapes whose mesh is missing or unwanted.

    Returns:
        Meshes by their new names, and notes about those that do not exist.
    """
    assets: dict[str, bytes] = {}
    missing: dict[str, None] = {}
    touching: dict[str, None] = {}
    for link in tree.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            source = None if meshes == "drop" else _mesh_path(name, base, folder)
            if source is None:
                link.remove(shape)
            if meshes == "load" and source is None:
                missing[name] = None
                touching |= {link.get("name", ""): None} if shape.tag == "collision" else {}
            if source is not None:
                key = f"mesh_{len(assets)}{source.suffix.lower()}"
                assets[key] = read_file(source)
                mesh.set("filename", key)
    return assets, losses(list(missing), list(touching))


def _mesh_path(filename: str, base: Path, folder: Path) -> Path | None:
    name = filename.removeprefix("file://")
    if name.startswith("package://"):
        # The package is the model's own; its name is the first part, which may be a folder here.
        inner = name.removeprefix("package://").partition("/")[2]
        places = [folder, base, base.parent]
        name = next((str(p / inner) for p in places if (p / inner).is_file()), inner)
    source = inside(folder, name, base)
    if not source.is_file():
        return None
    if source.suffix.lower() not in (".stl", ".obj", ".msh"):
        raise ModelError(f"mesh {filename!r} is not STL, OBJ or MSH; pass meshes='drop'")
    return source


def _keep_links(tree: ElementTree.Element) -> None:
    """Ask MuJoCo to keep every link by name, and to read meshes by the names given here."""
    for extension in tree.findall("mujoco"):
        tree.remove(extension)
    extension = ElementTree.SubElement(tree, "mujoco")
    options = {"fusestatic": "false", "discardvisual": "true", "strippath": "true"}
    ElementTree.SubElement(extension, "compiler", {**options, "balanceinertia": "false"})


def _with_limits(joints: Joints, tree: ElementTree.Element) -> Joints:
    """Effort and speed limits as the URDF states them."""
    limits = {j.get("name", ""): j.find("limit") for j in tree.findall("joint")}
    arrays = {"effort": joints.effort.copy(), "velocity": joints.velocity.copy()}
    for i, name in enumerate(joints.names):
        limit = limits.get(name)
        for key, array in arrays.items():
            value = None if limit is None else limit.get(key)
            if value is not None and joints.actuated[i]:
                array[i] = _number(value, f"{key} of joint {name!r}") or np.inf
    return joints.with_values(**arrays)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ModelError(f"{what} is {text!r} in the URDF; it must be a number") from None
