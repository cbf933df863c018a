"""Observer: builds the network's input from what is seen, with its memory of earlier moments."""

from __future__ import annotations

import numpy as np

from gapless.policies.policy_contract import Block, PolicyContract
from gapless.policies.terms import Sighting, read_term, term_width


class Observer:
    """The observations of n environments.

    Args:
        contract: says what is seen, and how it is laid out.
        environments: how many.
    """

    def __init__(self, contract: PolicyContract, environments: int) -> None:
        self._contract = contract
        self._mean, self._std = np.array(contract.mean), np.array(contract.std)
        deep: dict[str, int] = {}
        for block in contract.blocks:
            for name in block.terms:
                # Where the present is left out, or a term is late, more moments are remembered.
                late = contract.terms[name].ago + (not block.present)
                deep[name] = max(deep.get(name, 1), block.frames + late)
        # Newest first; how many of them were seen, and how many are still made up, is counted.
        self._past = {
            name: np.zeros((environments, depth, term_width(contract.terms[name], contract)))
            for name, depth in deep.items()
        }
        self._seen, self._least = np.zeros(environments, int), 0

    def forget(self, which: np.ndarray | None = None) -> None:
        """Begin anew in some environments; in all by default."""
        rows = slice(None) if which is None else which
        self._seen[rows] = 0
        for past in self._past.values():
            past[rows] = 0.0

    def observe(self, sight: Sighting) -> np.ndarray:
        """(n, width) what the network sees now; the moment is remembered."""
        for name, past in self._past.items():
            past[:, 1:] = past[:, :-1]
            past[:, 0] = read_term(sight, self._contract.terms[name], self._contract)
        self._seen += 1
        self._least = int(self._seen.min()) if len(self._seen) else 0
        seen = np.concatenate([self._laid_out(block) for block in self._contract.blocks], axis=1)
        if self._contract.mean:
            seen = (seen - self._mean) / self._std
        return seen if self._contract.clip is None else np.clip(seen, *self._contract.clip)

    def _laid_out(self, block: Block) -> np.ndarray:
        parts = [self._frames(name, block) for name in block.terms]
        if block.by == "term":
            return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        together = np.concatenate(parts, axis=2)
        return together.reshape(len(together), -1)

    def _frames(self, name: str, block: Block) -> np.ndarray:
        """(n, frames, width) of a term in the block's order."""
        past, first = self._past[name], self._contract.terms[name].ago + (not block.present)
        frames = past[:, first : first + block.frames]
        if block.fill == "first" and self._least < first + block.frames:
            # Before the start there was the first moment; without the present, nothing at first.
            age, oldest = first + np.arange(block.frames), np.maximum(self._seen - 1, 0)[:, None]
            frames = past[np.arange(len(past))[:, None], np.minimum(age, oldest)]
        return frames if block.newest == "first" else frames[:, ::-1]


def term_of_column(contract: PolicyContract, column: int) -> str:
    """The term to which a column of an observation belongs."""
    names = []
    for block in contract.blocks:
        columns = [[n] * term_width(contract.terms[n], contract) for n in block.terms]
        once = block.frames if block.by == "term" else 1
        row = [name for part in columns for name in part * once]
        names += row * (block.frames // once)
    return names[column]
