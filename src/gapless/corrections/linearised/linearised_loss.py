"""The error of linearised replays as a function of the weights, differentiable in torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gapless.corrections.linearised.replayed import Replayed
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.memory import Memory
from gapless.corrections.runtime.network import Network
from gapless.corrections.runtime.signals import Signals

Tensor = torch.Tensor


FAR = 1e3
"""Changes are cut here. Where slopes say as much they are not believed, and weigh nothing; but
nothing times infinity would be no number."""


@dataclass(frozen=True)
class LinearisedLoss:
    """What is made small.

    Attributes:
        velocity: weight of the velocity error against the position error, s².
        size: weight of the outputs, as shares of their bounds.
        outlier: errors above this (rad, m) count by their size, not by their square.
    """

    velocity: float = 0.003
    size: float = 1e-3
    outlier: float = 0.03

    def of_error(self, error: Tensor, weight: Tensor, base: Tensor) -> Tensor:
        """(members,) loss of (members, n, 2V) errors of one step, joints and bases weighed."""
        half, joints = error.shape[-1] // 2, weight.shape[-1]
        position, velocity = error[..., :half], error[..., half:]
        loss = _robust(position, self.outlier) + self.velocity * velocity**2
        joint = (weight * loss[..., half - joints :]).mean((-1, -2))
        # A base's position and turn count like a joint each.
        return joint if half == joints else joint + (base * loss[..., :6].mean(-1)).mean(-1)

    def of_output(self, output: Tensor, bound: Tensor) -> Tensor:
        """(members,) loss of (members, n, K) outputs of one step."""
        return self.size * ((output / bound) ** 2).mean((-1, -2))


def _robust(error: Tensor, outlier: float) -> Tensor:
    return 2 * outlier**2 * ((1 + (error / outlier) ** 2).sqrt() - 1)


@dataclass(frozen=True)
class Noise:
    """Put on a network's inputs in training, as a share of their deviation.

    Without it a network reads accelerations out of its history and learns motions by heart.
    """

    share: float
    chance: torch.Generator

    def on(self, given: dict[str, Tensor], weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """The inputs with noise of their own for every member and window."""
        if not self.share:
            return given
        return {
            name: x + self.share * weights[f"{name}.deviation"] * self._drawn(x)
            for name, x in given.items()
        }

    def _drawn(self, x: Tensor) -> Tensor:
        return torch.randn(x.shape, generator=self.chance, dtype=x.dtype)


def replay_loss(
    network: Network,
    weights: dict[str, Tensor],
    data: Replayed,
    scale: float,
    loss: LinearisedLoss,
    noise: Noise,
) -> Tensor:
    """(members,) mean loss over the steps of linearised replays, relative to `scale`."""
    change = data.error.new_zeros(1, len(data), data.error.shape[-1])
    recent = [data.output.new_zeros(1, *data.output.shape[1:])] * data.by_output.shape[1]
    bound = torch.as_tensor(network.contract.bound, dtype=torch.float32)
    memory, total = None, data.error.new_zeros(network.contract.members)
    for t in range(data.steps):
        played = {k: v[t] for k, v in data.signals.items()}
        now = looked_at.moved(played, change) | {"target": data.target[t], "payload": data.payload}
        output, memory = _output(network, weights, now, memory, t, noise)
        recent = [output - data.output[t], *recent[:-1]]
        change = torch.einsum("nij,mnj->mni", data.by_state[t], change)
        for by_output, given in zip(data.by_output[t], recent, strict=True):
            change = change + torch.einsum("nik,mnk->mni", by_output, given)
        change = change.clamp(-FAR, FAR)
        missed = loss.of_error(data.error[t] + change, data.weight[t], data.base_weight[t])
        total = total + missed / scale
        total = total + loss.of_output(output, bound)
    return total / data.steps


def _output(
    network: Network,
    weights: dict[str, Tensor],
    now: Signals,
    memory: Memory | None,
    t: int,
    noise: Noise,
) -> tuple[Tensor, Memory]:
    full = network.completed(now, memory)
    memory = memory or network.begun(full, full["q"].shape[-2])
    given = noise.on(network.gathered(full, memory), weights)
    output, hidden = network.answer(weights, given, memory.hidden)
    output = network.limited(output, memory.output)
    output = memory.output if t % network.contract.hold else output
    return output, memory.after(full, output, hidden)
