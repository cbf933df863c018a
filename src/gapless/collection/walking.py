"""Record a batch of walks: a policy on a robot, and its commands replayed on the replica."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.collection.starts import conditions_of
from gapless.collection.walks import Walks
from gapless.evaluation.episode_recordings import BASE, LEAST, episode_recording
from gapless.evaluation.policy_episodes import Episodes, play, starts
from gapless.evaluation.scenario import Scenario
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.worlds.chance import generator
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State, Trajectory, World

IMU = {"base_quat_wxyz": "imu_quat_wxyz", "base_ang_vel_b": "imu_gyro"}
"""What an IMU says of the base, and what that is called where nothing else is known of it."""

PAIRED = ("q", "dq", "torque")
"""What is kept of the replica, as sim_...; its base only where the robot's is logged."""


@dataclass(frozen=True)
class WalkedBatch:
    """A batch after it was walked, both sides.

    Attributes:
        sequences: what was recorded.
        conditions: of each.
        episodes: what the robot did.
        sim: what the replica made of the same targets.
        facts: what is true of all of them, for the provenance.
        base: whether the base is logged.
        imu: whether an IMU is, where the base is not.
    """

    sequences: list[PlannedSequence]
    conditions: list[Conditions]
    episodes: Episodes
    sim: Trajectory
    facts: dict[str, Any]
    base: bool
    imu: bool

    @property
    def frames(self) -> int:
        """Samples of a sequence that did not fall."""
        return self.episodes.steps

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Sequences that fell too soon to say anything; plain JSON values."""
        rate = self.episodes.rate
        found = []
        for sequence, fell, broke in zip(
            self.sequences, self.episodes.fell, self.episodes.diverged, strict=True
        ):
            if fell <= LEAST * rate:
                what = "robot diverged" if broke else "robot fell"
                at = round(int(fell) / rate, 4)
                found.append({"sequence": sequence.id, "what": what, "seconds": at})
        return found

    def recordings(self) -> Iterator[Recording]:
        """What the sensors saw of each walk; one that fell is kept up to its fall."""
        for i, sequence in enumerate(self.sequences):
            channels = BASE if self.base else tuple(IMU) if self.imu else ()
            seen = episode_recording(self.episodes, i, self.conditions[i], channels=channels)
            if seen is None:
                continue
            named = (
                seen.channels if self.base else {IMU.get(k, k): v for k, v in seen.channels.items()}
            )
            own: dict[str, Any] = {"sequence": sequence.id, "level": sequence.level}
            if self.episodes.fell[i] <= self.episodes.steps:
                own["fell"] = round(int(self.episodes.fell[i]) / self.episodes.rate, 4)
            yield replace(
                seen,
                channels=named | self._replica(i, len(seen)),
                provenance=seen.provenance | self.facts | own,
            )

    def _replica(self, i: int, samples: int) -> dict[str, np.ndarray]:
        """What the replica did, up to where it diverged if it did; NaN afterwards."""
        kept = (*PAIRED, "base_pos", "base_quat_wxyz") if self.base else PAIRED
        fields, valid = self.sim[i, :samples].fields, self.sim.valid[i, :samples]
        return {
            f"sim_{k}": np.where(valid[:, None], fields[k], np.nan) for k in kept if k in fields
        }


def record_walks(
    plan: CollectionPlan,
    walks: Walks,
    batch: list[PlannedSequence],
    target: World,
    replica: MujocoWorld,
) -> WalkedBatch:
    """Let the policy walk a batch on the robot, and replay its targets on the replica.

    Args:
        plan: what the links carry, and what is logged.
        walks: of the plan.
        batch: sequences of one unit.
        target: the robot that is recorded.
        replica: its nominal simulation.
    """
    rows = {name: i for i, (name, _) in enumerate(walks.names)}
    scenario = walks.scenario([rows[sequence.motion] for sequence in batch])
    policy = walks.policy
    gains = scenario.conditions(policy.contract, walks.robot).gains
    told = [
        replace(conditions_of(plan, sequence, replica), gains=gains, policy=policy.name)
        for sequence in batch
    ]
    start = _starts(plan, walks, batch, target, scenario)
    episodes = play(policy, target, scenario, start=start, conditions=told)
    given = np.asarray(episodes.targets, float)
    sim = replica.rollout(start, given, history=given[:, :1], conditions=told)
    facts = {"world": target.identity.key, "replica": replica.identity.key}
    return WalkedBatch(batch, told, episodes, sim, facts, plan.base, plan.imu)


def _starts(
    plan: CollectionPlan,
    walks: Walks,
    batch: list[PlannedSequence],
    target: World,
    scenario: Scenario,
) -> State:
    """The policy's stance, each sequence a little off it: by its own chance, in any batch."""
    stance = starts(walks.policy, target, replace(scenario, start_noise=0.0))
    keys = [(s.motion, s.payload, s.unit, s.repeat) for s in batch]
    drawn = [generator(plan.seed, "start", *key).uniform(-1, 1, stance.q.shape[1]) for key in keys]
    joints = walks.robot.joints
    q = np.clip(stance.q + scenario.start_noise * np.stack(drawn), joints.lower, joints.upper)
    return replace(stance, q=q)
