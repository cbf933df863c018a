"""Play a batch of sequences on a robot and on its replica, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless.collect.plan import Plan, PlannedSequence
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.worlds.mujoco import MujocoWorld
from gapless.worlds.world import State, Trajectory, World

PAIRED = ("q", "dq", "torque", "base_pos", "base_quat_wxyz")
"""What is kept of the replica, as sim_..."""
SETTLE, DAMPED = 2.0, 10.0
"""Seconds that the replica holds a first target, and how much stronger it is damped meanwhile."""


def batches(
    sequences: list[PlannedSequence], targets: Mapping[str, np.ndarray], most: int
) -> list[list[PlannedSequence]]:
    """Sequences of one unit and one length, at most so many at once.

    Args:
        sequences: of one rate, in the order they are recorded.
        targets: of each motion, at that rate.
        most: sequences in a batch.
    """
    groups: dict[tuple[int, int], list[PlannedSequence]] = {}
    for sequence in sequences:
        key = sequence.unit, len(targets[sequence.motion])
        groups.setdefault(key, []).append(sequence)
    return [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]


@dataclass(frozen=True)
class Played:
    """A batch after it was simulated, both sides.

    Attributes:
        sequences: what was played.
        conditions: of each.
        targets: (n, T, J) what was commanded, rad.
        real: the robot's side.
        sim: the replica's side.
        facts: what is true of all of them, for the provenance.
        rate: samples per second.
        joints: names, in column order.
    """

    sequences: list[PlannedSequence]
    conditions: list[Conditions]
    targets: np.ndarray
    real: Trajectory
    sim: Trajectory
    facts: dict[str, Any]
    rate: float
    joints: tuple[str, ...]

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Sequences that diverged on either side, and when; plain JSON values."""
        found = []
        for i, sequence in enumerate(self.sequences):
            for side, played in (("robot", self.real), ("replica", self.sim)):
                if not played.valid[i].all():
                    at = round(int(played.valid[i].argmin()) / self.rate, 4)
                    found.append({"sequence": sequence.id, "diverged": side, "seconds": at})
                    break
        return found

    def recordings(self) -> Iterator[Recording]:
        """The sequences that did not diverge, one at a time."""
        whole = self.real.valid.all(axis=1) & self.sim.valid.all(axis=1)
        for i in np.flatnonzero(whole):
            yield self._recording(int(i))

    def _recording(self, i: int) -> Recording:
        # Sample t is the state before target[t] acts; the state after the last target has none.
        real = {k: v[i, :-1] for k, v in vars(self.real).items() if v is not None and k != "valid"}
        sim = {k: getattr(self.sim, k) for k in PAIRED}
        paired = {f"sim_{k}": v[i, :-1] for k, v in sim.items() if v is not None}
        q, sequence = real.pop("q"), self.sequences[i]
        own = {"sequence": sequence.id, "level": sequence.level}
        return Recording(
            name=sequence.motion,
            joints=self.joints,
            rate=self.rate,
            q=q,
            target=self.targets[i],
            mask=np.ones(q.shape, bool),
            channels=real | paired,
            conditions=self.conditions[i],
            provenance=self.facts | own,
        )


class Starts:
    """Where sequences start: at rest where the nominal robot holds the first target and the load.

    A robot is not let go at the commanded position: it has stood there, sagging, for a while. The
    place depends on the motion and the payload only, and is found once for each.

    Args:
        plan: what the links carry.
        replica: the nominal simulation.
    """

    def __init__(self, plan: Plan, replica: MujocoWorld) -> None:
        self._plan, self._replica = plan, replica
        self._known: dict[tuple[str, float], np.ndarray] = {}
        joints = replica.robot.joints
        self._gains = {
            name: (float(joints.kp[i]), DAMPED * float(joints.kd[i]))
            for i, name in enumerate(joints.names)
        }

    def of(self, batch: list[PlannedSequence], targets: Mapping[str, np.ndarray]) -> State:
        """The common start of robot and replica; a free robot starts as it is told to stand."""
        start = self._replica.home(len(batch))
        if start.base_pos is not None:
            return replace(start, q=np.stack([targets[s.motion][0] for s in batch]))
        new = {(s.motion, s.payload): s for s in batch if (s.motion, s.payload) not in self._known}
        if new:
            self._settle(list(new.values()), targets)
        return replace(start, q=np.stack([self._known[s.motion, s.payload] for s in batch]))

    def _settle(self, sequences: list[PlannedSequence], targets: Mapping[str, np.ndarray]) -> None:
        first = np.stack([targets[s.motion][0] for s in sequences])
        start = replace(self._replica.home(len(first)), q=first)
        held = np.repeat(first[:, None], round(SETTLE * self._replica.rate), axis=1)
        told = [_conditions(self._plan, s, self._replica) for s in sequences]
        told = [replace(conditions, gains=self._gains) for conditions in told]
        played = self._replica.rollout(start, held, conditions=told)
        rest = np.where(played.valid[:, -1:], played.q[:, -1], first)
        self._known |= {(s.motion, s.payload): q for s, q in zip(sequences, rest, strict=True)}


def play(
    plan: Plan,
    batch: list[PlannedSequence],
    targets: Mapping[str, np.ndarray],
    target: World,
    replica: MujocoWorld,
    starts: Starts,
) -> Played:
    """Give a batch of one length to the robot and to its replica, from the same start.

    Args:
        plan: what the links carry.
        batch: sequences of one unit, rate and length.
        targets: (T, J) of each motion.
        target: the robot that is recorded.
        replica: its nominal simulation.
        starts: where they start.
    """
    stacked = np.stack([targets[sequence.motion] for sequence in batch])
    conditions = [_conditions(plan, sequence, replica) for sequence in batch]
    start = starts.of(batch, targets)
    real = target.rollout(start, stacked, conditions=conditions)
    sim = replica.rollout(start, stacked, conditions=conditions)
    facts = {
        "source": "simulation",
        "world": target.identity.key,
        "replica": replica.identity.key,
    }
    names = replica.robot.joints.names
    return Played(batch, conditions, stacked, real, sim, facts, replica.rate, names)


def _conditions(plan: Plan, sequence: PlannedSequence, replica: MujocoWorld) -> Conditions:
    return Conditions(
        unit=str(sequence.unit),
        mount=replica.robot.mount,
        payloads=plan.loads(replica.robot, sequence.payload),
        extra={"repeat": sequence.repeat, "motor_temperature": sequence.temperature},
    )
