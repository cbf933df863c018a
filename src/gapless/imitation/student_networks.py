"""The networks that learn, in torch, and what they become."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from gapless.imitation.flow_weights import FlowWeights
from gapless.imitation.imitate_settings import ImitateSettings
from gapless.imitation.samples import Samples
from gapless.learning.adam_state import Arrays
from gapless.policies.mlp_weights import MlpWeights

LEAST = 1e-2
"""Standard deviation below which a number that hardly changes is left as it is."""

StudentWeights = MlpWeights | FlowWeights


class StudentNetwork(nn.Module):
    """What students share: layers, and what is seen and done in usual sizes.

    Args:
        samples: whose means and deviations are those usual sizes; of the first round.
        settings: of the imitation.
        beside: numbers that the layers take beside an observation.
    """

    mean: Tensor
    std: Tensor
    centre: Tensor
    scale: Tensor

    def __init__(self, samples: Samples, settings: ImitateSettings, beside: int = 0) -> None:
        super().__init__()
        many, foreseen = samples.wanted.shape[1], samples.ahead.shape[1]
        self.actions, self.settings = many, settings
        sizes = samples.seen.shape[1] + beside, *settings.hidden, foreseen * many
        layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        parts = [part for layer in layers for part in (layer, nn.ELU())]
        self.layers = nn.Sequential(*parts[:-1])
        mean, std = _usual(samples.seen)
        centre, scale = (np.tile(x, foreseen) for x in _usual(samples.wanted))
        named = {"mean": mean, "std": std, "centre": centre, "scale": scale}
        for name, array in named.items():
            self.register_buffer(name, torch.tensor(array, dtype=torch.float32))

    def looked(self, seen: Tensor) -> Tensor:
        """An observation in usual sizes."""
        return (seen - self.mean) / self.std

    def dense(self) -> MlpWeights:
        """The layers alone."""
        found = [m for m in self.layers if isinstance(m, nn.Linear)]
        return MlpWeights(tuple((_plain(m.weight), _plain(m.bias)) for m in found))

    def arrays(self) -> Arrays:
        """All weights by name."""
        return {k: v.numpy().copy() for k, v in self.state_dict().items()}

    def restore(self, arrays: Arrays) -> None:
        """Inverse of `arrays`."""
        self.load_state_dict({k: torch.tensor(v) for k, v in arrays.items()})


class PlainStudent(StudentNetwork):
    """From an observation to an action."""

    def forward(self, seen: Tensor) -> Tensor:
        """(n, A) actions."""
        return self.layers(self.looked(seen)) * self.scale + self.centre

    def loss(self, seen: Tensor, chunk: Tensor, chance: torch.Generator) -> Tensor:
        """Mean squared error of actions in usual sizes."""
        del chance
        return ((self.layers(self.looked(seen)) - (chunk - self.centre) / self.scale) ** 2).mean()

    def weights(self) -> MlpWeights:
        """The same as a chain of dense layers: sizes of actions are in the last one."""
        *others, (matrix, bias) = self.dense().layers
        scale, centre = _plain(self.scale), _plain(self.centre)
        last = matrix * scale[:, None], bias * scale + centre
        return MlpWeights((*others, last), mean=_plain(self.mean), std=_plain(self.std))


class FlowStudent(StudentNetwork):
    """From an observation, a noisy chunk of actions and a time to the chunk without noise."""

    def __init__(self, samples: Samples, settings: ImitateSettings) -> None:
        chunk = samples.ahead.shape[1] * samples.wanted.shape[1]
        super().__init__(samples, settings, beside=chunk + 1)

    def forward(self, seen: Tensor) -> Tensor:
        """(n, A) the first action of the chunk, from the mean of the noise."""
        looked, steps = self.looked(seen), self.settings.euler
        chunk = torch.zeros(len(seen), len(self.centre))
        for k in range(steps):
            time = torch.full((len(seen), 1), k / steps)
            end = self.layers(torch.cat([looked, chunk, time], dim=1))
            chunk = chunk + (end - chunk) / (steps - k)
        return (chunk * self.scale + self.centre)[:, : self.actions]

    def loss(self, seen: Tensor, chunk: Tensor, chance: torch.Generator) -> Tensor:
        """Mean squared error of the end of the flow, from chunks on straight ways to it."""
        end = (chunk - self.centre) / self.scale
        noise = torch.randn(end.shape, generator=chance)
        time = torch.rand(len(end), 1, generator=chance)
        now = (1 - time) * noise + time * end
        found = self.layers(torch.cat([self.looked(seen), now, time], dim=1))
        return ((found - end) ** 2).mean()

    def weights(self) -> FlowWeights:
        """The same for NumPy and ONNX."""
        return FlowWeights(
            self.dense(),
            mean=_plain(self.mean),
            std=_plain(self.std),
            centre=_plain(self.centre),
            scale=_plain(self.scale),
            actions=self.actions,
            euler=self.settings.euler,
        )


STUDENTS: dict[str, Callable[[Samples, ImitateSettings], PlainStudent | FlowStudent]] = {
    "mlp": PlainStudent,
    "flow": FlowStudent,
}


def student_network(
    samples: Samples, settings: ImitateSettings, seed: int
) -> PlainStudent | FlowStudent:
    """An untrained student of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return STUDENTS[settings.model](samples, settings)


def _usual(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    std = rows.std(axis=0, dtype=float)
    return rows.mean(axis=0, dtype=float), np.where(std < LEAST, 1.0, std)


def _plain(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy().copy()
