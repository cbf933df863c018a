"""A compiled model with another robot's figures: as compiling it anew, in a hundredth of the time.

Only figures may differ (gains, friction, armature, limits of torque, inertias, loads, the floor's
friction, softness, height and slope, soles), not what there is: joints, links, mount, locks, steps.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import ModelError
from gapless.robots.assemble import held_floor
from gapless.robots.build import FLOOR, floor_geoms, loaded_inertias, principal
from gapless.robots.inertia import Inertia

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

_STRUCTURE = ("root", "mount", "locked", "height", "self_collision", "simple_feet")


class Rewriter:
    """Writes the numbers of like robots into copies of one compiled model.

    Args:
        robot: the robot that was compiled.
        timestep: of the physics, s.
        options: fields of `mjOption` that differ from the robot's own.
    """

    def __init__(
        self, robot: Robot, timestep: float = 0.002, options: Mapping[str, int] | None = None
    ) -> None:
        import mujoco

        self._robot, self.timestep, self._options = robot, timestep, options or {}
        self._bare = replace(robot, inertias={}, payloads={})
        self.compiled = self._compile(robot)
        self._data = mujoco.MjData(self.compiled)
        joints = [self.compiled.joint(name).id for name in robot.joints.names]
        self._dof = self.compiled.jnt_dofadr[joints]

    def model(self, robot: Robot) -> mujoco.MjModel:
        """The model of a robot that differs from the compiled one in figures only."""
        import mujoco

        self._check(robot)
        if self._needs_compiling(robot):
            return self._compile(robot)
        model = copy.copy(self.compiled)
        self._write_joints(model, robot)
        for link, inertia in self._inertias(robot).items():
            _write_inertia(model, model.body(link).id, inertia)
        if robot.meets_floor:
            self._write_floor(model, robot)
        mujoco.mj_setConst(model, self._data)
        model.stat.meaninertia = self._mean_inertia(model)
        return model

    def _compile(self, robot: Robot) -> mujoco.MjModel:
        model = robot.model(timestep=self.timestep)
        for name, value in self._options.items():
            setattr(model.opt, name, value)
        return model

    def _write_floor(self, model: mujoco.MjModel, robot: Robot) -> None:
        floor = [model.geom(name).id for name in floor_geoms(robot.floor)]
        model.geom_friction[floor, 0] = robot.floor.friction
        model.geom_solref[floor, 0] = robot.floor.softness
        if robot.floor.shape != self._robot.floor.shape:
            plane = model.geom(FLOOR).id
            model.geom_pos[plane], model.geom_quat[plane] = held_floor(self.compiled, robot)
            # The compiler notes where a geom's frame is its body's own; it no longer is.
            model.geom_sameframe[plane] = 0

    def _mean_inertia(self, model: mujoco.MjModel) -> float:
        """What the solver's tolerance is relative to; mj_setConst leaves it as it was.

        Summed one by one, as the compiler does: the last bit is the same.
        """
        import mujoco

        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, self._data, inertia)
        return float(np.cumsum(inertia.diagonal())[-1] / model.nv)

    def _check(self, robot: Robot) -> None:
        same = robot.body is self._robot.body and robot.joints.names == self._robot.joints.names
        differing = [k for k in _STRUCTURE if getattr(robot, k) != getattr(self._robot, k)]
        if _built(robot) != _built(self._robot):
            differing.append("the shape of the floor")
        if not same or differing:
            what = ", ".join(differing) or "the tree or the joints"
            raise ModelError(
                f"{robot.name} differs from the compiled {self._robot.name} in {what}; "
                "only figures can be rewritten, compile it with robot.model()"
            )

    def _needs_compiling(self, robot: Robot) -> bool:
        """What the compiler proved of a link may no longer hold: a diagonal mass matrix, and
        the boxes around several shapes, which are placed relative to its centre of mass. Where
        shapes, steps or a slope move, a free robot also stands at another height."""
        moved = robot.floor.shape != self._robot.floor.shape
        if robot.soles != self._robot.soles or (
            moved and (robot.mount == "free" or robot.floor.step_height)
        ):
            return True
        touched = [self.compiled.body(link).id for link in self._inertias(robot)]
        boxed = self.compiled.body_bvhnum[touched] > 1
        collides = robot.meets_floor or robot.self_collision
        return bool(self.compiled.body_simple[touched].any() or (collides and boxed.any()))

    def _inertias(self, robot: Robot) -> dict[str, Inertia]:
        """Every link whose inertia may differ from the compiled one, loads included."""
        if robot.inertias == self._robot.inertias and robot.payloads == self._robot.payloads:
            return {}
        reset = {*robot.inertias, *self._robot.inertias, *robot.payloads, *self._robot.payloads}
        own = {link: robot.inertias.get(link) or self._bare.inertia(link) for link in reset}
        return own | loaded_inertias(own, robot.payloads)

    def _write_joints(self, model: mujoco.MjModel, robot: Robot) -> None:
        joints, dof = robot.joints, self._dof
        model.dof_armature[dof] = joints.armature
        model.dof_frictionloss[dof] = joints.frictionloss
        damping = model.dof_damping
        if damping.ndim == 1:
            damping[dof] = joints.damping
        else:  # newer MuJoCo holds a polynomial
            damping[dof, 0] = joints.damping
        model.actuator_gainprm[:, 0] = joints.kp
        model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -joints.kp, -joints.kd
        limited = joints.actuated & (joints.effort > 0) & np.isfinite(joints.effort)
        model.actuator_forcelimited[:] = limited
        reach = np.where(limited, joints.effort, 0.0)
        model.actuator_forcerange[:] = np.stack([-reach, reach], axis=1)


def _built(robot: Robot) -> tuple[str, ...]:
    """The geoms of its floor."""
    return floor_geoms(robot.floor) if robot.meets_floor else ()


def _write_inertia(model: mujoco.MjModel, body: int, inertia: Inertia) -> None:
    model.body_mass[body], model.body_ipos[body] = inertia.mass, inertia.com
    model.body_inertia[body], model.body_iquat[body] = principal(inertia.tensor)
    # The compiler notes where the inertial frame is the body's own; it no longer is.
    model.body_sameframe[body] = 0
