"""The operator: the paper's sizes, and what each part sees."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.models import model_of
from gapless.corrections.models.model import Weights
from gapless.corrections.runtime.contract import Contract

JOINTS = tuple(f"joint_{i}" for i in range(10))

PAPER = {"local": False, "branch": (256, 256, 256), "trunk": (128, 128, 128)}


def contract(**settings: object) -> Contract:
    """Of a robot with ten joints."""
    return Contract("r", "", "", JOINTS, 50.0, "action", JOINTS, "operator", dict(settings))


@pytest.mark.parametrize(("history", "size"), [(2, 80), (4, 140), (6, 200), (8, 260)])
def test_observations_are_as_large_as_the_papers(history: int, size: int) -> None:
    """2n + 3nH numbers for n joints and H frames, and one more with the payload."""
    without = contract(history=history, payload=False)
    assert sum(without.widths.values()) == size
    assert sum(contract(history=history).widths.values()) == size + 1
    assert without.widths["asked"] == 10


def weights_of(told: Contract) -> Weights:
    """First weights."""
    return told.network.initial(told.widths, 10, 2, np.random.default_rng(0))


def test_parts_are_sized_from_the_joints() -> None:
    """400 sensors and 16 products a joint, for the paper's ten joints and its settings."""
    weights = weights_of(contract(**PAPER))
    assert weights["predictor.0.weight"].shape == (2, 128, 130)
    assert weights["predictor.2.weight"].shape == (2, 400, 128)
    assert weights["branch.0.weight"].shape == (2, 256, 400)
    assert weights["branch.3.weight"].shape == (2, 160, 256)
    assert weights["trunk.0.weight"].shape == (2, 128, 11)
    assert weights["trunk.3.weight"].shape == (2, 160, 128)
    assert np.abs(weights["trunk.3.weight"]).max() <= 0.003


@pytest.mark.parametrize("local", [True, False])
def test_the_output_is_a_sum_of_products(local: bool) -> None:
    """Of branch and trunk, over the basis: no command, no trunk, no correction."""
    told = contract(local=local)
    weights, rng = weights_of(told), np.random.default_rng(1)
    given = {k: rng.normal(size=(5, w)) for k, w in told.widths.items()}
    output, hidden = told.network(weights, given, None)
    assert output.shape == (2, 5, 10)
    assert hidden is None
    silent = {k: 0 * v if k.startswith("trunk") else v for k, v in weights.items()}
    np.testing.assert_array_equal(told.network(silent, given, None)[0], 0.0)


def test_a_local_basis_reads_its_own_command() -> None:
    """Another joint's command changes nothing; the payload changes all."""
    told = contract(trunk=(8,), branch=(8,))
    rng = np.random.default_rng(1)
    weights = {k: v + 0.1 * rng.normal(size=v.shape) for k, v in weights_of(told).items()}
    given = {k: rng.normal(size=(1, w)) for k, w in told.widths.items()}
    plain, _ = told.network(weights, given, None)
    for column, changed in ((3, [3]), (10, list(range(10)))):
        asked = given["asked"].copy()
        asked[:, column] += 1.0
        moved, _ = told.network(weights, {**given, "asked": asked}, None)
        differs = np.abs(moved - plain)[0, 0] > 0
        assert np.flatnonzero(differs).tolist() == changed


def test_a_fitted_predictor_stays() -> None:
    """One that is not fitted learns with the rest."""
    assert model_of("operator").frozen == ("predictor.",)
    assert model_of("operator", {"fitted": False}).frozen == ()
