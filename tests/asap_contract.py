"""The contract of ASAP's public trackers, which their files do not carry."""

from __future__ import annotations

from pathlib import Path

TRACKERS = ("CR7_level1", "jump_forward_level1", "kick_level1", "side_jump_level1")
ASAP = """
network = "{network}"
robot = "g1_23dof"
rate = 50
[motion]
seconds = {seconds}
[action]
scale = 0.25
clip = 100
[terms.base_ang_vel]
scale = 0.25
[terms.joint_vel]
scale = 0.05
[[observation]]
terms = ["last_action", "base_ang_vel", "joint_pos_rel", "joint_vel"]
[[observation]]
terms = ["last_action", "base_ang_vel", "joint_pos_rel", "joint_vel",
         "projected_gravity", "motion_phase"]
frames = 4
newest = "first"
present = false
fill = "zeros"
[[observation]]
terms = ["projected_gravity", "motion_phase"]
"""


def asap_contract(file: Path, network: Path, seconds: float = 3.93) -> Path:
    """Write it for one of them."""
    file.write_text(ASAP.format(network=network, seconds=seconds))
    return file
