"""Where sequences start, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State

SETTLE, DAMPED = 6.0, 3.0
"""Seconds that the replica holds a first target, and how much stronger it is damped meanwhile."""


class Starts:
    """Where sequences start: at rest where the nominal robot holds the first target and the load.

    A robot is not let go at the commanded position: it has stood there, sagging, for a while. The
    place depends on the motion and the payload only, and is found once for each.

    Args:
        plan: what the links carry.
        replica: the nominal simulation.
    """

    def __init__(self, plan: CollectionPlan, replica: MujocoWorld) -> None:
        self._plan, self._replica = plan, replica
        self._known: dict[tuple[str, float], np.ndarray] = {}
        joints = replica.robot.joints
        self._gains = {
            name: (float(joints.kp[i]), DAMPED * float(joints.kd[i]))
            for i, name in enumerate(joints.names)
        }

    def of(self, batch: list[PlannedSequence], targets: Mapping[str, np.ndarray]) -> State:
        """The common start of robot and replica."""
        start = self._replica.home(len(batch))
        new = {(s.motion, s.payload): s for s in batch if (s.motion, s.payload) not in self._known}
        if new:
            self._settle(list(new.values()), targets)
        return replace(start, q=np.stack([self._known[s.motion, s.payload] for s in batch]))

    def _settle(self, sequences: list[PlannedSequence], targets: Mapping[str, np.ndarray]) -> None:
        first = np.stack([targets[s.motion][0] for s in sequences])
        start = replace(self._replica.home(len(first)), q=first)
        held = np.repeat(first[:, None], round(SETTLE * self._replica.rate), axis=1)
        told = [conditions_of(self._plan, s, self._replica) for s in sequences]
        told = [replace(conditions, gains=self._gains) for conditions in told]
        played = self._replica.rollout(start, held, conditions=told)
        lost = [s.id for s, good in zip(sequences, played.valid[:, -1], strict=True) if not good]
        if lost:
            raise SimulationError(
                f"the nominal robot diverges while it holds the start of {lost[0]}; use a smaller "
                "--physics-step or a lighter payload"
            )
        for sequence, q in zip(sequences, played.q[:, -1], strict=True):
            self._known[sequence.motion, sequence.payload] = q


def conditions_of(
    plan: CollectionPlan, sequence: PlannedSequence, replica: MujocoWorld
) -> Conditions:
    """What is known of a sequence before it is played."""
    return Conditions(
        unit=str(sequence.unit),
        mount=replica.robot.mount,
        payloads=plan.loads(replica.robot, sequence.payload),
        extra={"repeat": sequence.repeat, "motor_temperature": sequence.temperature},
    )
