"""What actions command: the same numbers in training, in evaluation and on a robot."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.reference import Reference


def clip_action(contract: PolicyContract, output: np.ndarray) -> np.ndarray:
    """(n, A) the network's output within its bounds, as the policy sees it afterwards."""
    bounds = contract.action.clip
    return output if bounds is None else np.clip(output, *bounds)


def action_targets(
    contract: PolicyContract, action: np.ndarray, last: np.ndarray, reference: Reference | None
) -> np.ndarray:
    """(n, A) targets of the joints that a policy moves, rad.

    Args:
        contract: says what actions are added to.
        action: (n, A), clipped.
        last: (n, A) targets before, rad.
        reference: the motion that is followed, at this moment.
    """
    how = contract.action
    wanted = _base(contract, last, reference) + action * np.asarray(how.scale)
    return np.clip(wanted, *np.transpose(how.limits)) if how.limits else wanted


def _base(contract: PolicyContract, last: np.ndarray, reference: Reference | None) -> np.ndarray:
    """What actions are added to."""
    meaning, offset = contract.action.meaning, contract.action.offset
    if meaning == "offset":
        return np.asarray(offset) if offset else contract.pose
    if meaning == "reference":
        if reference is None:
            raise DataError(f"policy {contract.name!r} acts around a motion; give it one")
        return reference.joint_pos
    return last if meaning == "increment" else np.zeros_like(last)
