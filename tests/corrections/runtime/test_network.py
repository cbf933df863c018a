"""The network: one function, in NumPy and in torch."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.network import FAR


def played(correction: Correction, kind: str) -> list[np.ndarray]:
    """Outputs over six steps of random signals, in NumPy or torch."""
    rng, network = np.random.default_rng(0), correction.network
    weights, memory, found = dict(correction.weights), None, []
    if kind == "torch":
        import torch

        weights = {k: torch.tensor(v, dtype=torch.float64) for k, v in weights.items()}
    for _ in range(6):
        now = {k: 0.2 * rng.normal(size=(4, 2)) for k in ("q", "dq", "target")}
        now["payload"] = np.zeros((4, 1))
        if kind == "torch":
            now = {k: torch.as_tensor(v) for k, v in now.items()}
        full = network.completed(now, memory)
        memory = memory or network.begun(full, 4)
        outputs, hidden = network.propose(weights, full, memory)
        memory = memory.after(full, network.limited(outputs.mean(0), memory.output), hidden)
        found.append(np.asarray(outputs))
    return found


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("mlp", {"now": ("q", "dq", "ddq", "start_error", "previous")}),
        ("gru", {"units": 8}),
        ("operator", {"branch": (16,), "trunk": (16,), "predictor": (16,)}),
    ],
)
def test_numpy_and_torch_give_the_same(made, model: str, settings: dict) -> None:
    """Over time, history and hidden state included, for every member."""
    pytest.importorskip("torch")
    correction = made(model, members=2, rate_limit=0.2, **settings)
    ours, theirs = played(correction, "numpy"), played(correction, "torch")
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == (2, 4, 2)
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert np.ptp([a[:, 0] for a in ours]) > 1e-3


def test_outputs_never_pass_the_bound(made) -> None:
    """However wild the inputs and the weights."""
    correction = made(bound=0.1)
    wild = {k: 100 * v for k, v in correction.weights.items()}
    now = {k: np.full((1, 2), 1e6) for k in ("q", "dq", "target")}
    network = correction.network
    full = network.completed(now, None)
    outputs, _ = network.propose(wild, full, network.begun(full, 1))
    assert np.abs(outputs).max() <= 0.1


def test_far_inputs_are_cut(made) -> None:
    """A stray reading is worth no more than a few deviations."""
    correction = made()
    given = {"all": np.full((1, correction.contract.widths["all"]), -1e9)}
    assert correction.network.normalised(correction.weights, given)["all"].min() == -FAR


def test_acceleration_is_that_of_the_step_before(made) -> None:
    """Of a step whose velocities are known; nothing at the start."""
    network = made(now=("ddq",)).network
    now = {k: np.zeros((1, 2)) for k in ("q", "dq", "target")}
    first = network.completed(now, None)
    memory = network.begun(first, 1)
    second = network.completed({**now, "dq": np.full((1, 2), 0.1)}, memory)
    np.testing.assert_array_equal(first["ddq"], 0.0)
    np.testing.assert_allclose(second["ddq"], 0.1 * 50)


def test_a_rate_limit_holds(made) -> None:
    """An output moves no further in a step than its share of the bound."""
    network = made(rate_limit=0.1, bound=0.2).network
    output = network.limited(np.array([[0.2, -0.2]]), np.array([[0.0, -0.19]]))
    np.testing.assert_allclose(output, [[0.02, -0.2]])
