"""One dataset of a collection that is to be made: whole, or what one unit adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gapless import artifact
from gapless.collection.pairing import PairedBatch, batches, play, starting
from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.collection.plan_worlds import replica_world, target_world
from gapless.collection.repertoire import Repertoire, repertoire
from gapless.collection.walking import WalkedBatch, record_walks
from gapless.collection.walks import Walks, choose_walks
from gapless.recordings.store.parts import PartsWriter


def chosen_by(plan: CollectionPlan) -> Repertoire | Walks:
    """What a plan plays: motions, or walks of its policy."""
    return repertoire(plan) if plan.policy is None else choose_walks(plan)


def figures_of(chosen: Repertoire | Walks) -> dict[str, str]:
    """What files decide: hashes of the robot and of the motions."""
    return {"robot_figures": chosen.robot.fingerprint(), "motion_samples": chosen.fingerprint()}


@dataclass(frozen=True, eq=False)
class CollectionJob:
    """A dataset that is to be made.

    Attributes:
        plan: it is of.
        chosen: what the plan plays.
        split: fit or held_out.
        rate: control steps per second.
        path: its folder.
        unit: whose sequences alone are made; None makes those of all.
    """

    plan: CollectionPlan
    chosen: Repertoire | Walks
    split: str
    rate: int
    path: Path
    unit: int | None = None

    @cached_property
    def sequences(self) -> list[PlannedSequence]:
        """What is recorded, in order."""
        planned = self.plan.sequences(self.split, self.rate, self.chosen.names)
        return [s for s in planned if self.unit in (None, s.unit)]

    @cached_property
    def targets(self) -> dict[str, np.ndarray]:
        """(T, J) of each motion."""
        return self.chosen.targets(self.rate)

    @cached_property
    def groups(self) -> list[list[PlannedSequence]]:
        """Batches of one unit and one length each; units one after the other."""
        return batches(self.sequences, self.targets, self.plan.batch)

    @cached_property
    def key(self) -> dict[str, Any]:
        """All that decides the content."""
        own = {} if self.unit is None else {"unit": self.unit}
        return self.plan.to_dict() | {
            "dataset": f"{self.split}/{self.rate}hz",
            "software": artifact.provenance(),
            **figures_of(self.chosen),
            **own,
        }

    def writer(self) -> PartsWriter:
        """Writes it, or goes on with it."""
        robot = self.chosen.robot
        facts: dict[str, Any] = {"source": "simulation", "split": self.split}
        facts |= {"plan": self.plan.key, "locked": list(robot.locked)}
        if robot.source:
            facts["robot_file"] = robot.source
        return PartsWriter(self.path, robot.name, robot.joints.names, self.rate, self.key, facts)

    def simulated(self, first: int) -> Iterator[PairedBatch | WalkedBatch]:
        """Play batch after batch from one on; a unit's world is built when its first comes."""
        plan, chosen, target, unit = self.plan, self.chosen, None, None
        replica = replica_world(plan, chosen.robot, self.rate)
        starts = None if isinstance(chosen, Walks) else starting(plan, self.targets, replica)
        for batch in self.groups[first:]:
            if target is None or batch[0].unit != unit:
                unit = batch[0].unit
                target = target_world(plan, chosen.robot, unit, self.rate)
            if isinstance(chosen, Walks):
                yield record_walks(plan, chosen, batch, target, replica)
            elif starts is not None:
                yield play(plan, batch, self.targets, target, replica, starts)
