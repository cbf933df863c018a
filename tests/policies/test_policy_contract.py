"""A contract says what is wrong with it, all at once, with the field that mends it."""

from __future__ import annotations

import json

import pytest
from policy_samples import JOINTS, VELOCITY, one_term, small_contract

from gapless.errors import DataError
from gapless.policies.policy_contract import Action, Block, PolicyCommand, Term


def test_a_whole_contract_knows_its_width_pose_and_gains() -> None:
    """Three positions, three velocities of two frames each, a gyroscope."""
    blocks = Block(("joint_pos", "joint_vel"), frames=2), Block(("base_ang_vel",))
    contract = small_contract("joint_pos", "joint_vel", "base_ang_vel", blocks=blocks)
    assert contract.width == 2 * (3 + 3) + 3
    assert contract.pose.tolist() == [0.1, -0.2, 0.3]
    assert contract.gains["knee"] == (20.0, 2.0)


def test_a_contract_is_plain_json() -> None:
    """It can be written into a report."""
    told = json.loads(json.dumps(small_contract().to_dict()))
    assert told["joints"] == list(JOINTS)
    assert told["action"]["scale"] == [0.5]


WRONG = {
    "rate": ({"rate": 0.0}, "rate is 0.0"),
    "endless rate": ({"rate": float("inf")}, "rate is inf"),
    "joint twice": ({"joints": ("hip", "hip", "knee")}, "each joint that is moved once"),
    "few gains": ({"kp": (1.0, 2.0)}, "kp has 2 numbers; expected 3"),
    "negative gain": ({"kd": (1.0, -2.0, 1.0)}, "kd has 3 numbers; expected 3, none below 0"),
    "no default": ({"default": {"hip": 0.0}}, "default lacks knee, ankle"),
    "default no angle": (
        {"default": {"hip": float("nan"), "knee": 0.0, "ankle": 0.0}},
        "hip stands at nan",
    ),
    "meaning": ({"action": Action("torque")}, "action.meaning is 'torque'"),
    "scale": ({"action": Action(scale=(1.0, 2.0))}, "action.scale has 2 numbers; expected 1 or 3"),
    "offset": ({"action": Action(offset=(0.0,))}, "action.offset has 1 numbers"),
    "limits": ({"action": Action(limits=((0.0, 1.0),))}, "action.limits has 1 pairs"),
    "limits turned": (
        {"action": Action(limits=((1.0, 0.0),) * 3)},
        "action.limits 1 is .* lower bound first",
    ),
    "clip turned": ({"clip": (5.0, -5.0)}, "clip is .* lower bound first"),
    "no observation": ({"blocks": ()}, r"no \[\[observation\]\]"),
    "unknown term": ({"blocks": (Block(("joint_poz",)),)}, "names term 'joint_poz'"),
    "frames": ({"blocks": (Block(("joint_pos",), frames=0),)}, "has 0 frames"),
    "half frames": ({"blocks": (Block(("joint_pos",), frames=2.5),)}, "has 2.5 frames"),  # type: ignore[arg-type]
    "by": ({"blocks": (Block(("joint_pos",), by="time"),)}, "by is 'time'"),
    "newest": ({"blocks": (Block(("joint_pos",), newest="left"),)}, "newest is 'left'"),
    "fill": ({"blocks": (Block(("joint_pos",), fill="nan"),)}, "fill is 'nan'"),
    "present": ({"blocks": (Block(("joint_pos",), present="no"),)}, "present is 'no'"),  # type: ignore[arg-type]
    "ranges": (
        {"commands": {"velocity": PolicyCommand((0.0,), (1.0, 2.0))}},
        "commands.velocity: .* no ranges",
    ),
    "reference": ({"action": Action("reference")}, "needs motion.file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case: str) -> None:
    """Every field that cannot be right is told, with what was expected."""
    changes, told = WRONG[case]
    with pytest.raises(DataError, match=told):
        small_contract(**changes)


def test_all_that_is_wrong_is_told_at_once() -> None:
    """Nobody mends one thing to be shown the next."""
    with pytest.raises(DataError) as caught:
        small_contract(rate=-1.0, kp=(), action=Action("torque"), blocks=())
    for part in ("rate is", "kp has", "action.meaning", "no [[observation]]"):
        assert part in str(caught.value)


LACKING = {
    "command": ({}, r"needs \[commands.walk\]", {"command": "walk"}),
    "gait_sin": ({}, "needs period", {}),
    "motion_phase": ({"motion_seconds": None}, "needs motion.seconds", {}),
    "reference_joints": ({}, "needs motion.file.*network.motion", {}),
    "joint_pos_rel": ({}, "needs default positions of waist", {"joints": ("waist",)}),
    "joint_pso": ({}, "unknown kind 'joint_pso'. Did you mean 'joint_pos'", {}),
    "gait_cos": ({}, r"needs \[commands.velocity\]", {"period": 0.8, "still_below": 0.1}),
    "joint_vel": ({}, "has 'scal', which means nothing.*Did you mean 'scale'", {"scal": 0.05}),
}


@pytest.mark.parametrize("kind", LACKING)
def test_what_a_term_lacks_is_named(kind: str) -> None:
    """Each with the field to add."""
    changes, told, options = LACKING[kind]
    joints = options.get("joints", ())
    others = {key: value for key, value in options.items() if key != "joints"}
    term = Term("it", kind, joints=joints, options=others)
    with pytest.raises(DataError, match=f"'it' .*{told}"):
        small_contract(terms={"it": term}, blocks=(Block(("it",)),), **changes)


def test_a_scale_a_column_must_fit() -> None:
    """One number, or one a column."""
    with pytest.raises(DataError, match="'it' has 2 scales; expected 1 or 3"):
        one_term("joint_pos", scale=(1.0, 2.0))


def test_a_tracker_follows_a_motion() -> None:
    """By its length, or by its frames; a walker follows none."""
    assert small_contract(motion_seconds=2.0).tracks
    assert small_contract(reference="motion.npz").tracks
    assert not small_contract("command", commands={"velocity": VELOCITY}).tracks
