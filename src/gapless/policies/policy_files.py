"""Where a policy's contract is found: a folder, a contract file, or an ONNX with its own."""

from __future__ import annotations

import os
from pathlib import Path

from gapless.errors import DataError, FormatError
from gapless.policies.contract_json import KEY, contract_of
from gapless.policies.contract_toml import METADATA, read_toml
from gapless.policies.deploy_yaml import read_deploy
from gapless.policies.onnx_metadata import has_contract, read_metadata
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy import Policy
from gapless.policies.policy_contract import Ports
from gapless.robots import Robot

CONTRACT, DEPLOY = "policy.toml", "deploy.yaml"
BESIDE = (".", "params", "..", "../params")
"""Where Unitree's tools put deploy.yaml, seen from the network."""
NETWORKS = ("policy.onnx", "exported/policy.onnx", "model.onnx")


def load_policy(path: Path, robot: Robot | None = None) -> Policy:
    """Read a policy.

    A `policy.toml` (or NAME.toml of a NAME.onnx) counts first, and may extend others; then a
    contract of ours in the network's metadata, then a `deploy.yaml`, then what other metadata say.

    Args:
        path: a folder, a contract (.toml, .yaml) or a network (.onnx).
        robot: names the motors of a `deploy.yaml`, which has no names.
    """
    if not path.exists():
        raise FormatError(f"{path} does not exist; check the path")
    if path.is_dir():
        return _folder(path, robot)
    if path.suffix.lower() == ".toml":
        contract, network = read_toml(path, robot)
        return Policy(contract, OnnxNetwork(network, contract.ports), path)
    if path.suffix.lower() in (".yaml", ".yml"):
        return _deployed(path, _network_of(path.parent), robot)
    for beside in (path.with_suffix(".toml"), path.parent / CONTRACT):
        if beside.is_file() and read_toml(beside, robot)[1].resolve() == path.resolve():
            return load_policy(beside, robot)
    network = OnnxNetwork(path, Ports())
    if KEY in network.metadata:
        contract = contract_of(network.metadata[KEY], str(path))
        return Policy(contract, OnnxNetwork(path, contract.ports), path)
    for place in BESIDE:
        if (path.parent / place / DEPLOY).is_file():
            return _deployed(path.parent / place / DEPLOY, path, robot)
    if has_contract(network.metadata):
        try:
            return Policy(read_metadata(network), network, path)
        except DataError as error:
            raise _extendable(error, path, METADATA) from error
    raise FormatError(
        f"{path} says nothing of what it sees and commands. Put a {CONTRACT} beside it with: rate, "
        "joints in order, kp, kd, default, action.scale, and the [[observation]] terms in order "
        f"(it takes {network.width} numbers and gives {network.actions}); see docs/policies.md"
    )


def _folder(path: Path, robot: Robot | None) -> Policy:
    if (path / CONTRACT).is_file():
        return load_policy(path / CONTRACT, robot)
    for place in (".", "params"):
        if (path / place / DEPLOY).is_file():
            return _deployed(path / place / DEPLOY, _network_of(path), robot)
    networks = sorted(path.glob("*.onnx"))
    if len(networks) == 1:
        return load_policy(networks[0], robot)
    seen = ", ".join(p.name for p in networks) or "no .onnx"
    raise FormatError(
        f"{path} has no {CONTRACT} and no {DEPLOY}, and {seen}; give one of its files"
    )


def _network_of(folder: Path) -> Path:
    for place in (folder, folder.parent):
        for name in NETWORKS:
            if (place / name).is_file():
                return place / name
    found = sorted(folder.glob("*.onnx"))
    if len(found) != 1:
        raise FormatError(
            f"{folder} has {len(found)} .onnx files beside its {DEPLOY}; expected one"
        )
    return found[0]


def _deployed(path: Path, network: Path, robot: Robot | None) -> Policy:
    try:
        contract = read_deploy(path, robot)
        return Policy(contract, OnnxNetwork(network, contract.ports), path)
    except DataError as error:
        said = os.path.relpath(path, network.parent)
        raise _extendable(error, network, said) from error


def _extendable(error: DataError, network: Path, said: str) -> DataError:
    """The same with how to add what is missing; all else need not be written again."""
    if (network.parent / CONTRACT).exists():
        return error
    return DataError(
        f"{error}. To add or change something, put a {CONTRACT} beside {network.name} that has "
        f"network = {network.name!r}, extends = {said!r}, and that; see docs/policies.md"
    )
