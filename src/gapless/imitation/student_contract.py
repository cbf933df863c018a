"""The contracts of a student: what its teachers see, and which of their motions is meant."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gapless.artifact import file_name
from gapless.imitation.teachers import Teacher
from gapless.policies.policy_contract import Block, PolicyContract, Term
from gapless.tracking.tracking_contract import PORTS

NETWORK = "policy.onnx"
WHICH = "followed_motion"
"""Term that says which motion is followed: one number a motion, 1 for the one that is meant."""


def student_contract(teachers: Sequence[Teacher], k: int, name: str) -> PolicyContract:
    """That of a student which follows its k-th teacher's motion.

    What the teachers see comes first, as they see it before they normalise it; the student's own
    network normalises all of it.
    """
    from gapless.tracking.training import own_contract

    teacher = teachers[k]
    own = own_contract(teacher.policy, teacher.frames, f"{name}_{teacher.name}")
    value = tuple(float(i == k) for i in range(len(teachers)))
    return replace(
        own,
        terms={**own.terms, WHICH: Term(WHICH, "constant", options={"value": value})},
        blocks=(*own.blocks, Block((WHICH,))),
        clip=None,
        mean=(),
        std=(),
        ports=PORTS,
        reference=motion_file(teacher),
        notes=_notes(teachers, k),
    )


def motion_file(teacher: Teacher) -> str:
    """Of a teacher's motion, beside the network."""
    return f"{file_name(teacher.name)}.npz"


def contract_file(teacher: Teacher) -> str:
    """That tells the network to follow a teacher's motion."""
    return f"{file_name(teacher.name)}.toml"


def contract_toml(contract: PolicyContract) -> str:
    """What differs from the contract in the network, as a `policy.toml`."""
    value = list(contract.terms[WHICH].options["value"])
    lines = [
        f"# The student {NETWORK}, told to follow one of its motions.",
        f"network = {json.dumps(NETWORK)}",
        'extends = "metadata"',
        f"name = {json.dumps(contract.name)}",
        f"notes = {json.dumps(list(contract.notes), ensure_ascii=False)}",
        "[motion]",
        f"file = {json.dumps(contract.reference)}",
        f"seconds = {contract.motion_seconds!r}",
        f"[terms.{WHICH}]",
        f"value = {value}",
    ]
    return "\n".join(lines) + "\n"


def _notes(teachers: Sequence[Teacher], k: int) -> tuple[str, ...]:
    others = [contract_file(t) for i, t in enumerate(teachers) if i != k]
    follows = f"a student that follows {teachers[k].name}"
    return (follows + (f"; others by {', '.join(others)}" if others else ""),)
