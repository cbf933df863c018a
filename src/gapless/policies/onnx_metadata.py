"""The contract in the metadata of an ONNX file, as mjlab and BeyondMimic write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.policies.contract_fields import contract_of_fields
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.term_names import named_terms

NEEDED = (
    *("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos"),
    *("observation_names", "action_scale"),
)
RATE = 50.0
"""Both train at 50 Hz, and write it nowhere."""
STEPS, RATES = ("step_dt", "control_dt", "policy_dt"), ("control_rate", "control_frequency", "rate")
"""Where other people's exporters do write it."""
FRAMES = ("observation_terms_history_length", "observation_history_lengths")
"""mjlab's name for it, and BeyondMimic's."""
RANGE = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))


def has_contract(metadata: Mapping[str, str]) -> bool:
    """Whether a network carries a contract at all."""
    return "joint_names" in metadata


def read_metadata(network: OnnxNetwork) -> PolicyContract:
    """The contract that a network carries."""
    return contract_of_fields(metadata_fields(network, {}), "", network.path)


def metadata_fields(network: OnnxNetwork, own: Mapping[str, Any]) -> dict[str, Any]:
    """What the metadata say, as the fields of a `policy.toml`.

    Args:
        network: that carries them.
        own: fields of the user's own, of which nothing is assumed.
    """
    data, path = network.metadata, network.path
    lacking = [k for k in NEEDED if k not in data]
    if lacking:
        raise FormatError(
            f"the metadata of {path} lack {', '.join(lacking)}. Export it again with mjlab's "
            "exporter, or write a policy.toml beside it; see docs/policies.md"
        )
    try:
        return _fields(data, network, own)
    except (ValueError, ArithmeticError) as error:
        raise FormatError(f"the metadata of {path} do not read as a contract: {error}") from error


def _fields(
    data: Mapping[str, str], network: OnnxNetwork, own: Mapping[str, Any]
) -> dict[str, Any]:
    path, joints = network.path, _csv(data["joint_names"])
    pose, kp, kd, scale = (
        _numbers(data[k], k, path)
        for k in ("default_joint_pos", "joint_stiffness", "joint_damping", "action_scale")
    )
    tracks = "anchor_body_name" in data or "motion" in _csv(data.get("command_names", ""))
    terms, blocks = _observations(data, path, tracks, own)
    rate = _rate(data)
    notes = (
        [] if rate or "rate" in own else [f"the metadata do not say the rate; {RATE:g} Hz is taken"]
    )
    commands = {}
    if any(entry["kind"] == "command" for entry in terms.values()):
        commands = {"velocity": {"lower": RANGE[0], "upper": RANGE[1]}}
        if "commands" not in own:
            notes.append("nor the range of commands; 1 m/s and 1 rad/s are taken")
    ports = asdict(network.ports)
    ports["observation"] = list(network.ports.seen)
    return {
        "rate": rate or RATE,
        "joints": joints,
        "default": dict(zip(joints, pose, strict=len(pose) == len(joints))),
        "kp": kp,
        "kd": kd,
        "action": {"scale": scale[0] if len(scale) == 1 else list(scale)},
        "terms": {n: _of_all(entry, joints) for n, entry in terms.items()},
        "observation": blocks,
        "commands": commands,
        "network": ports,
        "motion": {
            "anchor": data.get("anchor_body_name", ""),
            "bodies": _csv(data.get("body_names", "")),
        },
        "notes": notes,
    }


def _of_all(entry: dict[str, Any], joints: list[str]) -> dict[str, Any]:
    """Terms of joints are of all joints, also where a user says that some of them are moved."""
    return entry | ({"joints": joints} if entry["kind"].startswith("joint_") else {})


def _rate(data: Mapping[str, str]) -> float | None:
    found = [1 / float(data[k]) for k in STEPS if k in data]
    found += [float(data[k]) for k in RATES if k in data]
    return found[0] if found else None


def _observations(
    data: Mapping[str, str], path: Path, tracks: bool, own: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    names = _csv(data["observation_names"])
    scales = _each(data, "observation_terms_scale", names, "1", path)
    clips = _each(data, "observation_terms_clip", names, "-inf;inf", path)
    counted = next((key for key in FRAMES if key in data), FRAMES[0])
    frames = _each(data, counted, names, "0", path)
    where = f"the metadata of {path}"
    terms = named_terms({name: {} for name in names}, where, own.get("terms", {}), tracks)
    for name, scale, clip in zip(names, scales, clips, strict=True):
        terms[name]["scale"] = [float(v) for v in scale.split(";")]
        low, high = (float(v) for v in clip.split(";"))
        if np.isfinite([low, high]).any():
            terms[name]["clip"] = [low, high]
    counts = [max(1, round(float(f))) for f in frames]
    blocks = [{"terms": [n], "frames": count} for n, count in zip(names, counts, strict=True)]
    return terms, blocks


def _each(data: Mapping[str, str], key: str, names: list[str], usual: str, path: Path) -> list[str]:
    found = _csv(data[key]) if data.get(key) else [usual] * len(names)
    if len(found) != len(names):
        raise FormatError(
            f"the metadata of {path} have {len(found)} values of {key}; expected {len(names)}"
        )
    return found


def _csv(text: str) -> list[str]:
    """Parts of a list, with or without the brackets and quotes of JSON or Python."""
    parts = (part.strip(" []()'\"\n") for part in text.split(","))
    return [part for part in parts if part]


def _numbers(text: str, key: str, path: Path) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in _csv(text))
    except ValueError as error:
        raise FormatError(f"the metadata of {path}: {key} is no list of numbers: {error}") from None
