"""A contract of ours can be extended by a file that says only what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gapless.policies.contract_fields import contract_of_fields
from gapless.policies.own_fields import fields_of_contract
from gapless.policies.policy_contract import Action, Block, PolicyCommand, PolicyContract, Term

FULL = PolicyContract(
    name="full",
    rate=50.0,
    joints=("a", "b"),
    default={"a": 0.1, "b": 0.0, "c": 0.3},
    kp=(20.0, 30.0),
    kd=(1.0, 2.0),
    action=Action("offset", (0.2, 0.3), (0.0, 0.1), (-5.0, 5.0), ((-1.0, 1.0), (-2.0, 2.0))),
    terms={
        "seen": Term("seen", "joint_pos_rel", (0.5,), (-1.0, 1.0), ("a", "c"), ago=1),
        "asked": Term("asked", "command", columns=(0, 2)),
        "which": Term("which", "constant", options={"value": [0.0, 1.0]}),
    },
    blocks=(Block(("seen", "asked"), 2, "frame", "first", False, "zeros"), Block(("which",))),
    commands={"velocity": PolicyCommand((-1.0,) * 3, (1.0,) * 3, ("vx", "vy", "wz"))},
    hold={"c": 0.3},
    clip=(-9.0, 9.0),
    physics_step=0.005,
    motion_seconds=2.0,
    reference="motion.npz",
    anchor="trunk",
    bodies=("trunk", "foot"),
    robot="robot",
    notes=("a note",),
)


def test_fields_and_back() -> None:
    """Nothing is lost; the robot is said beside."""
    fields = fields_of_contract(FULL) | {"name": "full"}
    assert contract_of_fields(fields, "robot", Path("full.toml")) == FULL


def test_what_is_not_said_stays_unsaid() -> None:
    """And one scale for all joints becomes as many."""
    bare = replace(
        FULL,
        action=Action("absolute", (0.2,)),
        clip=None,
        physics_step=None,
        motion_seconds=None,
        reference="",
        terms={"which": FULL.terms["which"]},
        blocks=(Block(("which",)),),
    )
    found = contract_of_fields(fields_of_contract(bare) | {"name": "full"}, "robot", Path("f.toml"))
    assert found == replace(bare, action=Action("absolute", (0.2, 0.2)))
