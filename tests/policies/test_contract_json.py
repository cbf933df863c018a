"""Contracts as JSON: whole there and back, and refused where they are damaged."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policy_samples import POSE, VELOCITY, one_term, small_contract

from asap_contract import asap_contract
from gapless.errors import DataError, FormatError, GaplessError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.contract_json import KEY, contract_of, contract_text
from gapless.policies.contract_toml import read_toml
from gapless.policies.policy_contract import Action, Block, PolicyContract, Ports
from gapless.policies.terms import KINDS
from gapless.robots import Robot
from gapless.tracking.tracking_contract import tracking_contract
from pendulum import pendulum, swings

NEEDED = {
    **{kind: {"period": 0.8, "offsets": [0.0, 0.5]} for kind in KINDS if kind.startswith("gait")},
    "constant": {"value": [1.0, 2.0]},
}
"""Options without which a kind of term means nothing."""


def assert_whole(contract: PolicyContract) -> None:
    """Equal, as far as JSON tells lists from tuples: within options it does not."""
    text = contract_text(contract)
    again = contract_of(text, "here")
    assert contract_text(again) == text
    assert again == contract
    assert again.width == contract.width


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_term_comes_back(kind: str) -> None:
    """With its scale, clip and options."""
    assert_whole(one_term(kind, (0.5,), (-3.0, 3.0), **NEEDED.get(kind, {})))


FULL: dict[str, Any] = {
    "action": Action("increment", (0.1, 0.2, 0.3), POSE, (-5.0, 5.0), ((-1.0, 1.0),) * 3),
    "blocks": (Block(("joint_pos",), 4, "frame", "first", False, "zeros"),),
    "commands": {"velocity": VELOCITY},
    "hold": {"wrist": 0.5},
    "clip": (-18.0, 18.0),
    "ports": Ports("obs", "actions", {"h_in": "h_out"}, "step", {"joint_pos": "q"}),
    "physics_step": 0.005,
    "motion_seconds": 2.0,
    "reference": "motion.npz",
    "anchor": "torso",
    "bodies": ("pelvis", "torso"),
    "robot": "g1",
    "notes": ("one", "two"),
}


def test_every_field_comes_back() -> None:
    """Tuples as tuples, so that contracts can be compared."""
    assert set(FULL) < set(vars(small_contract()))
    assert_whole(small_contract(**FULL))
    assert_whole(small_contract())


def test_bounds_on_one_side_come_back() -> None:
    """mjlab clips some terms only from below."""
    assert_whole(
        replace(one_term("joint_pos", clip=(0.0, float("inf"))), clip=(-1.0, float("inf")))
    )


@pytest.mark.parametrize("sight", ["asap", "beyondmimic"])
@pytest.mark.parametrize("action", ["residual", "default"])
def test_contracts_of_our_trackers_come_back(sight: str, action: str, tmp_path: Path) -> None:
    """As trainings write them."""
    robot = pendulum(tmp_path)
    frames = MotionFrames.of(swings(), robot)
    assert_whole(tracking_contract(frames, robot, sight, action, 0.005))


SHARED = ("unitree_rl_lab_g1_velocity", "unitree_rl_mjlab_g1_velocity")


@pytest.mark.parametrize("name", SHARED)
def test_contracts_of_public_policies_come_back(name: str, shared_data: Path) -> None:
    """Read from other people's files."""
    folder = shared_data / "policies" / name
    if not folder.is_dir():
        pytest.skip("the public policies are not on this machine")
    assert_whole(Policy.load(folder, Robot.load("g1")).contract)


def test_a_contract_written_by_hand_comes_back(tmp_path: Path) -> None:
    """ASAP's layout, in some twenty lines of TOML."""
    assert_whole(read_toml(asap_contract(tmp_path / "policy.toml", tmp_path / "p.onnx"))[0])


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.5, 0.99])
def test_a_text_that_was_cut_short_is_refused(cut: float) -> None:
    """With where it came from."""
    text = contract_text(small_contract(**FULL))
    with pytest.raises(FormatError, match=rf"p\.onnx: {KEY} does not read as a contract"):
        contract_of(text[: int(cut * len(text))], "p.onnx")


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "[" * 100_000, "{}"])
def test_json_of_something_else_is_refused(text: str) -> None:
    """However deep it is."""
    with pytest.raises(FormatError, match="does not read as a contract"):
        contract_of(text, "p.onnx")


ODD = [None, 7, "x", [], [[]], {}, {"a": []}, [10**400], 10**400, True]


@pytest.mark.parametrize("field", sorted(small_contract(**FULL).to_dict()))
def test_a_field_of_another_kind_is_never_another_error(field: str) -> None:
    """It is refused, or it is a whole contract all the same."""
    data = json.loads(contract_text(small_contract(**FULL)))
    for value in ODD:
        with suppress(GaplessError):
            assert contract_of(json.dumps(data | {field: value}), "p.onnx")


def test_fields_that_are_unknown_or_missing_are_named() -> None:
    """A contract of a later version is not half read."""
    data = json.loads(contract_text(small_contract()))
    with pytest.raises(FormatError, match=r"unknown fields \['speed'\]"):
        contract_of(json.dumps(data | {"speed": 3}), "p.onnx")
    del data["kp"]
    with pytest.raises(FormatError, match="kp"):
        contract_of(json.dumps(data), "p.onnx")


def test_what_is_wrong_in_itself_is_told_as_of_any_contract() -> None:
    """The field that mends it."""
    data = json.loads(contract_text(small_contract())) | {"rate": 0.0}
    with pytest.raises(DataError, match=r"rate is 0\.0"):
        contract_of(json.dumps(data), "p.onnx")
