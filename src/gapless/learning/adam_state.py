"""What Adam remembers as named arrays, so that a stopped training resumes without unpickling."""

from __future__ import annotations

import numpy as np
import torch

Arrays = dict[str, np.ndarray]
_ADAM = "adam/"


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def adam_arrays(adam: torch.optim.Optimizer) -> Arrays:
    """The moments and step counts of every weight."""
    return {
        f"{_ADAM}{i}/{name}": np.asarray(value)
        for i, moments in adam.state_dict()["state"].items()
        for name, value in moments.items()
    }


def restore_adam(adam: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Inverse of `adam_arrays`; the weights must be in the same order."""
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in under(_ADAM, arrays).items():
        i, name = key.split("/", 1)
        moments.setdefault(int(i), {})[name] = torch.tensor(value)
    adam.load_state_dict({**adam.state_dict(), "state": moments})
