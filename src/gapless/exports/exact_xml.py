"""MuJoCo writes XML with six digits; here every figure gets all of them back.

A simulation that starts from rounded masses is another one after a second. What the compiled
model holds is written in place of each number that it rounds to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

if TYPE_CHECKING:
    import mujoco

Element = ElementTree.Element
ROUNDED = 6e-6
"""Largest relative difference between a number and its six digits."""

OF_BODY = {"pos": "body_pos", "quat": "body_quat"}
OF_INERTIAL = {
    "pos": "body_ipos",
    "quat": "body_iquat",
    "mass": "body_mass",
    "diaginertia": "body_inertia",
}
OF_JOINT = {
    "pos": "jnt_pos",
    "axis": "jnt_axis",
    "range": "jnt_range",
    "stiffness": "jnt_stiffness",
    "solreflimit": "jnt_solref",
    "solimplimit": "jnt_solimp",
    "margin": "jnt_margin",
    "ref": "qpos0",
}
OF_DOF = {
    "armature": "dof_armature",
    "damping": "dof_damping",
    "frictionloss": "dof_frictionloss",
    "solreffriction": "dof_solref",
    "solimpfriction": "dof_solimp",
}
OF_GEOM = {
    "pos": "geom_pos",
    "quat": "geom_quat",
    "size": "geom_size",
    "friction": "geom_friction",
    "solref": "geom_solref",
    "solimp": "geom_solimp",
    "margin": "geom_margin",
}
OF_SITE = {"pos": "site_pos", "quat": "site_quat", "size": "site_size"}
OF_ACTUATOR = {
    "gainprm": "actuator_gainprm",
    "biasprm": "actuator_biasprm",
    "forcerange": "actuator_forcerange",
    "ctrlrange": "actuator_ctrlrange",
}
OF_KEY = {"qpos": "key_qpos", "ctrl": "key_ctrl"}
OF_EQUALITY = {"solref": "eq_solref", "solimp": "eq_solimp"}


def exact_xml(spec: mujoco.MjSpec, model: mujoco.MjModel) -> Element:
    """The XML of a spec, every figure as the model that was compiled of it has it."""
    root = ElementTree.fromstring(spec.to_xml())
    for option in root.iter("option"):
        option.set("timestep", _text(model.opt.timestep))
    world = next(root.iter("worldbody"))
    for number, body in enumerate([world, *world.iter("body")]):
        _write_body(body, number, model)
    for tag, fields in (("actuator", OF_ACTUATOR), ("equality", OF_EQUALITY)):
        for number, element in enumerate(_children(root, tag)):
            _write(element, fields, model, number)
    for number, key in enumerate(_children(root, "keyframe")):
        _write(key, OF_KEY, model, number)
    return root


def _children(root: Element, tag: str) -> Iterator[Element]:
    for part in root.findall(tag):
        yield from part


def _write_body(body: Element, number: int, model: mujoco.MjModel) -> None:
    """Bodies of a file are numbered depth first, as in the model; what is in them, in order."""
    if number:
        _write(body, OF_BODY, model, number)
        for inertial in body.findall("inertial"):
            _write(inertial, OF_INERTIAL, model, number)
    joints = [e for e in body if e.tag in ("joint", "freejoint")]
    for k, joint in enumerate(joints, int(model.body_jntadr[number])):
        _write(joint, OF_JOINT, model, k)
        _write(joint, OF_DOF, model, int(model.jnt_dofadr[k]))
    for k, geom in enumerate(body.findall("geom"), int(model.body_geomadr[number])):
        _write(geom, OF_GEOM, model, k)
    sites = [i for i in range(model.nsite) if model.site_bodyid[i] == number]
    for k, site in zip(sites, body.findall("site"), strict=True):
        _write(site, OF_SITE, model, k)


def _write(element: Element, fields: dict[str, str], model: mujoco.MjModel, number: int) -> None:
    """Replace what agrees to six digits; anything else means something else and stays."""
    for attribute, field in fields.items():
        text = element.get(attribute)
        if text is None:
            continue
        rounded = np.array(text.split(), float)
        exact = np.atleast_1d(getattr(model, field)[number])[: len(rounded)]
        if len(exact) == len(rounded) and np.allclose(exact, rounded, rtol=ROUNDED, atol=1e-12):
            element.set(attribute, " ".join(map(_text, exact)))


def _text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")
