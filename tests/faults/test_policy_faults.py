"""Faults of policy files: networks that are not whole, or do something else than was trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from gapless.errors import GaplessError
from gapless.policies import Policy
from still_policy import write_policy

NAME = r"policy\.onnx"
Change = Callable[[onnx.ModelProto], None]


def damaged(folder: Path, change: Change) -> Path:
    """A policy's contract, whose network was changed."""
    contract = write_policy(folder)
    model = onnx.load(str(folder / "policy.onnx"))
    change(model)
    onnx.save(model, str(folder / "policy.onnx"))
    return contract


def outside(model: onnx.ModelProto) -> None:
    """Weights in a file that is not there."""
    for weight in model.graph.initializer:
        weight.ClearField("raw_data")
        weight.ClearField("float_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        entry = weight.external_data.add()
        entry.key, entry.value = "location", "gone.data"


def later(model: onnx.ModelProto) -> None:
    """Operators of a standard that does not exist yet."""
    model.opset_import[0].version = 999


def wider(model: onnx.ModelProto) -> None:
    """An input that the contract does not fill."""
    shape = model.graph.input[0].type.tensor_type.shape
    shape.dim[1].dim_value += 3


@pytest.mark.parametrize(
    "change",
    [outside, later, wider],
)
def test_case_46_networks_that_do_not_fit_are_refused(change: Change, tmp_path: Path) -> None:
    """Weights that are not there, operators of tomorrow, inputs that the contract does not fill."""
    with pytest.raises(GaplessError, match=NAME):
        Policy.load(damaged(tmp_path, change))


def test_case_46_a_network_without_a_contract_is_refused(tmp_path: Path) -> None:
    """Nothing says what it sees."""
    write_policy(tmp_path).unlink()
    with pytest.raises(GaplessError, match=NAME):
        Policy.load(tmp_path / "policy.onnx")


def test_case_46_a_network_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    """At any length."""
    contract, file = write_policy(tmp_path), tmp_path / "policy.onnx"
    whole = file.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 7).astype(int):
        file.write_bytes(whole[:length])
        with pytest.raises(GaplessError, match=NAME):
            Policy.load(contract)
