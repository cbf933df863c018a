"""A contract as plain JSON, in a file or in the metadata of an ONNX; reading it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from gapless.errors import FormatError
from gapless.policies.policy_contract import (
    Action,
    Block,
    PolicyCommand,
    PolicyContract,
    Ports,
    Term,
)

KEY = "gapless_contract"
"""Key of the metadata that holds a contract of ours."""


_DAMAGED = (ValueError, TypeError, AttributeError, LookupError, RecursionError, OverflowError)
"""What a text that is no contract may raise on its way to one."""


def contract_text(contract: PolicyContract) -> str:
    """The contract as one line of JSON; bounds on one side only are written as Infinity."""
    return json.dumps(contract.to_dict(), sort_keys=True)


def contract_of(text: str, where: str) -> PolicyContract:
    """Inverse of `contract_text`."""
    try:
        return _contract(json.loads(text))
    except _DAMAGED as error:
        raise FormatError(f"{where}: {KEY} does not read as a contract: {error!r}") from error


def _contract(data: Mapping[str, Any]) -> PolicyContract:
    given = {k: _plain(v) for k, v in data.items()}
    unknown = set(given) - {f.name for f in fields(PolicyContract)}
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    given["action"] = Action(**_tuples(data["action"]))
    given["ports"] = Ports(**_tuples(data.get("ports", {})))
    given["terms"] = {k: Term(**_tuples(v)) for k, v in data["terms"].items()}
    given["blocks"] = tuple(Block(**_tuples(block)) for block in data["blocks"])
    given["commands"] = {
        k: PolicyCommand(**_tuples(v)) for k, v in data.get("commands", {}).items()
    }
    return PolicyContract(**given)


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _plain(v) for k, v in data.items()}


def _plain(value: Any) -> Any:
    """Lists as the tuples that they were."""
    return tuple(_plain(v) for v in value) if isinstance(value, list) else value
