"""A contract of three joints to change, and what its robot sees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from free_states import free_states
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy import Policy
from gapless.policies.policy_contract import (
    Action,
    Block,
    PolicyCommand,
    PolicyContract,
    Ports,
    Term,
)
from gapless.policies.terms import Sighting
from gapless.worlds.world import State

JOINTS = ("hip", "knee", "ankle")
POSE = (0.1, -0.2, 0.3)
VELOCITY = PolicyCommand((-1.0, -0.5, -1.0), (1.0, 0.5, 1.0), ("vx", "vy", "wz"))


def small_contract(*kinds: str, **changes: Any) -> PolicyContract:
    """A policy that sees these kinds of terms, one after another; its positions by default."""
    names = kinds or ("joint_pos",)
    values: dict[str, Any] = {
        "name": "small",
        "rate": 50.0,
        "joints": JOINTS,
        "default": dict(zip(JOINTS, POSE, strict=True)),
        "kp": (10.0, 20.0, 30.0),
        "kd": (1.0, 2.0, 3.0),
        "action": Action(scale=(0.5,)),
        "terms": {name: Term(name, name) for name in names},
        "blocks": (Block(names),),
    }
    return PolicyContract(**(values | changes))


def one_term(kind: str, scale: Any = (1.0,), clip: Any = None, **options: Any) -> PolicyContract:
    """A policy that sees one term alone, and is given all that any kind may need."""
    joints = options.pop("joints", ())
    return small_contract(
        terms={"it": Term("it", kind, scale, clip, joints, options)},
        blocks=(Block(("it",)),),
        commands={"velocity": VELOCITY},
        motion_seconds=2.0,
        reference="motion.npz",
    )


def sighting(contract: PolicyContract, readings: State, **changes: Any) -> Sighting:
    """A moment at the start: nothing was done yet."""
    n = len(readings)
    blank = Sighting(
        readings=readings,
        columns={name: i for i, name in enumerate(contract.joints)},
        action=np.zeros((n, len(contract.joints))),
        target=np.tile(contract.pose, (n, 1)),
        step=np.zeros(n, int),
        commands={name: np.zeros((n, len(c.lower))) for name, c in contract.commands.items()},
    )
    return replace(blank, **changes)


def small_policy(contract: PolicyContract, network: Path, ports: Ports | None = None) -> Policy:
    """The contract with a network."""
    return Policy(contract, OnnxNetwork(network, ports or contract.ports), network)


def states(count: int, seed: int = 0) -> State:
    """Readings of the three joints, and of a base that flies about."""
    return free_states(count, seed)
