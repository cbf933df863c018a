"""A contract refuses every world that the correction was not made for, and says why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gapless.corrections import CorrectedWorld
from gapless.corrections.runtime.contract import Contract
from gapless.errors import FormatError, GaplessError, ModelError
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from hidden_pair import STEP


def test_the_world_it_was_made_for_is_accepted(made, world: MujocoWorld) -> None:
    """Also at a multiple of its rate."""
    correction = made()
    for rate in (50.0, 100.0):
        corrected = CorrectedWorld(world.at_rate(rate), None, [correction])
        assert corrected.rate == rate
        assert correction.fingerprint() in corrected.identity.effects_hash


def test_another_robot_is_refused(made, pair: Robot) -> None:
    """By its name."""
    other = replace(pair, name="so102")
    with pytest.raises(ModelError, match="robot 'so101', the world's is 'so102'"):
        CorrectedWorld(MujocoWorld(other), None, [made()])


@pytest.mark.parametrize("rate", [25.0, 75.0])
def test_a_rate_it_cannot_act_at_is_refused(made, pair: Robot, rate: float) -> None:
    """Slower than the correction, or no multiple of it."""
    with pytest.raises(ModelError, match=f"acts at 50 Hz, the world at {rate:g} Hz.*multiple"):
        CorrectedWorld(MujocoWorld(pair, rate, physics_step=STEP), None, [made()])


def test_other_joints_are_refused(made) -> None:
    """The message names those that are missing and those that are beside."""
    robot = Robot.load("so101", lock=["elbow_flex", "wrist_flex", "wrist_roll", "gripper"])
    with pytest.raises(ModelError, match="lacks elbow_flex and has shoulder_pan beside"):
        CorrectedWorld(MujocoWorld(robot), None, [made()])


def test_another_order_of_joints_is_refused(made, pair: Robot) -> None:
    """Columns would be mixed up silently."""
    turned = replace(pair, joints=pair.joints.select(pair.joints.names[::-1]))
    with pytest.raises(ModelError, match="another order"):
        CorrectedWorld(MujocoWorld(turned), None, [made()])


@pytest.mark.parametrize("change", ["gain", "payload", "delay"])
def test_other_figures_are_refused(made, pair: Robot, change: str) -> None:
    """A correction belongs to the calibration it was learned on top of."""
    robot = {
        "gain": pair.with_joints(kp=1.1 * pair.joints.kp),
        "payload": pair.with_payloads({"gripper": Payload(0.1)}),
        "delay": pair,
    }[change]
    effects = Effects(delay=0.02) if change == "delay" else None
    with pytest.raises(ModelError, match=r"other parameters.*--calibration"):
        CorrectedWorld(MujocoWorld(robot, effects=effects, physics_step=STEP), None, [made()])


@pytest.mark.parametrize("model", ["mlp", "gru", "operator"])
def test_a_contract_survives_json(made, model: str) -> None:
    """Nothing is lost on the way to a file and back."""
    contract = made(model, members=2, rate_limit=0.5).contract
    again = Contract.from_dict(json.loads(json.dumps(contract.to_dict())))
    assert again == contract
    assert again.widths == contract.widths


def test_a_damaged_contract_is_refused(made) -> None:
    """A field that is missing or unknown, or a network that does not exist."""
    data = made().contract.to_dict()
    without = {k: v for k, v in data.items() if k != "joints"}
    for wrong in (without, {**data, "colour": "red"}):
        with pytest.raises(FormatError, match="damaged"):
            Contract.from_dict(wrong)
    with pytest.raises(GaplessError, match="Did you mean 'operator'"):
        Contract.from_dict({**data, "model": "operater"})


def test_a_contract_moves_to_another_world(made, soft: Robot) -> None:
    """`on` takes the figures of the new world and keeps the rest."""
    contract, world = made().contract, MujocoWorld(soft, physics_step=STEP)
    found = contract.on(world)
    found.require(world)
    assert found.bound == contract.bound
    assert found.model_hash != contract.model_hash
