"""A `policy.toml` that extends what a network's metadata say."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_networks as nets
from gapless.errors import DataError, FormatError
from gapless.policies import Policy
from gapless.policies.contract_toml import read_toml

METADATA = {
    "joint_names": "hip,knee,wrist",
    "joint_stiffness": "40,99,5",
    "joint_damping": "2,6,1",
    "default_joint_pos": "-0.1,0.3,0.5",
    "command_names": "twist",
    "observation_names": "base_ang_vel,joint_pos,actions,command,phase,scan",
    "action_scale": "0.5,0.4,0.3",
}
EXTENDS = """
network = "policy.onnx"
extends = "metadata"
rate = 100
[commands.velocity]
upper = [2, 0, 1]
[terms.phase]
period = 0.6
[terms.scan]
kind = "constant"
value = [0.3, 0.3]
"""


def test_what_metadata_leave_unsaid_is_added(tmp_path: Path) -> None:
    """Tables key by key; nothing is assumed of what is said."""
    nets.constant(tmp_path / "policy.onnx", 16, (0.0,) * 3, metadata=METADATA)
    with pytest.raises(DataError, match=r"not known here: scan\..*extends = 'metadata'"):
        Policy.load(tmp_path / "policy.onnx")
    (tmp_path / "policy.toml").write_text(EXTENDS)
    contract = Policy.load(tmp_path / "policy.onnx").contract
    assert (contract.rate, contract.gains["knee"]) == (100.0, (99.0, 6.0))
    velocity = contract.commands["velocity"]
    assert (velocity.lower, velocity.upper) == ((-1.0, -1.0, -1.0), (2.0, 0.0, 1.0))
    assert contract.terms["phase"].options == {"period": 0.6}
    assert contract.notes == ()


def test_some_of_the_joints_of_the_metadata_may_be_moved(tmp_path: Path) -> None:
    """All are seen, the others are held where they stand."""
    nets.constant(tmp_path / "policy.onnx", 15, (0.0, 0.0), metadata=METADATA)
    some = EXTENDS.replace("rate", 'joints = ["knee", "hip"]\nrate')
    (tmp_path / "policy.toml").write_text(some)
    contract = Policy.load(tmp_path).contract
    assert (contract.joints, contract.kp) == (("knee", "hip"), (99.0, 40.0))
    assert contract.action.scale == (0.4, 0.5)
    assert contract.hold == {"wrist": 0.5}
    assert contract.terms["joint_pos"].joints == ("hip", "knee", "wrist")


def test_only_what_can_be_extended_is(tmp_path: Path) -> None:
    """Named with what was expected, never a traceback."""
    nets.constant(tmp_path / "policy.onnx", 16, (0.0,) * 3, metadata=METADATA)
    for text, told in {
        EXTENDS.replace(
            '"metadata"', '"deploy.yaml"'
        ): r"extends is 'deploy.yaml'; expected 'metad",
        'network = "policy.onnx"\nextends = "metadata"\nterms = 5': "does not read as a contract",
    }.items():
        (tmp_path / "policy.toml").write_text(text)
        with pytest.raises(FormatError, match=told):
            read_toml(tmp_path / "policy.toml")
