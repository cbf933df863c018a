"""A contract as the fields of a `policy.toml`, so that another file may extend it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gapless.policies.policy_contract import PolicyContract, Term


def fields_of_contract(contract: PolicyContract) -> dict[str, Any]:
    """Inverse of `contract_of_fields`; the robot is not named, its numbers are all here."""
    action = {k: _listed(v) for k, v in asdict(contract.action).items() if v not in (None, ())}
    ports = {k: _listed(v) for k, v in asdict(contract.ports).items() if v}
    found: dict[str, Any] = {
        "rate": contract.rate,
        "joints": list(contract.joints),
        "default": dict(contract.default),
        "kp": list(contract.kp),
        "kd": list(contract.kd),
        "hold": dict(contract.hold),
        "action": action | {"scale": _scales(contract)},
        "terms": {name: _entry(term) for name, term in contract.terms.items()},
        "observation": [{**asdict(b), "terms": list(b.terms)} for b in contract.blocks],
        "commands": {name: asdict(command) for name, command in contract.commands.items()},
        "network": ports,
        "motion": {"anchor": contract.anchor, "bodies": list(contract.bodies)},
        "notes": list(contract.notes),
    }
    if contract.mean:
        found["normaliser"] = {"mean": list(contract.mean), "std": list(contract.std)}
    return found | _where_said(contract, found["motion"])


def _where_said(contract: PolicyContract, motion: dict[str, Any]) -> dict[str, Any]:
    """What a contract may leave open."""
    if contract.motion_seconds is not None:
        motion["seconds"] = contract.motion_seconds
    if contract.reference:
        motion["file"] = contract.reference
    said = {"clip": contract.clip, "physics_step": contract.physics_step}
    return {key: _listed(value) for key, value in said.items() if value is not None}


def _scales(contract: PolicyContract) -> list[float] | float:
    scale = contract.action.scale
    return scale[0] if len(scale) == 1 else list(scale)


def _entry(term: Term) -> dict[str, Any]:
    entry = {"kind": term.kind, "scale": list(term.scale), "ago": term.ago, **term.options}
    entry |= {k: list(getattr(term, k)) for k in ("joints", "columns") if getattr(term, k)}
    return entry | ({"clip": list(term.clip)} if term.clip is not None else {})


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
