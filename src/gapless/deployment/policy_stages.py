"""Stages of policies: which of them walks, which follows a motion, and from where each begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.deployment.operated_pilot import WalkingVelocity
from gapless.deployment.pilot import Asked, PolicyPilot
from gapless.deployment.transitions import HoldPilot, PilotStage, StagedPilot
from gapless.errors import DataError

if TYPE_CHECKING:
    from gapless.policies import Policy
    from gapless.robots import Robot

SLOWLY, QUICKLY = 1.5, 0.3
"""s of blend: into a pose, and between policies, which must not be half themselves for long."""
WALK: dict[str, Any] = {"distance": 1.5, "speed": 10.0, "tilt": 0.6}
TRACK: dict[str, Any] = {"distance": 1.0, "speed": 3.0, "tilt": 0.3}
"""What a robot must be like to be handed to a walker, and to a tracker; see `PilotStage`."""


def stages_of(
    policies: Sequence[Policy],
    robot: Robot,
    joints: Sequence[str],
    damping: np.ndarray,
    beginning: dict[str, float] | None = None,
) -> tuple[StagedPilot, WalkingVelocity]:
    """A pilot with the stages that policies make possible, and what its walker is asked.

    Args:
        policies: at most one walker and one tracker.
        robot: whose zero and stance are held.
        joints: in the order of the link.
        damping: (J,) gains of damping, N·m·s/rad.
        beginning: joint -> rad, the first frame of the tracker's motion; where it has none of its
            own to show, its stance.
    """
    walker, tracker = _told_apart(policies)
    velocity = _velocity(walker)
    pilots = {p.name: PolicyPilot(p, robot, joints, _asked(p, velocity)) for p in policies}
    known = walker or tracker
    assert known is not None
    stance = pilots[known.name].first()
    kp, kd = stance.kp, stance.kd
    stages = {
        "zero": PilotStage(HoldPilot(_zero(robot, joints), kp, kd), SLOWLY),
        "stand": PilotStage(HoldPilot(stance.q, kp, kd), SLOWLY, tilt=WALK["tilt"]),
    }
    if walker is not None:
        stages["locomotion"] = PilotStage(pilots[walker.name], QUICKLY, **WALK)
    if tracker is not None:
        pilot = pilots[tracker.name]
        pilot.begin_at(beginning or {})
        then = "stand" if walker is None else "locomotion"
        seconds = tracker.contract.motion_seconds or _frames(tracker)
        near = PilotStage(pilot, QUICKLY, **TRACK)
        stages["tracking"] = replace(near, seconds=seconds, then=then)
    return StagedPilot(stages, damping, known.contract.rate), velocity


def _told_apart(policies: Sequence[Policy]) -> tuple[Policy | None, Policy | None]:
    """The walker and the tracker."""
    trackers = [p for p in policies if p.contract.tracks]
    walkers = [p for p in policies if not p.contract.tracks]
    if not policies or len(walkers) > 1 or len(trackers) > 1:
        said = ", ".join(p.name for p in policies) or "none"
        raise DataError(
            f"one policy that walks, one that follows a motion, or one of each is deployed; these "
            f"are {len(walkers)} that walk and {len(trackers)} that follow: {said}"
        )
    rates = {p.contract.rate for p in policies}
    if len(rates) > 1:
        raise DataError(f"policies of one run have one rate; these have {sorted(rates)}")
    return next(iter(walkers), None), next(iter(trackers), None)


def _velocity(walker: Policy | None) -> WalkingVelocity:
    if walker is None or not walker.contract.commands:
        return WalkingVelocity((), ())
    command = next(iter(walker.contract.commands.values()))
    return WalkingVelocity(command.lower, command.upper)


def _asked(policy: Policy, velocity: WalkingVelocity) -> Callable[[], Asked] | None:
    """A walker reads the velocity that operators ask for; other commands rest in their middle."""
    commands = policy.contract.commands
    if policy.contract.tracks or not commands:
        return None
    name = next(iter(commands))
    middle = {k: (np.add(c.lower, c.upper) / 2).tolist() for k, c in commands.items()}

    def asked() -> Asked:
        return {**middle, name: velocity.value.tolist()}

    return asked


def _zero(robot: Robot, joints: Sequence[str]) -> np.ndarray:
    """Zero, or the end of a range that does not hold it."""
    own = robot.joints.select(joints)
    return np.clip(np.zeros(len(joints)), own.lower, own.upper)


def _frames(tracker: Policy) -> float | None:
    reference = tracker.reference
    return None if reference is None else len(reference.frames.joint_pos) / tracker.contract.rate
