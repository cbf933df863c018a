"""A Correction: a frozen, bounded function that makes a world behave like recordings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.envelope import Envelope
from gapless.corrections.runtime.memory import Memory
from gapless.corrections.runtime.network import Network
from gapless.corrections.runtime.signals import Signals
from gapless.errors import DataError
from gapless.verdict import Verdict

FADED_AWAY = 0.5
"""Share of a correction that its envelope may take away in the choosing motions, at most: one that
hardly acts in motions it was not trained on is of no use, whatever the rest of it does."""


@dataclass(frozen=True)
class Acted:
    """What a correction did in one step.

    Attributes:
        output: (n, K) applied.
        spread: (n, K) standard deviation over the ensemble.
        weight: (n, K) share that the envelope left.
        memory: for the next step.
    """

    output: np.ndarray
    spread: np.ndarray
    weight: np.ndarray
    memory: Memory


@dataclass(frozen=True)
class Correction:
    """A learned function that adds to a world's targets, torques or states.

    Attributes:
        contract: what it needs and gives.
        weights: of its networks, float32.
        envelope: where it may be trusted; None trusts it everywhere.
        choose: the verdict that decided whether it is kept; None where nothing chose.
        test: the same on motions that decided nothing.
        faded: share of each output that the envelope took away in the choosing motions.
        made_by: trainer, data and software.
    """

    contract: Contract
    weights: dict[str, np.ndarray]
    envelope: Envelope | None = None
    choose: Verdict | None = None
    test: Verdict | None = None
    faded: dict[str, float] = field(default_factory=dict)
    made_by: dict[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> Network:
        """The function."""
        return Network(self.contract)

    @property
    def why_faded(self) -> str:
        """What is wrong with a correction that hardly acts; empty where it does."""
        share = float(np.mean([*self.faded.values()])) if self.faded else 0.0
        if share <= FADED_AWAY:
            return ""
        most = [f"{k} {v:.0%}" for k, v in self.faded.items() if v > FADED_AWAY]
        return (
            f"{share:.0%} faded: the choosing motions leave its envelope ({', '.join(most)}). "
            "Record motions like those it will be used for and learn from them, or correct only "
            "the joints (--joints) that moved alike in all of them"
        )

    def begun(self, now: Signals) -> Memory:
        """The memory of environments that were just reset."""
        network = self.network
        return network.begun(network.completed(now, None), len(now["q"]))

    def act(self, now: Signals, memory: Memory, ask: np.ndarray | None = None) -> Acted:
        """One step for n environments.

        Args:
            now: signals of the state and the target.
            memory: of the step before.
            ask: (n,) environments whose output is due; the others keep theirs. None is all.
        """
        network = self.network
        full = network.completed(now, memory)
        self._require_known(full)
        outputs, hidden = network.propose(self.weights, full, memory)
        weight = self.trusted(full)
        output = network.limited(outputs.mean(axis=0) * weight, memory.output)
        if ask is not None:
            output = np.where(ask[:, None], output, memory.output)
        return Acted(output, outputs.std(axis=0), weight, memory.after(full, output, hidden))

    def trusted(self, now: Signals) -> np.ndarray:
        """(n, K) share of each output that the envelope leaves; `now` is completed."""
        shape = len(now["q"]), len(self.contract.outputs)
        if self.envelope is None:
            return np.ones(shape)
        weight = self.envelope.weight(now)
        if self.envelope.joint_by_joint:
            return weight[:, self.contract.columns]
        return np.broadcast_to(weight[:, None], shape)

    def _require_known(self, now: Signals) -> None:
        if "payload" in self.contract.signals and not np.isfinite(now["payload"]).all():
            raise DataError(
                "this correction looks at the payload, but a recording or a reset does not say "
                "what was carried; state it (conditions), or train one without payload"
            )

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a folder with the weights (safetensors) and the contract (JSON)."""
        from gapless.corrections.runtime.correction_files import save

        save(self, Path(path), overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Correction:
        """Read a folder that `save` wrote; needs neither torch nor training code."""
        from gapless.corrections.runtime.correction_files import load

        return load(Path(path))

    def fingerprint(self) -> str:
        """Short hash of what decides its outputs."""
        found = hashlib.sha256(json.dumps(self.contract.to_dict(), sort_keys=True).encode())
        for name in sorted(self.weights):
            found.update(name.encode() + np.ascontiguousarray(self.weights[name]).tobytes())
        if self.envelope is not None:
            found.update(self.envelope.mean.tobytes() + self.envelope.whiten.tobytes())
            found.update(repr((self.envelope.signals, self.envelope.radius)).encode())
        return found.hexdigest()[:16]

    def with_weights(self, weights: dict[str, np.ndarray]) -> Correction:
        """The same function with other weights."""
        return replace(self, weights=weights)
