"""The contract in the metadata of an ONNX file, as mjlab and BeyondMimic write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gapless.errors import FormatError
from gapless.policies.contract_toml import VELOCITY
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import Action, Block, PolicyCommand, PolicyContract, Term
from gapless.policies.term_names import named_term

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
    data, path = network.metadata, network.path
    try:
        return _contract(data, network)
    except (ValueError, ArithmeticError) as error:
        raise FormatError(f"the metadata of {path} do not read as a contract: {error}") from error


def _contract(data: Mapping[str, str], network: OnnxNetwork) -> PolicyContract:
    path = network.path
    lacking = [k for k in NEEDED if k not in data]
    if lacking:
        raise FormatError(
            f"the metadata of {path} lack {', '.join(lacking)}. Export it again with mjlab's "
            "exporter, or write a policy.toml beside it; see docs/policies.md"
        )
    joints = tuple(_csv(data["joint_names"]))
    pose, kp, kd = (
        _numbers(data[k], k, path)
        for k in ("default_joint_pos", "joint_stiffness", "joint_damping")
    )
    scale = _numbers(data["action_scale"], "action_scale", path)
    tracks = "anchor_body_name" in data or "motion" in _csv(data.get("command_names", ""))
    terms, blocks = _observations(data, path, tracks)
    rate = _rate(data)
    notes = [] if rate else [f"the metadata do not say the rate; {RATE:g} Hz is taken"]
    commands = {}
    if any(t.kind == "command" for t in terms.values()):
        commands = {"velocity": PolicyCommand(*RANGE, VELOCITY)}
        notes.append("they do not say the range of commands either; 1 m/s and 1 rad/s are taken")
    return PolicyContract(
        name=path.stem,
        rate=rate or RATE,
        joints=joints,
        default=dict(zip(joints, pose, strict=len(pose) == len(joints))),
        kp=kp,
        kd=kd,
        action=Action("offset", scale),
        terms=terms,
        blocks=blocks,
        commands=commands,
        ports=network.ports,
        anchor=data.get("anchor_body_name", ""),
        bodies=tuple(_csv(data.get("body_names", ""))),
        notes=tuple(notes),
    )


def _rate(data: Mapping[str, str]) -> float | None:
    found = [1 / float(data[k]) for k in STEPS if k in data]
    found += [float(data[k]) for k in RATES if k in data]
    return found[0] if found else None


def _observations(
    data: Mapping[str, str], path: Path, tracks: bool
) -> tuple[dict[str, Term], tuple[Block, ...]]:
    names = _csv(data["observation_names"])
    scales = _each(data, "observation_terms_scale", names, "1", path)
    clips = _each(data, "observation_terms_clip", names, "-inf;inf", path)
    counted = next((key for key in FRAMES if key in data), FRAMES[0])
    frames = _each(data, counted, names, "0", path)
    terms = {}
    for name, scale, clip in zip(names, scales, clips, strict=True):
        wide = tuple(float(v) for v in scale.split(";"))
        term = named_term(name, {}, wide, f"the metadata of {path}", tracks)
        low, high = (float(v) for v in clip.split(";"))
        bounded = np.isfinite([low, high]).any()
        terms[name] = Term(**{**vars(term), "clip": (low, high)}) if bounded else term
    counts = [max(1, round(float(f))) for f in frames]
    return terms, tuple(Block((n,), count) for n, count in zip(names, counts, strict=True))


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
