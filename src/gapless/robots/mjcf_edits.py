"""Changes to a user's MuJoCo model: what is taken away, locked, freed or clamped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.errors import ModelError
from gapless.robots import build
from gapless.robots.rotations import conj, rotate
from gapless.robots.tree import locked_pose

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot


def reduce(
    spec: mujoco.MjSpec, top: str, notes: list[str] | None = None, keep_actuators: bool = False
) -> None:
    """Take away what a Robot brings itself: floor, other mechanisms, keys, sensors, actuators."""
    import mujoco

    notes = [] if notes is None else notes
    for body in [b for b in spec.worldbody.bodies if b.name != top]:
        if body.find_all(mujoco.mjtObj.mjOBJ_JOINT):
            notes.append(f"mechanism {body.name} is not part of the robot; it was removed")
            spec.delete(body)
    planes = [g for g in spec.worldbody.geoms if g.type == mujoco.mjtGeom.mjGEOM_PLANE]
    if planes or spec.sensors:
        notes.append("the model's own floor planes and sensors were removed")
    if spec.tendons or spec.equalities:
        notes.append("the model's tendons and equality constraints were kept")
    for element in [*planes, *spec.sensors, *spec.keys]:
        spec.delete(element)
    if not keep_actuators:
        for actuator in list(spec.actuators):
            spec.delete(actuator)
        for joint in [j for j in spec.body(top).joints if j.type == mujoco.mjtJoint.mjJNT_FREE]:
            spec.delete(joint)


def lock(spec: mujoco.MjSpec, angles: Mapping[str, float]) -> None:
    """Weld joints at these angles."""
    import mujoco

    if not angles:
        return
    # A copy: once compiled, MuJoCo 3.11 finds joints by name where they were before an edit.
    model = build.compile_spec(spec.copy())
    for name, angle in angles.items():
        joint, body = spec.joint(name), spec.joint(name).parent
        figures = model.joint(name)
        if len(body.joints) > 1 or joint.type != mujoco.mjtJoint.mjJNT_HINGE:
            raise ModelError(f"joint {name!r} cannot be locked: only a body's single hinge can be")
        turn = angle - float(figures.qpos0[0])
        quat = tuple(_orientation(spec, body))
        body.pos, body.quat = locked_pose(body.pos, quat, figures.pos, figures.axis, turn)
        clear_orientation(body)
        spec.delete(joint)


def _orientation(spec: mujoco.MjSpec, body: Any) -> np.ndarray:
    import mujoco

    if body.alt.type == mujoco.mjtOrientation.mjORIENTATION_QUAT:
        return np.array(body.quat)
    compiler = spec.compiler
    return np.array(
        spec.resolve_orientation(
            degree=compiler.degree, sequence=compiler.eulerseq, orientation=body.alt
        )
    )


def clear_orientation(body: Any) -> None:
    """Let the body's quaternion count, whatever angles the file gave."""
    import mujoco

    body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT


def set_free(top: Any) -> None:
    """Give the first body of the tree a free joint."""
    if top.joints:
        raise ModelError(
            f"base {top.name!r} is itself on joint {top.joints[0].name!r}, so it cannot be free; "
            "use mount='fixed'"
        )
    top.add_freejoint(name=build.FREE_JOINT)


def clamp(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Hold a link of a free robot by a stiff weld to the world, where it stands at home."""
    import mujoco

    from gapless.robots.assemble import home_pose

    pos, quat = home_pose(robot, robot.mount)
    weld = spec.add_equality(name="mount", type=mujoco.mjtEq.mjEQ_WELD)
    weld.objtype = mujoco.mjtObj.mjOBJ_BODY
    weld.name1, weld.name2 = robot.mount, "world"
    back = conj(np.array(quat))
    # Anchor, pose of the world in the link's frame, and weight of rotation against position.
    weld.data[:11] = [0, 0, 0, *-rotate(back, np.array(pos)), *back, 1]
    weld.solref[:], weld.solimp[:3] = [0.005, 1.0], [0.99, 0.999, 0.001]
