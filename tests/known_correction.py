"""Corrections whose answer is known: what is added is a share of how far a joint is to go."""

from __future__ import annotations

import numpy as np

from gapless.corrections import Correction
from gapless.corrections.runtime.contract import Contract
from gapless.worlds.world import World

BOUND = 20.0
"""So large that the bound bends nothing, rad."""


def share_of_error(world: World, share: float, head: str = "action") -> Correction:
    """Drives that make 1 + share of every stiffness, as a correction of targets."""
    identity, joints = world.identity, world.robot.joints.names
    contract = Contract(
        robot=identity.robot,
        model_hash=identity.model_hash,
        effects_hash=identity.effects_hash,
        joints=joints,
        rate=world.rate,
        head=head,
        outputs=joints,
        model="mlp",
        settings={"sizes": [], "now": ["error"], "past": [], "history": 0},
        bound=(BOUND,) * len(joints),
    )
    many = len(joints)
    weights = {
        "mlp.0.weight": (share / BOUND * np.eye(many))[None],
        "mlp.0.bias": np.zeros((1, 1, many)),
        "all.mean": np.zeros(many),
        "all.deviation": np.ones(many),
    }
    return Correction(contract, {k: v.astype(np.float32) for k, v in weights.items()})
