"""A correction as one ONNX file, for simulators and controllers that run no Python.

Inputs are those of the contract, as they are (normalised inside), one row per environment; a
recurrent network has `hidden` beside them, and an envelope `watched`. Outputs are `output` (the
mean over the ensemble, bounded, before the envelope and the rate limit), `spread` (over the
ensemble), `weight` (what the envelope leaves of the output, or of each output where joints have
envelopes of their own) and `hidden_after`. The metadata hold the contract, and say of which
signals each input is made.
"""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.artifact import write_bytes_atomic
from gapless.corrections.runtime.correction import Correction
from gapless.errors import MissingExtraError

if TYPE_CHECKING:
    import torch

OPSET = 18
ROWS = 3
"""Environments in the example that the graph is traced with; the file takes any number."""


def export_onnx(correction: Correction, path: str | Path) -> None:
    """Write a correction as one ONNX file, complete or absent.

    Args:
        correction: any.
        path: of the file.
    """
    for package in ("torch", "onnx", "onnxscript"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "learn", "writing an ONNX file")
    import onnx

    model = _traced(correction)
    onnx.helper.set_model_props(model, _metadata(correction))
    onnx.checker.check_model(model, full_check=True)
    write_bytes_atomic(path, model.SerializeToString())


def input_names(correction: Correction) -> list[str]:
    """Inputs of the file, in order."""
    names = list(correction.contract.widths)
    names += [] if correction.envelope is None else ["watched"]
    return names + ([] if _hidden(correction) is None else ["hidden"])


def output_names(correction: Correction) -> list[str]:
    """Outputs of the file, in order."""
    names = ["output", "spread"]
    names += [] if correction.envelope is None else ["weight"]
    return names + ([] if _hidden(correction) is None else ["hidden_after"])


def _metadata(correction: Correction) -> dict[str, str]:
    contract, envelope = correction.contract, correction.envelope
    layout = {name: asdict(given) for name, given in contract.network.inputs.items()}
    return {
        "contract": json.dumps(contract.to_dict()),
        "inputs": json.dumps(layout),
        "watched": json.dumps([] if envelope is None else list(envelope.signals)),
        "fingerprint": correction.fingerprint(),
    }


def _traced(correction: Correction) -> Any:
    """The graph, traced by torch."""
    import torch

    rows = torch.export.Dim("environments")
    example = _example(correction)
    axis = {name: {1 if name == "hidden" else 0: rows} for name in example}
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        try:
            program = torch.onnx.export(
                _module(correction),
                tuple(example.values()),
                input_names=list(example),
                output_names=output_names(correction),
                dynamic_shapes=(tuple(axis.values()),),
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
        finally:
            logger.setLevel(level)
    assert program is not None
    return program.model_proto


def _example(correction: Correction) -> dict[str, torch.Tensor]:
    import torch

    found = {name: torch.zeros(ROWS, width) for name, width in correction.contract.widths.items()}
    if correction.envelope is not None:
        found["watched"] = torch.zeros(ROWS, correction.envelope.width)
    hidden = _hidden(correction)
    return found if hidden is None else found | {"hidden": torch.zeros(hidden.shape)}


def _hidden(correction: Correction) -> np.ndarray | None:
    return correction.contract.network.hidden(ROWS, correction.contract.members)


def _module(correction: Correction) -> torch.nn.Module:
    """The network, the bound, the mean and the envelope as one torch module."""
    import torch

    network, names = correction.network, input_names(correction)
    weights = {k: torch.as_tensor(v) for k, v in correction.weights.items()}

    class Traced(torch.nn.Module):
        def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
            given = dict(zip(names, values, strict=True))
            hidden, watched = given.pop("hidden", None), given.pop("watched", None)
            outputs, after = network.answer(weights, given, hidden)
            mean = outputs.mean(0)
            found = [mean, ((outputs - mean) ** 2).mean(0).sqrt()]
            found += [] if watched is None else [_weight(correction, watched)]
            return tuple(found if after is None else [*found, after])

    return Traced()


def _weight(correction: Correction, watched: torch.Tensor) -> torch.Tensor:
    """What the envelope leaves."""
    envelope = correction.envelope
    assert envelope is not None
    weight = envelope.weight_of(watched)
    return weight[..., correction.contract.columns] if envelope.joint_by_joint else weight
