"""`policy.toml`: the contract of any policy, or what another format leaves unsaid."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gapless.errors import FormatError
from gapless.policies.contract_fields import (
    beside,
    contract_of_fields,
    network_of_fields,
    ports_of_fields,
    refuse_unknown,
)
from gapless.policies.contract_json import KEY, contract_of
from gapless.policies.deploy_yaml import deploy_fields
from gapless.policies.onnx_metadata import metadata_fields
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.own_fields import fields_of_contract
from gapless.policies.policy_contract import PolicyContract
from gapless.robots import Robot
from gapless.toml_file import load_toml

FORMAT = "gapless policy 1"
TOP = (
    *("format", "extends", "name", "robot", "network", "rate", "physics_step", "joints", "default"),
    *("kp", "kd", "hold", "clip", "normaliser", "action", "terms", "observation", "commands"),
    *("motion", "notes"),
)
METADATA = "metadata"
"""What `extends` says of an ONNX whose metadata are meant; else it names a `deploy.yaml`."""


def read_toml(path: Path, robot: Robot | None = None) -> tuple[PolicyContract, Path]:
    """The contract of a file, and the network that it names.

    A file that extends the metadata of the network, or a `deploy.yaml`, says only what is missing
    or different there.

    Args:
        path: of the file.
        robot: whose motors a `deploy.yaml` speaks of; the one that the file names by default.
    """
    data = load_toml(path)
    refuse_unknown(data, TOP, str(path))
    if data.get("format", FORMAT) != FORMAT:
        raise FormatError(f"{path}: format is {data['format']!r}; expected {FORMAT!r}")
    whose, file = "", network_of_fields(data).get("file")
    if "extends" in data and isinstance(file, str):
        try:
            data, whose = _extended(data, path.parent / file, path, robot)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise FormatError(f"{path} does not read as a contract: {error}") from error
    lacking = [k for k in ("rate", "observation", "action") if k not in data]
    lacking += [] if isinstance(file, str) else ["network"]
    if "robot" not in data:
        own = [k for k in ("joints", "default", "kp", "kd") if k not in data]
        lacking += [f"{', '.join(own)} (or robot, to take its own)"] if own else []
    if lacking:
        raise FormatError(f"{path} lacks {', '.join(lacking)}; see docs/policies.md")
    return contract_of_fields(data, whose, path), path.parent / str(file)


def _extended(
    own: Mapping[str, Any], network: Path, path: Path, robot: Robot | None
) -> tuple[dict[str, Any], str]:
    """The fields of a file over those that it extends; and whose motors those speak of."""
    said, whose = own["extends"], ""
    if said == METADATA:
        carrier = OnnxNetwork(network, ports_of_fields(own, path))
        if KEY in carrier.metadata:
            ours = contract_of(carrier.metadata[KEY], str(network))
            base, whose = fields_of_contract(ours), ours.robot
        else:
            base = metadata_fields(carrier, own)
    elif isinstance(said, str) and os.path.isfile(path.parent / said):
        if robot is None and "robot" in own:
            robot = Robot.load(beside(own["robot"], path))
        base, whose = deploy_fields(path.parent / said, robot, own)
    else:
        raise FormatError(
            f"{path}: extends is {said!r}; expected {METADATA!r}, or a deploy.yaml beside it"
        )
    base = _of_joints(base, own["joints"]) if "joints" in own else base
    return _merged(base, {**own, "network": network_of_fields(own)}), whose


def _of_joints(base: dict[str, Any], joints: Sequence[str]) -> dict[str, Any]:
    """The same for some of the joints alone; the others are held where they stand."""
    known, action = list(base["joints"]), dict(base["action"])
    others = {j: base["default"][j] for j in known if j not in joints}
    for table, key in ((base, "kp"), (base, "kd"), (action, "scale"), (action, "offset")):
        numbers = table.get(key, ())
        listed = isinstance(numbers, list | tuple) and len(numbers) == len(known)
        if listed and set(joints) <= set(known):
            table[key] = [numbers[known.index(j)] for j in joints]
    return {**base, "action": action, "hold": {**others, **base.get("hold", {})}}


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Tables key by key, all else as a whole; what stands last counts."""
    found = dict(base)
    for key, value in own.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
        found[key] = _merged(found[key], value) if both else value
    return found
