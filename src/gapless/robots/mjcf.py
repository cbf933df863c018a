"""A user's own MuJoCo model as a Robot."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gapless.errors import ModelError, unknown
from gapless.robots import build
from gapless.robots.drives import Gains, NeedsOptionsError, read_joints
from gapless.robots.joints import Alias, Joints, TrackingPoint
from gapless.robots.missing_files import drop_missing
from gapless.robots.mjcf_edits import clamp, clear_orientation, lock, reduce, set_free
from gapless.robots.xmlfiles import Files, collect

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

Unactuated = Literal["refuse", "lock", "passive"]


@dataclass(frozen=True)
class Mjcf:
    """The text of a model and its files; `top` is the body that hangs in the world.

    Attributes:
        files: everything the model was read from.
        names: names of its links.
        top: the first body of the robot's tree.
        floats: whether the file gives it a free base.
    """

    files: Files = field(repr=False)
    names: tuple[str, ...]
    top: str
    floats: bool

    @property
    def identity(self) -> Any:
        """Hashes of all files, as plain data for a fingerprint."""
        blobs = {"": self.files.xml.encode(), **self.files.includes, **self.files.assets}
        return {name: hashlib.sha256(blob).hexdigest() for name, blob in blobs.items()}

    def spec(self, robot: Robot) -> mujoco.MjSpec:
        """The model without its own actuators, with the robot's mount and locks."""
        spec = parse(self.files, robot.name)
        reduce(spec, self.top)
        lock(spec, robot.locked)
        top = spec.body(self.top)
        if self.floats or robot.mount != "fixed":
            top.pos, top.quat = [0.0, 0.0, robot.standing_height], [1.0, 0.0, 0.0, 0.0]
            clear_orientation(top)
        if robot.mount != "fixed":
            set_free(top)
        if robot.mount not in ("free", "fixed"):
            clamp(spec, robot)
        return spec


def read_mjcf(
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
    **fields: Any,
) -> dict[str, Any]:
    """The fields of a Robot from a MuJoCo XML file.

    Args:
        path: the XML file; its meshes must lie in its folder, and are done without where they
            do not exist, which the notes say.
        name: the robot's name; None is the file's.
        mount: "free", "fixed" or a link; None is as the file has it.
        unactuated: what to do with joints that no actuator drives.
        gains: joint or pattern -> (kp, kd); needed for torque motors, and replaces others.
        aliases: a log's name -> the joint, or an Alias where sign or zero differ.
        root: the base link; needed where the file holds several mechanisms.
        default: joint -> angle of the standing pose; None is the file's first keyframe.
        folder: a wider folder that the model's files may lie in.
        fields: any other field of Robot, such as rate, link_groups or end_effectors.
    """
    files = collect(path, folder)
    return read_files(
        files, name or path.stem, mount, unactuated, gains, aliases, root, default, fields
    )


def read_files(
    files: Files,
    name: str,
    mount: str | None,
    unactuated: Unactuated,
    gains: Gains | None,
    aliases: Mapping[str, Alias | str] | None,
    root: str | None,
    default: Mapping[str, float] | None,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """The fields of a Robot from a model already in memory."""
    notes: list[str] = []
    spec = parse(files, name, notes)
    top, pose = find_top(build.compile_spec(spec), root), {}
    if default is None and spec.keys:
        pose = _key_pose(build.compile_spec(spec))
        notes.append("the default pose is the model's first keyframe")
    reduce(spec, top, notes, keep_actuators=True)
    model = build.compile_spec(spec)
    kept = {model.joint(j).name for j in range(model.njnt)}
    pose = {joint: angle for joint, angle in pose.items() if joint in kept}
    joints = read_joints(model, gains, {**pose, **(default or {})}, notes)
    loose = _check_unactuated(joints, unactuated)
    links = tuple(model.body(i).name for i in range(1, model.nbody))
    floats = bool(model.njnt and model.jnt_type[0] == 0)
    collides = bool(((model.geom_contype | model.geom_conaffinity) > 0).any())
    values = {
        "name": name,
        "body": Mjcf(files, links, top, floats),
        "joints": joints,
        "root": root or top,
        "mount": mount or ("free" if floats else "fixed"),
        "height": None if floats and collides else float(model.body(top).pos[2]),
        "aliases": _aliases(aliases or {}, joints),
        "tracking": tuple(TrackingPoint(link, link) for link in links),
        "notes": tuple(notes),
        **fields,
    }
    return _with_locks(values, loose if unactuated == "lock" else [])


def _aliases(aliases: Mapping[str, Alias | str], joints: Joints) -> dict[str, Alias]:
    found = {k: a if isinstance(a, Alias) else Alias(a) for k, a in aliases.items()}
    for alias in found.values():
        joints.index(alias.joint)  # raises with the nearest right name
    return found


def _with_locks(values: dict[str, Any], loose: list[str]) -> dict[str, Any]:
    joints: Joints = values["joints"]
    angles = {j: float(joints.default[joints.index(j)]) for j in loose}
    kept = [j for j in joints.names if j not in angles]
    if values["mount"] not in ("free", "fixed", *values["body"].names):
        raise unknown("mount", values["mount"], ("free", "fixed", *values["body"].names))
    return {**values, "joints": joints.select(kept), "locked": angles}


def parse(files: Files, name: str, notes: list[str] | None = None) -> mujoco.MjSpec:
    """Read a model from memory, without what is missing, and name what it leaves nameless."""
    import mujoco

    try:
        spec = mujoco.MjSpec.from_string(
            files.xml, include=files.includes or None, assets=files.assets or None
        )
    except ValueError as error:
        raise ModelError(f"model {name!r} cannot be read: {error}") from error
    spec.modelname = name
    for i, body in enumerate(spec.bodies):
        body.name = body.name or f"link_{i}"
        for k, joint in enumerate(body.joints):
            joint.name = joint.name or f"{body.name}_joint" + (f"_{k}" if k else "")
    found = drop_missing(spec, files.missing)
    if notes is not None:
        notes += found
    return spec


def find_top(model: mujoco.MjModel, root: str | None) -> str:
    """The body under the world that carries the robot."""
    links = [model.body(i).name for i in range(1, model.nbody)]
    if root is not None:
        if root not in links:
            raise unknown("root link", root, links)
        return model.body(model.body_rootid[model.body(root).id]).name
    moving = [model.jnt_bodyid[j] for j in range(model.njnt) if model.jnt_type[j] != 0]
    tops = sorted({model.body(model.body_rootid[body]).name for body in moving})
    if not tops:
        raise ModelError("the model has no joints that could be driven")
    if len(tops) > 1:
        raise ModelError(f"the model holds {len(tops)} mechanisms; pass root= one of {tops}")
    return tops[0]


def _key_pose(model: mujoco.MjModel) -> dict[str, float]:
    joints = [j for j in range(model.njnt) if model.jnt_type[j] in (2, 3)]
    key = model.key_qpos[0]
    return {model.joint(j).name: float(key[model.jnt_qposadr[j]]) for j in joints}


def _check_unactuated(joints: Joints, unactuated: Unactuated) -> list[str]:
    loose = [j for j, on in zip(joints.names, joints.actuated, strict=True) if not on]
    if unactuated not in ("refuse", "lock", "passive"):
        raise unknown("choice for unactuated", unactuated, ("refuse", "lock", "passive"))
    if loose and unactuated == "refuse":
        raise NeedsOptionsError(
            f"no actuator drives {', '.join(loose)}. Pass gains= to drive them, unactuated='lock' "
            "to weld them at their default, or unactuated='passive' to let them swing"
        )
    return loose
