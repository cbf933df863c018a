"""A correction at work in environments: its own rate, its own memory of each."""

from __future__ import annotations

import numpy as np

from gapless.corrections.runtime.correction import Acted, Correction
from gapless.corrections.runtime.memory import Memory
from gapless.corrections.runtime.signals import Signals
from gapless.corrections.runtime.usage import Usage


class Applied:
    """One correction and what it remembers of n environments.

    Args:
        correction: the function.
        rate: control steps of the world a second.
        environments: n.
    """

    def __init__(self, correction: Correction, rate: float, environments: int) -> None:
        self.correction, self.contract = correction, correction.contract
        self._every = self.contract.steps_of(rate)
        self._age = np.zeros(environments, int)
        self._memory: Memory | None = None

    def forget(self, which: np.ndarray) -> None:
        """Environments that were reset have no past."""
        self._age[which] = 0

    @property
    def last(self) -> np.ndarray:
        """(n, K) the output in force."""
        assert self._memory is not None
        return self._memory.output

    def output(self, now: Signals, usage: Usage) -> np.ndarray:
        """(n, J) or (n, 2V): what to add in this control step."""
        due = self._age % self._every == 0
        if due.any():
            acted, self._memory = self._decided(now, due)
            usage.add(acted, due)
        self._age += 1
        assert self._memory is not None  # the first step of every environment is due
        return self._spread(self._memory.output)

    def tried(self, now: Signals) -> np.ndarray:
        """The same for a command that is only thought of: nothing is remembered or counted."""
        due = self._age % self._every == 0
        memory = self._decided(now, due)[1] if due.any() else self._memory
        assert memory is not None
        return self._spread(memory.output)

    def _spread(self, output: np.ndarray) -> np.ndarray:
        spread = np.zeros((len(output), len(self.contract.every_output)))
        spread[:, self.contract.columns] = output
        # A change of state is for the time of a correction, which may be several control steps.
        return spread / self._every if self.contract.head == "state" else spread

    def _decided(self, now: Signals, due: np.ndarray) -> tuple[Acted, Memory]:
        """What is done where it is due, and what all environments remember then."""
        fresh = self._age == 0
        before = self._memory
        if fresh.any():
            begun = self.correction.begun(now)
            before = begun if before is None or fresh.all() else before.renewed(fresh, begun)
        assert before is not None
        asked = (self._age // self._every) % self.contract.hold == 0
        acted = self.correction.act(now, before, asked)
        return acted, acted.memory if due.all() else before.renewed(due, acted.memory)
