"""What other people call the terms of an observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapless.errors import DataError, nearest

NAMES = {
    "base_ang_vel": "base_ang_vel",
    "ang_vel": "base_ang_vel",
    "angular_velocity": "base_ang_vel",
    "base_angular_velocity": "base_ang_vel",
    "imu_ang_vel": "base_ang_vel",
    "gyro": "base_ang_vel",
    "base_lin_vel": "base_lin_vel",
    "lin_vel": "base_lin_vel",
    "base_linear_velocity": "base_lin_vel",
    "projected_gravity": "projected_gravity",
    "gravity": "projected_gravity",
    "gravity_vec": "projected_gravity",
    "gravity_orientation": "projected_gravity",
    "proj_gravity": "projected_gravity",
    "imu_projected_gravity": "projected_gravity",
    "velocity_commands": "command",
    "velocity_command": "command",
    "generated_commands": "command",
    "command": "command",
    "commands": "command",
    "base_velocity": "command",
    "twist": "command",
    "cmd": "command",
    "cmd_vel": "command",
    "command_velocity": "command",
    "keyboard_velocity_commands": "command",
    "joint_pos_rel": "joint_pos_rel",
    "joint_pos": "joint_pos_rel",
    "dof_pos": "joint_pos_rel",
    "dof_pos_rel": "joint_pos_rel",
    "joint_vel_rel": "joint_vel",
    "joint_vel": "joint_vel",
    "dof_vel": "joint_vel",
    "dof_vel_rel": "joint_vel",
    "joint_velocities": "joint_vel",
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


def named_terms(
    names: Mapping[str, Mapping[str, Any]], where: str, own: Mapping[str, Any], tracks: bool = False
) -> dict[str, dict[str, Any]]:
    """Kind and clock of terms by another project's names, as tables of a `policy.toml`.

    Args:
        names: of the terms there -> their parameters: period of a gait.
        where: the file, for the error.
        own: terms of the user's own, which may say what is not known here.
        tracks: whether the command is a motion, not a velocity.
    """
    unknown = [n for n in names if n not in NAMES and "kind" not in own.get(n, {})]
    if unknown:
        raise DataError(
            f"{where} has observations that are not known here: {', '.join(unknown)}."
            f"{nearest(unknown[0], NAMES)} Say of each what it is: [terms.{unknown[0]}] with its "
            "kind, which may be constant"
        )
    return {name: _named(NAMES.get(name, ""), params, tracks) for name, params in names.items()}


def _named(kind: str, params: Mapping[str, Any], tracks: bool) -> dict[str, Any]:
    if kind == "command" and tracks:
        kind = "reference_joints"
    return {"kind": kind} | (_clock(params) if kind == "gait_sin_cos" else {})


def _clock(params: Mapping[str, Any]) -> dict[str, float]:
    period = [float(params[key]) for key in ("period", "cycle_time") if key in params]
    options = {"period": period[0]} if period else {}
    # The clock stands still where a robot shall stand.
    return options | ({"still_below": 0.1} if "command_name" in params else {})
