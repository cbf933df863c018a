"""`--to urdf`: the URDF that a robot came from, with what was identified written into it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from gapless.artifact import staged, write_bytes_atomic, write_text_atomic
from gapless.errors import ModelError
from gapless.exports.exported import Exported, listed
from gapless.exports.simulator_parts import SimulatorParts
from gapless.robots import Robot
from gapless.robots.build import link_inertia
from gapless.robots.inertia import Inertia
from gapless.robots.mjcf import Mjcf

if TYPE_CHECKING:
    from mujoco import MjModel

MODEL, README = "robot.urdf", "README.md"
NOTHING = 1e-9
"""A link that weighs less is a mere frame, kg."""
ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
ABOUT = """# {name}, calibrated

`robot.urdf` is the robot's own URDF with masses, centres of mass and inertias of its links, and
friction and limits of its joints, as they were identified. Its meshes lie beside it.

Not in this folder:

{lost}
"""


def export_urdf(parts: SimulatorParts, path: Path, overwrite: bool = False) -> Exported:
    """Write the folder.

    Raises:
        ModelError: the robot did not come from a URDF.
    """
    tree, body = _source(parts.robot)
    write_links(tree, parts.robot)
    write_joints(tree, parts.robot)
    lost = (*parts.left_out(), *_no_place(parts.robot))
    with staged(path, overwrite) as folder:
        for name, data in body.files.assets.items():
            write_bytes_atomic(folder / PurePosixPath(name), data)
        ElementTree.indent(tree)
        text = ElementTree.tostring(tree, encoding="unicode")
        write_text_atomic(folder / MODEL, f'<?xml version="1.0"?>\n{text}\n')
        about = ABOUT.format(name=parts.robot.name, lost=listed(lost))
        write_text_atomic(folder / README, about)
        files = tuple(sorted(str(p.relative_to(folder)) for p in folder.rglob("*.*")))
    return Exported(path, "urdf", files, lost)


def _source(robot: Robot) -> tuple[ElementTree.Element, Mjcf]:
    body = robot.body
    if isinstance(body, Mjcf):
        tree = ElementTree.fromstring(body.files.xml)
        if tree.tag == "robot":
            return tree, body
    raise ModelError(
        f"{robot.name!r} did not come from a URDF, so there is none to write into; export --to "
        "mjcf instead"
    )


def write_links(tree: ElementTree.Element, robot: Robot) -> None:
    """Mass, centre and inertia of every link, what it carries included, in the link's frame."""
    model = robot.model()
    for link in tree.findall("link"):
        name = link.get("name", "")
        found = _inertia(model, name)
        if found is None or found.mass < NOTHING:
            continue
        old = link.find("inertial")
        if old is not None:
            link.remove(old)
        inertial = ElementTree.Element("inertial")
        link.insert(0, inertial)
        ElementTree.SubElement(inertial, "origin", {"xyz": _text(found.com), "rpy": "0 0 0"})
        ElementTree.SubElement(inertial, "mass", {"value": _text([found.mass])})
        tensor = {key: _text([found.tensor[at]]) for key, at in ENTRIES.items()}
        ElementTree.SubElement(inertial, "inertia", tensor)


def _inertia(model: MjModel, link: str) -> Inertia | None:
    """Of a link; None of one that MuJoCo takes for the world."""
    names = {model.body(i).name for i in range(1, model.nbody)}
    return link_inertia(model, link) if link in names else None


def write_joints(tree: ElementTree.Element, robot: Robot) -> None:
    """Friction and limits of the joints that moved; those that were held stay as they are."""
    joints, known = robot.joints, robot.joints.names
    for joint in tree.findall("joint"):
        name = joint.get("name", "")
        if name not in known:
            continue
        i = joints.index(name)
        dry, viscous = joints.frictionloss[i], joints.damping[i]
        _child(joint, "dynamics", {"damping": viscous, "friction": dry})
        bounds = {"effort": joints.effort[i], "velocity": joints.velocity[i]}
        bounds |= {"lower": joints.lower[i], "upper": joints.upper[i]}
        _child(joint, "limit", {k: v for k, v in bounds.items() if np.isfinite(v)})


def _child(joint: ElementTree.Element, tag: str, values: dict[str, float]) -> None:
    element = joint.find(tag)
    if element is None:
        element = ElementTree.SubElement(joint, tag)
    for key, value in values.items():
        element.set(key, _text([value]))


def _no_place(robot: Robot) -> tuple[str, ...]:
    lost = ["gains: URDF has no place for kp and kd; --to json lists them"]
    if robot.joints.armature.any():
        lost.append("armature: URDF has no place for the inertia of rotors; --to json lists it")
    if robot.meets_floor:
        lost.append("the floor: URDF describes a robot alone")
    return tuple(lost)


def _text(values: object) -> str:
    return " ".join(repr(float(v)) for v in np.atleast_1d(np.asarray(values, float)))
