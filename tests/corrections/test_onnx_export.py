"""ONNX files: the same numbers as the NumPy network, in one file with the contract inside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.correction import Correction

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("torch")


def expected(correction: Correction, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the NumPy network makes of the same inputs."""
    inputs = {k: given[k] for k in correction.contract.widths}
    outputs, after = correction.network.answer(correction.weights, inputs, given.get("hidden"))
    found = {"output": outputs.mean(axis=0), "spread": outputs.std(axis=0)}
    return found if after is None else found | {"hidden_after": after}


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("mlp", "gru")]


@pytest.mark.parametrize("model", ["operator", "actuator", *SLOW])
def test_the_file_gives_what_the_network_gives(model: str, made, tmp_path: Path) -> None:
    """Outputs, spread, envelope and hidden state agree to 1e-5, for any number of environments."""
    from gapless.corrections.onnx_export import export_onnx, input_names, output_names

    small = {
        "operator": {"branch": (16,), "joints": "elbow_flex"},
        "actuator": {"share": (0, 0), "joints": "elbow_flex"},
    }
    correction: Correction = made(model, members=2, **small.get(model, {}))
    path = tmp_path / "correction.onnx"
    export_onnx(correction, path)
    assert [p.name for p in tmp_path.iterdir()] == ["correction.onnx"]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == input_names(correction)
    rng, envelope = np.random.default_rng(0), correction.envelope
    assert envelope is not None
    for environments in (1, 5):
        given = {
            k: rng.normal(size=(environments, w)) for k, w in correction.contract.widths.items()
        }
        watched = 0.5 * rng.normal(size=(environments, envelope.width))
        given["watched"] = watched
        if model == "gru":
            given["hidden"] = rng.normal(size=(2, environments, 64))
        single = {k: v.astype(np.float32) for k, v in given.items()}
        found = dict(zip(output_names(correction), session.run(None, single), strict=True))
        for name, value in expected(correction, given).items():
            np.testing.assert_allclose(found[name], value, atol=1e-5)
        parts = np.split(watched, np.cumsum([2, 2, 2])[: len(envelope.signals) - 1], axis=1)
        weight = correction.trusted(dict(zip(envelope.signals, parts, strict=True)))
        given = np.broadcast_to(found["weight"].reshape(environments, -1), weight.shape)
        np.testing.assert_allclose(given, weight, atol=1e-4)
    refuse_other_facts(correction, path)


def refuse_other_facts(correction: Correction, path: Path) -> None:
    """Whoever has only the file knows the robot, the joints, the rate and the inputs."""
    model = onnx.load(path)
    facts = {p.key: p.value for p in model.metadata_props}
    told = Contract.from_dict(json.loads(facts["contract"]))
    assert told.joints == correction.contract.joints
    assert told.widths == correction.contract.widths
    assert json.loads(facts["inputs"]).keys() == correction.contract.widths.keys()
    assert facts["fingerprint"] == correction.fingerprint()
    assert max(o.version for o in model.opset_import) >= 17
