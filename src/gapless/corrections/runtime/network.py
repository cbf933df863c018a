"""From signals to an output: inputs gathered and normalised, the network, the bound."""

from __future__ import annotations

import numpy as np

from gapless.corrections.models import Inputs
from gapless.corrections.models.model import Weights
from gapless.corrections.runtime.array_ops import Array, clip, concat, like, tanh
from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.memory import Memory
from gapless.corrections.runtime.signals import Signals

FAR = 8.0
"""Normalised inputs are cut here, so that a stray reading cannot drive the network."""


class Network:
    """The learned function of a contract, on NumPy arrays and torch tensors alike."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.model = contract.network
        self.inputs = self.model.inputs

    def begun(self, now: Signals, environments: int) -> Memory:
        """The memory before the first step."""
        contract = self.contract
        nothing = np.zeros((environments, len(contract.outputs)))
        hidden = self.model.hidden(environments, contract.members)
        return Memory.begun(
            now,
            contract.history,
            like(nothing, now["q"]),
            None if hidden is None else like(hidden, now["q"]),
        )

    def completed(self, now: Signals, memory: Memory | None) -> Signals:
        """Signals with those that come from others: error, acceleration, memory."""
        full = {**now, "error": now["target"] - now["q"]}
        if memory is None:
            return {**full, "ddq": 0.0 * now["dq"]}
        pace = (now["dq"] - memory.frames[-1]["dq"]) * self.contract.rate
        return {**full, "ddq": pace}

    def gathered(self, now: Signals, memory: Memory) -> dict[str, Array]:
        """The inputs of the network, as they are."""
        full = {**now, "start_error": memory.start_error, "previous": memory.output}
        return {name: _columns(given, full, memory) for name, given in self.inputs.items()}

    def normalised(self, weights: Weights, given: dict[str, Array]) -> dict[str, Array]:
        """The inputs with mean zero and deviation one over the training data."""
        return {
            name: clip((x - weights[f"{name}.mean"]) / weights[f"{name}.deviation"], -FAR, FAR)
            for name, x in given.items()
        }

    def propose(self, weights: Weights, now: Signals, memory: Memory) -> tuple[Array, Array | None]:
        """(members, n, K) bounded outputs and the hidden state; `now` is completed."""
        return self.answer(weights, self.gathered(now, memory), memory.hidden)

    def answer(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, Array | None]:
        """The same from the inputs as they are."""
        raw, hidden = self.model(weights, self.normalised(weights, given), hidden)
        return self.bounded(raw), hidden

    def bounded(self, raw: Array) -> Array:
        """Outputs of the joints that are corrected, within their bounds; `raw` is a model's."""
        if raw.shape[-1] > len(self.contract.outputs):
            raw = raw[..., self.contract.columns]
        return like(np.array(self.contract.bound), raw) * tanh(raw)

    def limited(self, output: Array, before: Array) -> Array:
        """An output that changes no faster than the contract allows."""
        if self.contract.rate_limit is None:
            return output
        most = like(self.contract.rate_limit * np.array(self.contract.bound), output)
        return before + clip(output - before, -most, most)


def _columns(given: Inputs, now: Signals, memory: Memory) -> Array:
    parts = [now[s] for s in given.now]
    for frame in memory.frames[len(memory.frames) - given.history :]:
        parts += [frame[s] for s in given.past]
    return concat(parts)
