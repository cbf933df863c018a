"""Networks: of the right shape, and ensembles whose members are themselves."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.models import MODELS, model_of
from gapless.corrections.models.model import Weights
from gapless.corrections.runtime.contract import Contract
from gapless.errors import NameMismatchError

JOINTS = ("a", "b", "c")


def stirred(told: Contract, members: int) -> Weights:
    """Weights that give something."""
    rng = np.random.default_rng(5)
    first = told.network.initial(told.widths, len(told.outputs), members, rng)
    return {k: v + 0.1 * rng.normal(size=v.shape) for k, v in first.items()}


@pytest.mark.parametrize("name", MODELS)
def test_members_are_networks_of_their_own(name: str) -> None:
    """Each gives what it gives alone."""
    told = Contract("r", "", "", JOINTS, 50.0, "action", JOINTS, name)
    rng = np.random.default_rng(0)
    weights = stirred(told, 2)
    given = {k: rng.normal(size=(4, w)) for k, w in told.widths.items()}
    both, _ = told.network(weights, given, told.network.hidden(4, 2))
    for i in range(2):
        one = {k: v[i : i + 1] for k, v in weights.items()}
        alone, _ = told.network(one, given, told.network.hidden(4, 1))
        np.testing.assert_allclose(alone[0], both[i], atol=1e-12)
    assert np.abs(both[0] - both[1]).max() > 0


def test_a_gru_remembers() -> None:
    """The same input twice gives other outputs; reset, the same."""
    told = Contract("r", "", "", JOINTS, 50.0, "action", JOINTS, "gru")
    rng = np.random.default_rng(0)
    weights = stirred(told, 1)
    given = {"all": rng.normal(size=(1, told.widths["all"]))}
    fresh = told.network.hidden(1, 1)
    first, hidden = told.network(weights, given, fresh)
    second, _ = told.network(weights, given, hidden)
    again, _ = told.network(weights, given, fresh)
    assert np.abs(second - first).max() > 0
    np.testing.assert_array_equal(again, first)


def test_a_gru_is_torchs() -> None:
    """The gates are those of torch.nn.GRUCell."""
    torch = pytest.importorskip("torch")
    told = Contract("r", "", "", JOINTS, 50.0, "action", JOINTS, "gru")
    rng = np.random.default_rng(0)
    weights = stirred(told, 1)
    x, before = rng.normal(size=(4, told.widths["all"])), rng.normal(size=(1, 4, 64))
    _, after = told.network(weights, {"all": x}, before)
    assert after is not None
    cell = torch.nn.GRUCell(x.shape[1], 64, dtype=torch.float64)
    for theirs, ours in (("ih", "input"), ("hh", "recurrent")):
        for kind in ("weight", "bias"):
            value = weights[f"{ours}.0.{kind}"][0]
            value = value[0] if kind == "bias" else value
            getattr(cell, f"{kind}_{theirs}").data = torch.as_tensor(value)
    expected = cell(torch.as_tensor(x), torch.as_tensor(before[0])).detach().numpy()
    np.testing.assert_allclose(after[0], expected, atol=1e-10)


def test_unknown_networks_and_settings_are_refused() -> None:
    """With the nearest right one."""
    with pytest.raises(NameMismatchError, match="Did you mean 'gru'"):
        model_of("grue")
    with pytest.raises(NameMismatchError, match="Did you mean 'units'"):
        model_of("gru", {"unit": 3})


def test_joints_that_share_a_network_answer_alike() -> None:
    """Each gives what the network of its number gives of the joint's own columns."""
    alone = Contract("r", "", "", ("a",), 50.0, "action", ("a",), "actuator")
    settings = {"share": (0, 1, 0)}
    told = Contract("r", "", "", JOINTS, 50.0, "action", JOINTS, "actuator", settings)
    weights = stirred(told, 2)
    assert {v.shape[:2] for v in weights.values()} == {(2, 2)}
    rng = np.random.default_rng(0)
    own = rng.normal(size=(4, alone.widths["all"], 3))  # signals of one joint, for each joint
    found, _ = told.network(weights, {"all": own.reshape(4, -1)}, None)
    for joint, number in enumerate(settings["share"]):
        one = {k: v[:, [number]] for k, v in weights.items()}
        expected, _ = alone.network(one, {"all": own[..., joint]}, None)
        np.testing.assert_allclose(found[..., joint], expected[..., 0], atol=1e-12)
