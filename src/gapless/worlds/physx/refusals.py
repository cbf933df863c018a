"""What a MuJoCo model may hold that PhysX, as it is used here, cannot represent."""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from gapless.errors import ModelError

KNOWN_JOINTS = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def refuse_unknown(model: mujoco.MjModel) -> None:
    """Refuse a model by the names of all it holds that would be lost."""
    found = [*_constraints(model), *_joints(model), *_forces(model), *_contacts(model)]
    if found:
        raise ModelError(
            f"PhysX cannot represent {'; '.join(found)}. "
            "Take them out of the model, or use MujocoWorld"
        )


def _constraints(model: mujoco.MjModel) -> Iterator[str]:
    for i in range(model.neq):
        yield f"equality constraint {model.equality(i).name or i!r}"
    for i in range(model.ntendon):
        yield f"tendon {model.tendon(i).name or i!r}"
    if model.nflex:
        yield "deformable bodies (flex)"


def _joints(model: mujoco.MjModel) -> Iterator[str]:
    for j in range(model.njnt):
        kind, name = mujoco.mjtJoint(model.jnt_type[j]), model.joint(j).name
        body = model.jnt_bodyid[j]
        if kind == mujoco.mjtJoint.mjJNT_FREE and (j or model.body_parentid[body]):
            yield f"joint {name!r}, free but not the root's"
        elif kind not in (*KNOWN_JOINTS, mujoco.mjtJoint.mjJNT_FREE):
            yield f"joint {name!r} of type {kind.name}"
        elif model.body_jntnum[body] > 1 and model.body_jntadr[body] == j:
            yield f"{model.body_jntnum[body]} joints on one body, {model.body(body).name!r}"


def _forces(model: mujoco.MjModel) -> Iterator[str]:
    for j in np.flatnonzero(np.any(np.atleast_2d(model.jnt_stiffness.T), axis=0)):
        yield f"a spring on joint {model.joint(j).name!r}"
    for body in np.flatnonzero(model.body_gravcomp):
        yield f"gravity compensation of body {model.body(body).name!r}"
    if model.opt.density or model.opt.viscosity:
        yield "a surrounding fluid (density, viscosity)"


def _contacts(model: mujoco.MjModel) -> Iterator[str]:
    if model.npair:
        yield f"{model.npair} contact pairs with figures of their own"
