"""`--to mjlab`: a Python package that registers tasks of the calibrated robot."""

from __future__ import annotations

import io
import re
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import mujoco
import numpy as np

from gapless.artifact import staged, write_bytes_atomic, write_json, write_text_atomic
from gapless.errors import DataError, ModelError
from gapless.exports.exact_xml import exact_xml
from gapless.exports.exported import Exported, listed
from gapless.exports.frozen_files import expressible, standalone, write_frozen
from gapless.exports.mjlab_figures import mjlab_figures, not_drawn
from gapless.exports.simulator_parts import NATIVE_TO_TARGETS, SimulatorParts
from gapless.motions import read_motions
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics
from gapless.robots.build import FLOOR, STEP, compile_spec
from gapless.robots.joints import TrackingPoint

FILES = ("calibrated_tasks.py", "calibrated_action.py", "frozen_correction.py")
ABOUT = """# {robot} for mjlab

    pip install -e .
    train {task}-{first} --env.scene.num-envs 4096

registers with mjlab (written against 1.6):

{tasks}

`{package}/figures.json` holds every figure, `robot.xml` the calibrated model. Targets reach each
joint its own delay late (to a fraction of a physics step), corrected by the network that was
learned where there is one; environments differ within the 95 % intervals of what was identified
(in play they do not). One step of the environment is {decimation} physics steps of {timestep:g} s.

Not in this package:

{lost}
"""
PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{package}"
version = "0.1.0"
dependencies = ["mjlab>=1.6,<1.7", "safetensors>=0.4.3"]

[project.entry-points."mjlab.tasks"]
{package} = "{package}"
"""


def export_mjlab(
    parts: SimulatorParts, path: Path, motion: Path | str | None = None, overwrite: bool = False
) -> Exported:
    """Write the package.

    Args:
        parts: of the simulator.
        path: folder to write; its name becomes the package's.
        motion: file of the motion to track; only of a robot that is free.
        overwrite: replace an earlier export.
    """
    _refuse_clamped(parts.robot)
    reference = None if motion is None else _motion(parts, Path(motion))
    package, lost = _package_name(path), _lost(parts)
    figures = mjlab_figures(parts, parts.world.model, package, reference is not None)
    with staged(path, overwrite) as folder:
        inner = folder / package
        for name in FILES:
            write_text_atomic(inner / name, standalone(name))
        register = f"from {package}.calibrated_tasks import register\n\nregister()\n"
        write_text_atomic(
            inner / "__init__.py", f'"""{parts.robot.name}, calibrated, for mjlab."""\n\n{register}'
        )
        write_json(inner / "figures.json", figures)
        _write_model(parts.robot, parts.world.timestep, inner)
        if parts.correction is not None and expressible(parts.correction):
            write_frozen(parts.correction, inner)
        if reference is not None:
            write_bytes_atomic(inner / "motion.npz", reference)
        write_text_atomic(folder / "README.md", _readme(figures, package, lost))
        write_text_atomic(folder / "pyproject.toml", PROJECT.format(package=package))
        files = tuple(sorted(str(p.relative_to(folder)) for p in folder.rglob("*.*")))
    return Exported(path, "mjlab", files, lost)


def _refuse_clamped(robot: Robot) -> None:
    if robot.mount not in ("free", "fixed") and hasattr(robot.body, "files"):
        raise ModelError(
            f"{robot.name!r} is clamped at {robot.mount!r} by a weld, which mjlab's entities do "
            "not keep; close the gap with mount 'fixed' or 'free', or export --to mjcf"
        )


def _package_name(path: Path) -> str:
    """A name that Python can import."""
    name = re.sub(r"\W+", "_", path.name).strip("_").lower()
    return name if name.isidentifier() else f"robot_{name}"


def _lost(parts: SimulatorParts) -> tuple[str, ...]:
    lost = list(parts.left_out(NATIVE_TO_TARGETS, learned=expressible(parts.correction)))
    floor = parts.robot.floor
    if parts.robot.mount == "free" and (floor.slope or floor.step_height):
        lost.append("slope and steps of the floor: mjlab's plane is level")
    if parts.correction is not None and "payload" in parts.correction.contract.signals:
        lost.append("loads that change: the correction is told one (CalibratedActionCfg.payload)")
    return (*lost, *not_drawn(parts.estimates))


def _readme(figures: dict, package: str, lost: tuple[str, ...]) -> str:
    task, tracks = figures["task"], figures["motion"]
    tasks = [f"- `{task}-Targets`: actions are joint targets, rad; nothing is rewarded"]
    if tracks:
        tasks.append(f"- `{task}-Tracking`: mjlab's tracking task of `{package}/motion.npz`")
    first = "Tracking" if tracks else "Targets"
    told = {k: figures[k] for k in ("robot", "task", "decimation", "timestep")}
    return ABOUT.format(
        **told, package=package, first=first, tasks="\n".join(tasks), lost=listed(lost)
    )


def _write_model(robot: Robot, timestep: float, folder: Path) -> None:
    """The XML as an entity of mjlab: no actuators, keys, options or floor of its own."""
    spec = robot.spec()
    spec.option.timestep = timestep
    for element in [*spec.actuators, *spec.keys]:
        spec.delete(element)
    if robot.mount == "free":
        for geom in [g for g in spec.worldbody.geoms if g.name in (FLOOR,) or STEP in g.name]:
            spec.delete(geom)
        _add_imu(spec, robot.root)
    root = exact_xml(spec, compile_spec(spec))
    for option in root.findall("option"):
        root.remove(option)
    files = getattr(robot.body, "files", None)
    for asset, data in ({} if files is None else files.assets).items():
        write_bytes_atomic(folder / PurePosixPath(asset), data)
    ElementTree.indent(root)
    write_text_atomic(folder / "robot.xml", ElementTree.tostring(root, encoding="unicode") + "\n")


def _add_imu(spec: mujoco.MjSpec, root: str) -> None:
    """The sensors that mjlab's tracking task reads."""
    spec.body(root).add_site(name="imu")
    kinds = {
        "imu_ang_vel": mujoco.mjtSensor.mjSENS_GYRO,
        "imu_lin_vel": mujoco.mjtSensor.mjSENS_VELOCIMETER,
    }
    for name, kind in kinds.items():
        site = mujoco.mjtObj.mjOBJ_SITE
        spec.add_sensor(name=name, type=kind, objtype=site, objname="imu")


def _motion(parts: SimulatorParts, file: Path) -> bytes:
    """A motion as mjlab reads it: joints and all links, in the order of the model."""
    robot = parts.robot
    if robot.mount != "free":
        raise DataError(
            f"{robot.name!r} is mounted {robot.mount!r}; mjlab's tracking task needs a robot that "
            "is free. Leave --motion out"
        )
    found = read_motions(file, robot)
    model = parts.world.model
    links = [model.body(i).name for i in range(1, model.nbody)]
    points = [TrackingPoint(link, link) for link in links]
    kinematics = BodyKinematics(robot, points)
    frames = MotionFrames.of(found[0], robot, parts.world.rate, kinematics)
    bodies, buffer = frames.bodies, io.BytesIO()
    hinges = [model.joint(j).name for j in range(model.njnt)]
    order = [robot.joints.index(joint) for joint in hinges if joint in robot.joints.names]
    np.savez_compressed(
        buffer,
        fps=np.array([frames.rate]),
        joint_pos=frames.state.q[:, order],
        joint_vel=frames.state.dq[:, order],
        body_pos_w=bodies.pos,
        body_quat_w=bodies.quat_wxyz,
        body_lin_vel_w=bodies.lin_vel,
        body_ang_vel_w=bodies.ang_vel,
    )
    return buffer.getvalue()
