"""Which columns of an observation are of which term."""

from __future__ import annotations

import numpy as np

from gapless.policies.policy_contract import PolicyContract
from gapless.policies.terms import term_width


def term_columns(contract: PolicyContract) -> dict[str, np.ndarray]:
    """Term -> its columns in the network's input, all frames of it."""
    found: dict[str, list[np.ndarray]] = {}
    first = 0
    for block in contract.blocks:
        widths = [term_width(contract.terms[name], contract) for name in block.terms]
        total = sum(widths)
        for k, (name, width) in enumerate(zip(block.terms, widths, strict=True)):
            before = sum(widths[:k])
            if block.by == "term":
                columns = block.frames * before + np.arange(block.frames * width)
            else:
                frames = np.arange(block.frames)[:, None] * total
                columns = (frames + before + np.arange(width)).ravel()
            found.setdefault(name, []).append(first + columns)
        first += block.frames * total
    return {name: np.concatenate(parts) for name, parts in found.items()}
