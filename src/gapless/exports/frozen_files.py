"""The files of a FrozenCorrection: what its torch module needs to know, and its weights."""

from __future__ import annotations

from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_json, write_text_atomic
from gapless.corrections.models.model import columns_of_joints
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.envelope import FADE
from gapless.corrections.runtime.network import FAR
from gapless.learning.checkpoint import write_tensors

FACTS, WEIGHTS, MODULE = "correction.json", "correction.safetensors", "frozen_correction.py"
FORMAT = "gapless frozen correction 1"


def write_frozen(correction: Correction, folder: Path) -> tuple[str, ...]:
    """Write module, facts and weights into a folder; gives their names."""
    write_json(folder / FACTS, frozen_facts(correction))
    write_tensors(folder / WEIGHTS, frozen_weights(correction), {"format": FORMAT})
    write_text_atomic(folder / MODULE, standalone(MODULE))
    return FACTS, WEIGHTS, MODULE


def standalone(name: str) -> str:
    """The text of a file that is copied into exports as it is."""
    return resources.files("gapless.exports.standalone").joinpath(name).read_text("utf-8")


def expressible(correction: Correction | None) -> bool:
    """Whether a simulator that takes targets and torques can be corrected so."""
    return correction is not None and correction.contract.head in ("action", "torque")


def frozen_weights(correction: Correction) -> dict[str, np.ndarray]:
    """Weights and envelope, float32, by name."""
    arrays = dict(correction.weights)
    if correction.envelope is not None:
        arrays["envelope/mean"] = correction.envelope.mean
        arrays["envelope/whiten"] = correction.envelope.whiten
    return {name: np.ascontiguousarray(v, np.float32) for name, v in arrays.items()}


def frozen_facts(correction: Correction) -> dict[str, Any]:
    """All but the weights, with every column already looked up."""
    contract, network = correction.contract, correction.contract.network
    hidden = network.hidden(1, contract.members)
    return {
        "format": FORMAT,
        "head": contract.head,
        "rate": contract.rate,
        "joints": list(contract.joints),
        "outputs": list(contract.outputs),
        "signals": list(contract.signals),
        "model": contract.model,
        "members": contract.members,
        "bound": list(contract.bound),
        "rate_limit": contract.rate_limit,
        "hold": contract.hold,
        "history": contract.history,
        "far": FAR,
        "hidden": 0 if hidden is None else hidden.shape[-1],
        "inputs": {name: asdict(given) for name, given in network.inputs.items()},
        "columns": _columns(correction),
        "envelope": _envelope(correction),
        "depth": _depths(correction),
        "share": getattr(network, "share", None),
        "probes": getattr(network, "probes", 0),
        "basis": getattr(network, "basis", 0),
        "local": getattr(network, "local", False),
        "fingerprint": correction.fingerprint(),
        "made_by": correction.made_by,
    }


def _columns(correction: Correction) -> dict[str, Any]:
    """Which columns of an input each joint sees, where networks look at one joint each."""
    contract, envelope = correction.contract, correction.envelope
    found = {"outputs": contract.columns.tolist()}
    for name, given in contract.network.inputs.items():
        if contract.model == "actuator" or name == "asked":
            found[name] = columns_of_joints(given, contract.widths[name]).tolist()
    if envelope is not None and envelope.joint_by_joint:
        given = type(next(iter(contract.network.inputs.values())))(envelope.signals)
        found["watched"] = columns_of_joints(given, envelope.width).tolist()
    return found


def _envelope(correction: Correction) -> dict[str, Any] | None:
    envelope = correction.envelope
    if envelope is None:
        return None
    return {
        "signals": list(envelope.signals),
        "radius": envelope.radius,
        "joint_by_joint": envelope.joint_by_joint,
        "fade": FADE,
    }


def _depths(correction: Correction) -> dict[str, int]:
    """Layers of each part of the network."""
    biases = [name.split(".")[0] for name in correction.weights if name.endswith(".bias")]
    return {part: biases.count(part) for part in biases}
