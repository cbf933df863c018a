"""The network of a correction as an actor of rsl_rl: what PPO trains is what runs in use.

An action is what the network gives before its bound: Δ = bound · tanh(action).
"""

from __future__ import annotations

import numpy as np
import torch
from rsl_rl.models import MLPModel
from rsl_rl.modules.distribution import GaussianDistribution
from rsl_rl.utils import unpad_trajectories
from tensordict import TensorDict
from torch import nn

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.learner import FIXED

LEAST_NOISE = 0.1
"""The noise may shrink to this share of what it was, and grow by its inverse."""


class Actor(MLPModel):
    """A Gaussian around the network of a correction of one member.

    Args:
        correction: where it begins.
        environments: of the environment; a recurrent network has a hidden state of each.
        noise: standard deviation, as a share of the bound.
    """

    def __init__(self, correction: Correction, environments: int, noise: float) -> None:
        nn.Module.__init__(self)  # ours is the network, not rsl_rl's
        contract = correction.contract
        self._model, self._outputs = contract.network, len(contract.outputs)
        learned, self._fixed = _divided(correction)
        self.learned = nn.ParameterDict(learned)
        self.obs_groups, self.obs_normalization = list(self._model.inputs), False
        self.distribution = GaussianDistribution(
            self._outputs, noise, (LEAST_NOISE * noise, noise / LEAST_NOISE), "log"
        )
        begun = self._model.hidden(environments, 1)
        self.is_recurrent = begun is not None
        self._hidden = None if begun is None else torch.tensor(begun, dtype=torch.float32)

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The weights as they are."""
        return {k.replace("/", "."): v for k, v in self.learned.items()} | self._fixed

    def arrays(self) -> dict[str, np.ndarray]:
        """Environments of the weights."""
        return {k: v.detach().numpy().copy() for k, v in self.weights.items()}

    def forward(
        self,
        obs: TensorDict,
        masks: torch.Tensor | None = None,
        hidden_state: torch.Tensor | None = None,
        stochastic_output: bool = False,
    ) -> torch.Tensor:
        """(n, K) actions; with masks, those of whole trajectories."""
        given = {name: obs[name] for name in self.obs_groups}
        if masks is None:
            mean, self._hidden = self._once(given, self._hidden)
        else:
            mean = unpad_trajectories(self._through(given, hidden_state), masks)
        assert self.distribution is not None and isinstance(mean, torch.Tensor)
        if not stochastic_output:
            return mean
        self.distribution.update(mean)
        return self.distribution.sample()

    def _once(
        self, given: dict[str, torch.Tensor], hidden: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        raw, hidden = self._model(self.weights, given, hidden)
        return raw[0], hidden

    def _through(self, given: dict[str, torch.Tensor], hidden: torch.Tensor | None) -> torch.Tensor:
        """(T, n, K) along trajectories."""
        rows = []
        for t in range(len(next(iter(given.values())))):
            mean, hidden = self._once({k: v[t] for k, v in given.items()}, hidden)
            rows.append(mean)
        return torch.stack(rows)

    def reset(
        self, dones: torch.Tensor | None = None, hidden_state: torch.Tensor | None = None
    ) -> None:
        """Forget the past of episodes that ended; of all where none are named."""
        if self._hidden is not None:
            ended = torch.ones(self._hidden.shape[1]) if dones is None else dones.float()
            self._hidden = self._hidden * (1 - ended[:, None])

    def get_hidden_state(self) -> torch.Tensor | None:
        """(1, n, units), or None."""
        return self._hidden


def _divided(
    correction: Correction,
) -> tuple[dict[str, nn.Parameter], dict[str, torch.Tensor]]:
    """Weights that learn, named without dots as torch wants it, and those that stay."""
    frozen = correction.contract.frozen
    learned, fixed = {}, {}
    for name, value in correction.weights.items():
        if name.endswith(FIXED) or (frozen and name.startswith(frozen)):
            fixed[name] = torch.tensor(value)
        else:
            learned[name.replace(".", "/")] = nn.Parameter(torch.tensor(value))
    return learned, fixed
