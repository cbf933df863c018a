"""Record what a world does, as if it were a robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.worlds.world import State, World


def record(
    world: World,
    targets: np.ndarray,
    name: str,
    *,
    start: State,
    conditions: Conditions | None = None,
) -> Recording:
    """Play (T, J) targets in one environment of a world and keep q, dq and the base as a Recording.

    Args:
        world: the robot that is recorded.
        targets: absolute joint positions at the world's rate, rad.
        name: the motion.
        start: one state.
        conditions: payload, unit, gains; the world's own by default.
    """
    conditions = conditions or Conditions(payloads=dict(world.robot.payloads))
    played = world.rollout(start, targets[None], conditions=[conditions])
    if not played.valid.all():
        at = int(played.valid[0].argmin()) / world.rate
        raise SimulationError(
            f"the world diverged {at:.2f} s into {name!r}; "
            "use a smaller physics_step, more armature, or a gentler motion"
        )
    # Sample t is the state before target[t] acts; the state after the last target has none.
    arrays = played[0, :-1].fields
    q, _ = arrays.pop("q"), arrays.pop("valid")
    return Recording(
        name=name,
        joints=world.robot.joints.names,
        rate=world.rate,
        q=q,
        target=np.array(targets),
        mask=np.ones(q.shape, bool),
        channels=arrays,
        conditions=replace(conditions, mount=world.robot.mount),
        provenance={"source": "simulation", "world": world.identity.key},
    )
