"""What the nominal robot does when it is commanded a motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import SimulationError
from gapless.robots import Robot

FINEST = 250.0
"""The response is looked at this often, Hz, or more: a step peaks between control steps."""
SETTLING = 1.0
"""The first command is held this long beforehand, s, so that the robot's own weight is carried."""


@dataclass(frozen=True)
class Response:
    """The simulated robot under held commands, samples 1/rate apart.

    Attributes:
        rate: samples per second, a multiple of the commands' rate.
        dq: (N, J) velocities, rad/s.
        torque: (N, J) what the PD law asks for, before the motor's limit cuts it, N·m.
    """

    rate: float
    dq: np.ndarray
    torque: np.ndarray


def respond(robot: Robot, targets: np.ndarray, rate: float) -> Response:
    """Play (T, J) targets in the nominal world, from rest at the first of them.

    A free robot hangs by its root here: what its legs carry when it stands is not in the torques.
    """
    from gapless.worlds import MujocoWorld

    repeats, before = int(np.ceil(FINEST / rate)), int(np.ceil(SETTLING * rate))
    held = np.repeat(np.pad(targets, ((before, 0), (0, 0)), mode="edge"), repeats, axis=0)
    world = MujocoWorld(_held(robot), rate * repeats)
    played = world.rollout(replace(world.home(), q=targets[:1]), held[None])
    if not played.valid.all():
        at = max(0.0, int(played.valid[0].argmin()) / world.rate - before / rate)
        raise SimulationError(
            f"{robot.name} diverges {at:.2f} s into this motion; use a gentler motion, or give the "
            "joints more armature"
        )
    q, dq = played.q[0, :-1], played.dq[0, :-1]
    torque = robot.joints.kp * (held - q) - robot.joints.kd * dq
    first = before * repeats
    return Response(world.rate, dq[first:], torque[first:])


def _held(robot: Robot) -> Robot:
    # Collisions are found on their own; here they would only hide what the motors do.
    robot = replace(robot, self_collision=False)
    return robot.with_mount("fixed") if robot.mount == "free" else robot
