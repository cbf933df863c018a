"""Corrections on disk: weights as safetensors, the contract as JSON, complete or absent."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import provenance, read_json, staged, write_json
from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.envelope import Envelope
from gapless.errors import FormatError
from gapless.learning.checkpoint import read_tensors, write_tensors
from gapless.verdict import Verdict

FORMAT = "gapless correction 2"
READ = ("gapless correction 1", FORMAT)
"""The first had one envelope for all joints, and did not say how often it was left."""

CONTRACT, WEIGHTS = "correction.json", "weights.safetensors"


def save(correction: Correction, path: Path, overwrite: bool = False) -> None:
    """Write a folder; see `Correction.save`."""
    with staged(path, overwrite) as folder:
        arrays = {f"network/{k}": v for k, v in correction.weights.items()}
        if correction.envelope is not None:
            arrays["envelope/mean"] = correction.envelope.mean
            arrays["envelope/whiten"] = correction.envelope.whiten
        write_tensors(folder / WEIGHTS, arrays, {"format": FORMAT})
        write_json(folder / CONTRACT, _facts(correction))


def _facts(correction: Correction) -> dict[str, Any]:
    envelope = correction.envelope
    return {
        "format": FORMAT,
        "contract": correction.contract.to_dict(),
        "inputs": {
            name: {**asdict(given), "columns": correction.contract.widths[name]}
            for name, given in correction.network.inputs.items()
        },
        "envelope": None
        if envelope is None
        else {"signals": list(envelope.signals), "radius": envelope.radius},
        "choose": None if correction.choose is None else correction.choose.to_dict(),
        "test": None if correction.test is None else correction.test.to_dict(),
        "faded": correction.faded,
        "fingerprint": correction.fingerprint(),
        "made_by": correction.made_by or provenance(),
    }


def load(path: Path) -> Correction:
    """Read a folder that `save` wrote."""
    if not (path / CONTRACT).is_file():
        raise FormatError(
            f"{path} is no correction: expected a folder with {CONTRACT} and {WEIGHTS}, as "
            "gapless correct writes it"
        )
    facts = read_json(path / CONTRACT)
    if not isinstance(facts, dict) or facts.get("format") not in READ:
        raise FormatError(f"{path / CONTRACT} is not of format {' or '.join(READ)}")
    arrays, _ = read_tensors(path / WEIGHTS)
    try:
        found = _read(facts, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is damaged: {error!r}") from error
    if found.fingerprint() != facts.get("fingerprint"):
        raise FormatError(f"{path}: the weights are not those the contract was written with")
    return found


def _read(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Correction:
    envelope = facts["envelope"]
    return Correction(
        contract=Contract.from_dict(facts["contract"]),
        weights={k.split("/", 1)[1]: v for k, v in arrays.items() if k.startswith("network/")},
        envelope=None
        if envelope is None
        else Envelope(
            tuple(envelope["signals"]),
            arrays["envelope/mean"],
            arrays["envelope/whiten"],
            float(envelope["radius"]),
        ),
        choose=Verdict.from_dict(facts["choose"]),
        test=Verdict.from_dict(facts["test"]),
        faded=dict(facts.get("faded", {})),
        made_by=dict(facts["made_by"]),
    )
