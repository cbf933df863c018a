"""The contracts of trackers: what ASAP's and BeyondMimic's see, for any robot and motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError, unknown
from gapless.evaluation.policy_check import FAR, far_gains
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.policy_contract import Action, Block, PolicyContract, Ports, Term
from gapless.policies.terms import KINDS
from gapless.robots import Robot

MOTION_FILE = "motion.npz"
"""The reference, beside the network."""
FRAMES = 4
"""Earlier moments that ASAP's trackers see."""
ACTIONS = ("residual", "default")
"""What actions are added to: the reference, or the default pose."""
MOST = 1.0
"""Largest turn of a joint's target by a unit of output, rad."""
PORTS = Ports(observation="obs", action="actions")


@dataclass(frozen=True)
class TrackerSight:
    """Terms of an observation: those of the present, and those of some earlier moments."""

    terms: tuple[Term, ...]
    blocks: tuple[Block, ...]


def tracking_contract(
    frames: MotionFrames, robot: Robot, sight: str, action: str, physics_step: float
) -> PolicyContract:
    """The contract of a tracker that is to be trained.

    Args:
        frames: of the motion, at the control rate.
        robot: whose joints it moves, with its default pose and the gains that its table states.
        sight: asap or beyondmimic.
        action: residual or default.
        physics_step: it is trained with, s.
    """
    if action not in ACTIONS:
        raise unknown("meaning of actions", action, ACTIONS)
    if sight not in SIGHTS:
        raise unknown("preset", sight, SIGHTS)
    seen = SIGHTS[sight](robot.mount == "free")
    joints = robot.joints
    return PolicyContract(
        name=frames.name,
        rate=frames.rate,
        joints=joints.names,
        default=dict(zip(joints.names, map(float, joints.default), strict=True)),
        kp=_stated(robot, joints.kp, 0),
        kd=_stated(robot, joints.kd, 1),
        action=_action(robot, action),
        terms={term.name: term for term in seen.terms},
        blocks=seen.blocks,
        ports=PORTS,
        physics_step=physics_step,
        motion_seconds=frames.seconds,
        reference=MOTION_FILE,
        anchor=anchor_of(robot),
        bodies=frames.names,
        robot=robot.name,
    )


def _action(robot: Robot, action: str) -> Action:
    """What actions command: around the reference each joint has as much torque at hand.

    A unit of output then changes a motor's torque by a quarter of its limit (BeyondMimic's rule):
    with one scale for all, soft ankles could hardly push, and stiff waists would jerk.
    """
    if action == "default":
        return Action("offset", (robot.action_scale,))
    share, effort = robot.action_scale, robot.joints.effort
    kp = np.array(_stated(robot, robot.joints.kp, 0))
    known = (effort > 0) & np.isfinite(effort) & (kp > 0)
    turn = np.where(known, share * effort / np.where(known, kp, 1.0), share)
    return Action("reference", tuple(map(float, np.minimum(turn, MOST))))


def _stated(robot: Robot, made: np.ndarray, gain: int) -> tuple[float, ...]:
    """Gains to state so that the drives of a calibrated robot make its own of them."""
    errors = [robot.gain_errors.get(j, (1.0, 1.0))[gain] or 1.0 for j in robot.joints.names]
    return tuple(float(k / error) for k, error in zip(made, errors, strict=True))


def require_trackable(contract: PolicyContract, robot: Robot, push: float = 0.0) -> None:
    """Refuse a policy whose episodes no motion of this robot can give.

    Args:
        contract: of the policy.
        robot: in the world that it is trained in.
        push: speed that its base is to be given at once, m/s.
    """
    terms = contract.terms.values()
    robot.joints.pick([*contract.joints, *contract.hold, *(j for t in terms for j in t.joints)])
    _refuse_gains(contract, robot)
    if contract.commands:
        raise DataError(
            f"policy {contract.name!r} is told {', '.join(contract.commands)} while it runs; only "
            "one that follows a motion can be trained here"
        )
    based = [term.name for term in terms if KINDS[term.kind].needs]
    if robot.mount != "free" and (based or push):
        lacking = f"policy {contract.name!r} sees {', '.join(based)}" if based else "a push"
        raise DataError(
            f"{lacking}: that needs a base, and {robot.name} is mounted {robot.mount!r}"
        )


def _refuse_gains(contract: PolicyContract, robot: Robot) -> None:
    """Refuse stiffnesses of another robot or in other units: tuning would learn around them."""
    own = robot.joints.kp[robot.joints.pick(contract.joints)]
    odd = np.flatnonzero(far_gains(np.array(contract.kp), own))
    if len(odd):
        told = (f"{contract.joints[k]} {contract.kp[k]:g}, the robot {own[k]:g}" for k in odd[:3])
        raise DataError(
            f"policy {contract.name!r} states kp of {'; '.join(told)} N·m/rad: expected no more "
            f"than {FAR:g} times as much or as little. Correct kp in its contract, or give the "
            "robot that it is for (gapless policy check POLICY --robot ROBOT)"
        )


def anchor_of(robot: Robot) -> str:
    """The link that stands for the whole robot: BeyondMimic's torso, or the root."""
    return next(iter(robot.link_groups.get("torso", ())), robot.root)


def _asap(free: bool) -> TrackerSight:
    """ASAP's released layout (380 numbers for 23 joints): see docs/track.md."""
    terms = (
        Term("last_action", "last_action"),
        *((Term("base_ang_vel", "base_ang_vel", (0.25,)),) if free else ()),
        Term("joint_pos_rel", "joint_pos_rel"),
        Term("joint_vel", "joint_vel", (0.05,)),
        *((Term("projected_gravity", "projected_gravity"),) if free else ()),
        Term("motion_phase", "motion_phase"),
    )
    names = tuple(term.name for term in terms)
    last = tuple(n for n in names if n in ("projected_gravity", "motion_phase"))
    first = tuple(n for n in names if n not in last)
    past = Block(names, FRAMES, by="term", newest="first", present=False, fill="zeros")
    return TrackerSight(terms, (Block(first), past, Block(last)))


def _beyondmimic(free: bool) -> TrackerSight:
    """BeyondMimic's without a state estimator: nothing that needs the position of the base."""
    terms = (
        Term("command", "reference_joints"),
        *((Term("motion_anchor_ori_b", "reference_anchor_turn"),) if free else ()),
        *((Term("base_ang_vel", "base_ang_vel"),) if free else ()),
        Term("joint_pos", "joint_pos_rel"),
        Term("joint_vel", "joint_vel"),
        Term("actions", "last_action"),
    )
    return TrackerSight(terms, tuple(Block((term.name,)) for term in terms))


SIGHTS = {"asap": _asap, "beyondmimic": _beyondmimic}
"""Preset -> what its trackers see, of a robot that is free or held."""
