"""Play a batch of sequences on a robot and on its replica, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.collection.starts import Starts, conditions_of
from gapless.motions.balance import Balance, on_its_feet
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import Trajectory, World

PAIRED = ("q", "dq", "torque", "base_pos", "base_quat_wxyz")
"""What is kept of the replica, as sim_..."""


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
class PairedBatch:
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
    def frames(self) -> int:
        """Samples of each sequence."""
        return self.targets.shape[1]

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Sequences that did not end well, what happened, and when; plain JSON values."""
        found = []
        for i, sequence in enumerate(self.sequences):
            for what, good in self._courses():
                if not good[i].all():
                    at = round(int(good[i].argmin()) / self.rate, 4)
                    found.append({"sequence": sequence.id, "what": what, "seconds": at})
                    break
        return found

    def _courses(self) -> list[tuple[str, np.ndarray]]:
        """What can happen to a sequence, and (n, T+1) whether it has not."""
        courses = [("robot diverged", self.real.valid), ("replica diverged", self.sim.valid)]
        if self.real.base_pos is not None:
            courses.append(("robot fell", on_its_feet(self.real)))
        return courses

    def recordings(self) -> Iterator[Recording]:
        """The sequences that ended well, one at a time."""
        whole = np.all([good.all(axis=1) for _, good in self._courses()], axis=0)
        for i in np.flatnonzero(whole):
            yield self._recording(int(i))

    def _recording(self, i: int) -> Recording:
        # Sample t is the state before target[t] acts; the state after the last target has none.
        real, sim = self.real[i, :-1].fields, self.sim[i, :-1].fields
        paired = {f"sim_{k}": sim[k] for k in PAIRED if k in sim}
        q, _ = real.pop("q"), real.pop("valid")
        sequence = self.sequences[i]
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


def starting(
    plan: CollectionPlan, targets: Mapping[str, np.ndarray], replica: MujocoWorld
) -> Starts | Balance:
    """Where motions start, or what keeps a free robot standing."""
    if replica.robot.mount != "free":
        return Starts(plan, replica)
    balance = Balance(replica.robot, replica.rate, plan.physics_step)
    balance.require(targets)
    return balance


def play(
    plan: CollectionPlan,
    batch: list[PlannedSequence],
    targets: Mapping[str, np.ndarray],
    target: World,
    replica: MujocoWorld,
    starts: Starts | Balance,
) -> PairedBatch:
    """Give a batch of one length to the robot and to its replica, from the same start.

    A free robot is kept on its feet, and its replica gets the commands that did so.

    Args:
        plan: what the links carry.
        batch: sequences of one unit, rate and length.
        targets: (T, J) of each motion.
        target: the robot that is recorded.
        replica: its nominal simulation.
        starts: where they start, or what keeps them standing.
    """
    given = np.stack([targets[sequence.motion] for sequence in batch])
    told = [conditions_of(plan, sequence, replica) for sequence in batch]
    if isinstance(starts, Balance):
        start = starts.start[np.zeros(len(batch), int)]
        real, given = starts.play(target, given, told)
    else:
        start = starts.of(batch, targets)
        real = target.rollout(start, given, history=given[:, :1], conditions=told)
    sim = replica.rollout(start, given, history=given[:, :1], conditions=told)
    facts = {
        "source": "simulation",
        "world": target.identity.key,
        "replica": replica.identity.key,
    }
    names = replica.robot.joints.names
    return PairedBatch(batch, told, given, real, sim, facts, replica.rate, names)
