"""Joints that share a network: numbers from the robot's motors, where they are asked for."""

from __future__ import annotations

import pytest

from gapless.closing import CloseSettings
from gapless.corrections.shared_motors import numbers_of, with_numbers
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.errors import DataError, NameMismatchError
from gapless.parameters.motors import motor_numbers
from gapless.recordings.recording import Recording
from gapless.robots import Robot


def test_motors_are_told_by_their_figures(so101: Robot) -> None:
    """Equal limits and inertia are one motor; another limit is another."""
    assert motor_numbers(so101) == (0,) * 6
    strong = so101.with_joints(effort=so101.joints.effort * [1, 1, 2, 2, 1, 1])
    assert motor_numbers(strong) == (0, 0, 1, 1, 0, 0)
    assert numbers_of({"share": motor_numbers(strong)}, so101, ["elbow_flex", "gripper"]) == [1, 0]
    assert numbers_of({}, so101, ["elbow_flex", "gripper"]) == [2, 5]


def test_joints_share_where_data_are_few(so101: Robot) -> None:
    """Below two seconds a joint, or always where it is asked for; nothing else changes."""
    told = {"history": 2, "share": "few"}
    assert with_numbers(told, so101, 6, 12.0) == {"history": 2}
    assert with_numbers(told, so101, 6, 11.0) == {"history": 2, "share": (0,) * 6}
    assert with_numbers({"share": "motors"}, so101, 6, 99.0) == {"share": (0,) * 6}
    assert with_numbers({"history": 2}, so101, 6, 1.0) == {"history": 2}


def test_wrong_shares_are_refused(so101: Robot) -> None:
    """Words and numbers that name no networks."""
    with pytest.raises(NameMismatchError, match="Did you mean 'motors'"):
        with_numbers({"share": "motor"}, so101, 6, 9.0)
    for wrong in ((0, 1), (0, 0, 0, 2, 2, 2), (0, 0, 0, 0, 0, -1), 3):
        with pytest.raises(DataError, match="expected 6 numbers"):
            with_numbers({"share": wrong}, so101, 6, 9.0)


def test_joints_that_share_are_normalised_alike(task: Task) -> None:
    """The same error is the same number to the network, whichever joint has it."""
    contract = contract_for(task.world, 50, model="actuator", settings={"share": (0, 0)})
    start = untrained(contract, task)
    for name in ("all.mean", "all.deviation"):
        pairs = start.weights[name].reshape(-1, 2)
        assert (pairs[:, 0] == pairs[:, 1]).all()
    own = untrained(contract_for(task.world, 50, model="actuator"), task)
    assert own.weights["all.deviation"][0] != own.weights["all.deviation"][1]


def test_close_asks_for_it(pair: Robot, waves: list[Recording]) -> None:
    """Of the model that can; what a user asks for comes first."""
    assert CloseSettings().suited_to(waves, pair).correction.model_settings["share"] == "few"
    assert "share" not in CloseSettings(model="mlp").suited_to(waves, pair).model_settings
    own = CloseSettings(model_settings={"history": 2}).suited_to(waves, pair)
    assert own.model_settings == {"history": 2}
