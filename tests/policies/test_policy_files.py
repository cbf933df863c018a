"""Where a contract is found: folders, files beside a network, the network itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from policy_samples import small_contract

import small_networks as nets
from gapless.errors import DataError, FormatError
from gapless.policies import Policy
from gapless.policies.contract_json import KEY, contract_text
from gapless.policies.policy_contract import Ports
from gapless.policies.policy_files import load_policy
from gapless.robots import Robot

TOML = """
network = "{network}"
rate = {rate}
joints = ["a", "b", "c"]
default = 0
kp = 1
kd = 1
[action]
scale = 1
[[observation]]
terms = ["joint_pos"]
"""
DEPLOY = """
joint_ids_map: [0, 1, 2]
step_dt: 0.02
stiffness: [1, 1, 1]
damping: [1, 1, 1]
default_joint_pos: [0, 0, 0]
actions: {JointPositionAction: {scale: [1, 1, 1], offset: [0, 0, 0], clip: null, joint_ids: null}}
observations: {joint_pos_rel: {scale: null, clip: null, history_length: 1}}
"""
METADATA = {
    "joint_names": "a,b,c",
    "joint_stiffness": "1,1,1",
    "joint_damping": "1,1,1",
    "default_joint_pos": "0,0,0",
    "observation_names": "joint_pos",
    "action_scale": "1",
}


@pytest.fixture(scope="module")
def arm() -> Robot:
    """A robot of three motors."""
    return Robot.load("so101", mount="fixed", lock=["wrist_flex", "wrist_roll", "gripper"])


def filled(folder: Path, *files: str) -> Path:
    """A folder of such files: networks with a contract inside, contracts of both kinds."""
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".onnx":
            nets.constant(path, 3, (1.0, 2.0, 3.0), metadata=METADATA)
        elif path.suffix == ".toml":
            network = "policy.onnx" if path.stem == "policy" else f"{path.stem}.onnx"
            path.write_text(TOML.format(network=network, rate=100))
        else:
            path.write_text(DEPLOY)
    return folder


FOUND = {
    "policy.toml of a folder": (("policy.onnx", "policy.toml", "deploy.yaml"), ".", "policy.toml"),
    "policy.toml of a network": (("policy.onnx", "policy.toml"), "policy.onnx", "policy.toml"),
    "the contract itself": (("policy.onnx", "policy.toml"), "policy.toml", "policy.toml"),
    "of its own name": (("walk.onnx", "walk.toml", "policy.onnx"), "walk.onnx", "walk.toml"),
    "policy.toml of another": (("policy.onnx", "policy.toml", "b.onnx"), "b.onnx", "b.onnx"),
    "deploy.yaml beside": (("policy.onnx", "deploy.yaml"), "policy.onnx", "deploy.yaml"),
    "deploy.yaml of a folder": (("model.onnx", "deploy.yaml"), ".", "deploy.yaml"),
    "deploy.yaml itself": (("walk.onnx", "deploy.yaml"), "deploy.yaml", "deploy.yaml"),
    "a run of Unitree's": (
        ("exported/policy.onnx", "params/deploy.yaml"),
        ".",
        "params/deploy.yaml",
    ),
    "its network": (
        ("exported/policy.onnx", "params/deploy.yaml"),
        "exported/policy.onnx",
        "params/deploy.yaml",
    ),
    "its contract": (
        ("exported/policy.onnx", "params/deploy.yaml"),
        "params/deploy.yaml",
        "params/deploy.yaml",
    ),
    "metadata": (("walk.onnx",), "walk.onnx", "walk.onnx"),
    "metadata of a folder": (("walk.onnx",), ".", "walk.onnx"),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_contract_is_found(case: str, arm: Robot, tmp_path: Path) -> None:
    """policy.toml first, then deploy.yaml, then what the network carries."""
    files, given, source = FOUND[case]
    folder = filled(tmp_path / "run", *files)
    policy = Policy.load(str(folder / given), arm)
    assert policy.source.resolve() == (folder / source).resolve()
    assert policy.contract.rate == (100.0 if source.endswith(".toml") else 50.0)
    if given.endswith(".onnx"):
        assert policy.network.path.resolve() == (folder / given).resolve()


def test_the_name_does_not_depend_on_the_way_there(
    arm: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path without folders is the same policy."""
    filled(tmp_path / "walk", "policy.onnx", "policy.toml")
    filled(tmp_path / "run", "policy.onnx", "deploy.yaml")
    monkeypatch.chdir(tmp_path / "walk")
    assert Policy.load("policy.toml").name == "walk"
    monkeypatch.chdir(tmp_path / "run")
    assert load_policy(Path("deploy.yaml"), arm).name == "run"


def test_a_network_without_a_contract_is_told_what_to_write(tmp_path: Path) -> None:
    """With the widths that it has."""
    path = nets.constant(tmp_path / "policy.onnx", 7, (1.0, 2.0))
    with pytest.raises(FormatError, match=r"policy\.toml .*takes 7 numbers and gives 2"):
        Policy.load(path)


REFUSED = {
    "nothing": ((), ".", "no policy.toml and no deploy.yaml, and no .onnx"),
    "two networks": (("a.onnx", "b.onnx"), ".", "a.onnx, b.onnx; give one of its files"),
    "two beside a contract": (("a.onnx", "b.onnx", "deploy.yaml"), ".", "has 2 .onnx files"),
    "none beside a contract": (("deploy.yaml",), "deploy.yaml", "has 0 .onnx files"),
    "no file": ((), "walk.onnx", "walk.onnx does not exist"),
    "no contract": ((), "deploy.yaml", "deploy.yaml does not exist"),
    "no network": (("policy.toml",), "policy.toml", "policy.onnx does not exist"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_there_is_told(case: str, arm: Robot, tmp_path: Path) -> None:
    """With the file that is meant."""
    files, given, told = REFUSED[case]
    folder = filled(tmp_path / "run", *files)
    folder.mkdir(exist_ok=True)
    with pytest.raises(FormatError, match=told):
        load_policy(folder / given, arm)


def test_torch_files_are_refused_though_a_contract_lies_beside(tmp_path: Path) -> None:
    """The contract is that of another network."""
    folder = filled(tmp_path / "run", "policy.onnx", "policy.toml")
    shutil.copy(folder / "policy.onnx", folder / "policy.pt")
    with pytest.raises(FormatError, match=r"policy\.pt is a TorchScript .*torch\.onnx\.export"):
        Policy.load(folder / "policy.pt")


def own(path: Path, rate: float = 25.0) -> Path:
    """A network with our contract in its metadata, and other people's beside it."""
    contract = small_contract(rate=rate, name="own", ports=Ports("obs", "actions"))
    metadata = METADATA | {KEY: contract_text(contract)}
    return nets.constant(path, 3, (1.0, 2.0, 3.0), metadata=metadata)


def test_our_contract_in_a_network_counts_before_other_peoples(tmp_path: Path) -> None:
    """Before a deploy.yaml beside it and other metadata in it, after a policy.toml."""
    folder = tmp_path / "run"
    network = own(folder / "policy.onnx")
    filled(folder, "deploy.yaml")
    for given in (network, str(network)):
        policy = Policy.load(given)
        assert (policy.name, policy.contract.rate, policy.source) == ("own", 25.0, network)
        assert policy.contract == small_contract(
            rate=25.0, name="own", ports=Ports("obs", "actions")
        )
    filled(folder, "policy.toml")
    assert Policy.load(network).contract.rate == 100.0


def test_a_folder_with_our_network_alone_is_a_policy(tmp_path: Path) -> None:
    """Whatever the network is called."""
    network = own(tmp_path / "kick" / "best.onnx")
    assert Policy.load(network.parent).source == network


def test_our_contract_in_a_network_may_be_damaged(tmp_path: Path) -> None:
    """Then other metadata do not stand in for it."""
    path = tmp_path / "policy.onnx"
    nets.constant(path, 3, (1.0, 2.0, 3.0), metadata=METADATA | {KEY: '{"rate": 50'})
    with pytest.raises(FormatError, match=rf"policy\.onnx: {KEY} does not read as a contract"):
        Policy.load(path)
    wide = METADATA | {KEY: contract_text(small_contract("joint_pos", "joint_vel"))}
    nets.constant(path, 3, (1.0, 2.0, 3.0), metadata=wide)
    with pytest.raises(DataError, match=r"the contract builds 6 numbers .* the network takes 3"):
        Policy.load(path)
