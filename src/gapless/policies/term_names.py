"""What other people call the terms of an observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapless.errors import FormatError, nearest
from gapless.policies.policy_contract import Term

NAMES = {
    "base_ang_vel": "base_ang_vel",
    "base_lin_vel": "base_lin_vel",
    "projected_gravity": "projected_gravity",
    "velocity_commands": "command",
    "velocity_command": "command",
    "generated_commands": "command",
    "command": "command",
    "commands": "command",
    "base_velocity": "command",
    "twist": "command",
    "joint_pos_rel": "joint_pos_rel",
    "joint_pos": "joint_pos_rel",
    "dof_pos": "joint_pos_rel",
    "joint_vel_rel": "joint_vel",
    "joint_vel": "joint_vel",
    "dof_vel": "joint_vel",
    "last_action": "last_action",
    "last_actions": "last_action",
    "prev_action": "last_action",
    "prev_actions": "last_action",
    "previous_action": "last_action",
    "previous_actions": "last_action",
    "action": "last_action",
    "actions": "last_action",
    "gait_phase": "gait_sin_cos",
    "phase": "gait_sin_cos",
    "base_height": "base_height",
    "motion_anchor_pos_b": "reference_anchor_pos",
    "motion_anchor_ori_b": "reference_anchor_turn",
    "motion_command": "reference_joints",
    "motion": "reference_joints",
    "ref_joint_pos": "reference_joint_pos",
    "ref_joint_vel": "reference_joint_vel",
}
"""Name in Isaac Lab, mjlab, BeyondMimic or Unitree -> our kind of term."""


def named_term(
    name: str, params: Mapping[str, Any], scale: tuple[float, ...], where: str, tracks: bool = False
) -> Term:
    """A term by another project's name.

    Args:
        name: of the term there.
        params: of it there: period of a gait.
        scale: of it.
        where: the file, for the error.
        tracks: whether the command is a motion, not a velocity.
    """
    if name not in NAMES:
        raise FormatError(
            f"{where} has an observation {name!r} that is not known here.{nearest(name, NAMES)} "
            "Write a policy.toml that says what it is; see docs/policies.md"
        )
    kind = NAMES[name]
    if kind == "command" and tracks:
        kind = "reference_joints"
    return Term(name, kind, scale, options=_clock(params) if kind == "gait_sin_cos" else {})


def _clock(params: Mapping[str, Any]) -> dict[str, float]:
    period = [float(params[key]) for key in ("period", "cycle_time") if key in params]
    options = {"period": period[0]} if period else {}
    # The clock stands still where a robot shall stand.
    return options | ({"still_below": 0.1} if "command_name" in params else {})
