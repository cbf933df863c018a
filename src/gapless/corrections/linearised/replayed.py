"""Replayed: windows as the corrected world plays them now, with its slopes, ready for torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gapless.corrections.linearised.agreement import believed
from gapless.corrections.linearised.slopes import Slopes, Trajectories, slopes
from gapless.corrections.linearised.tangent import difference
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.correction import Correction
from gapless.measurement.windows import Windows
from gapless.worlds.world import State, World

Tensor = torch.Tensor


@dataclass(frozen=True)
class Replayed:
    """Tensors of n windows of T steps, time first.

    Attributes:
        signals: (T+1, n, d) of the states that were played.
        target: (T, n, J) recorded targets.
        payload: (n, 1).
        output: (T, n, K) what the correction gave.
        error: (T, n, 2V) played minus recorded, after each step.
        weight: (T, n, J) 1 where a reading may be compared.
        base_weight: (T, n) 1 where the base was logged: an estimate of it must not be learned.
        by_state: (T, n, 2V, 2V).
        by_output: (T, L, n, 2V, K).
    """

    signals: dict[str, Tensor]
    target: Tensor
    payload: Tensor
    output: Tensor
    error: Tensor
    weight: Tensor
    base_weight: Tensor
    by_state: Tensor
    by_output: Tensor

    @property
    def steps(self) -> int:
        """T."""
        return len(self.error)

    def __len__(self) -> int:
        return self.error.shape[1]

    def of(self, which: Tensor) -> Replayed:
        """Some of the windows."""
        return Replayed(
            {k: v[:, which] for k, v in self.signals.items()},
            self.target[:, which],
            self.payload[which],
            self.output[:, which],
            self.error[:, which],
            self.weight[:, which],
            self.base_weight[:, which],
            self.by_state[:, which],
            self.by_output[:, :, which],
        )


def replayed(world: World, windows: Windows, correction: Correction, stride: int) -> Replayed:
    """Play windows with a correction as it is, and linearise around what was played."""
    from gapless.corrections.training.playing import play

    played = play(world, windows, correction)
    contract = correction.contract
    before = windows.before
    targets, torques = windows.targets.copy(), None
    if contract.head == "action":
        targets[:, before:][..., contract.columns] += played.output
    elif contract.head == "torque":
        torques = np.zeros_like(targets[:, before:])
        torques[..., contract.columns] = played.output
    path = Trajectories(played.states, targets, torques, before, windows.conditions)
    found = slopes(world, path, contract.head, contract.columns, stride)
    held = believed(world, path, found, contract.head, contract.columns)
    held &= played.valid[:, 1:, None]
    return _tensors(windows, played.states, played.output, held, found)


def _tensors(
    windows: Windows, states: State, output: np.ndarray, held: np.ndarray, found: Slopes
) -> Replayed:
    error = difference(states[:, 1:], windows.real)
    now = looked_at.of_state(states)
    if states.base_pos is not None:
        now["velocity_change"] = looked_at.velocity_change(states)
    joints = windows.weight.shape[-1]
    base = windows.base_weight[:, None] * held[..., :-joints].all(-1)
    return Replayed(
        signals={k: _time_first(v) for k, v in now.items()},
        target=_time_first(windows.held),
        payload=_tensor(looked_at.payloads(windows.conditions)),
        output=_time_first(output),
        error=_time_first(np.where(np.isfinite(error), error, 0.0)),
        weight=_time_first(windows.weight * held[..., -joints:]),
        base_weight=_time_first(base),
        by_state=_time_first(found.state),
        by_output=_tensor(np.moveaxis(found.output, 0, 2)),
    )


def _tensor(values: np.ndarray) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32)


def _time_first(values: np.ndarray) -> Tensor:
    return _tensor(np.swapaxes(values, 0, 1))
