"""A correction before training: of the right joints, normalised, and almost nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapless.corrections.training.task import Task
from gapless.corrections.training.training_windows import recorded_signals
from gapless.corrections.training.untrained import (
    contract_for,
    corrected_joints,
    untrained,
)
from gapless.errors import DataError, NameMismatchError
from gapless.robots import Robot


@pytest.mark.parametrize("model", ["mlp", "gru", "operator"])
def test_a_new_correction_gives_almost_nothing(task: Task, model: str) -> None:
    """A training begins at the world as it is."""
    start = untrained(contract_for(task.world, 50, model=model), task)
    assert abs(task.error(start) - task.error(None)) < 0.05 * task.error(None)
    assert all(v.dtype == np.float32 for v in start.weights.values())


def test_inputs_are_normalised_by_the_recordings(task: Task) -> None:
    """Mean nought and deviation one, as far as single precision goes."""
    start = untrained(contract_for(task.world, 50, model="mlp"), task)
    seen = recorded_signals(task.windows(1.0, 400, -1))
    joints = 2
    mean = start.weights["all.mean"][:joints]
    np.testing.assert_allclose(mean, seen["q"].mean(axis=(0, 1)), atol=1e-4)
    deviation = start.weights["all.deviation"][:joints]
    np.testing.assert_allclose(deviation, seen["q"].std(axis=(0, 1)), rtol=1e-3)


def test_the_seed_decides_the_weights(task: Task) -> None:
    """And nothing else does."""
    contract = contract_for(task.world, 50, model="mlp")
    first, again, other = (untrained(contract, task, s).fingerprint() for s in (0, 0, 1))
    assert first == again != other


def test_joints_are_chosen_by_name_or_group() -> None:
    """In the robot's order, whatever the order asked."""
    robot = Robot.load("g1", mount="fixed")
    ankles = corrected_joints(robot, "ankles")
    assert len(ankles) == 4
    assert all("ankle" in j for j in ankles)
    assert corrected_joints(robot, tuple(reversed(ankles))) == ankles
    assert corrected_joints(robot, "all") == robot.joints.names
    with pytest.raises(NameMismatchError, match="Did you mean 'ankles'"):
        corrected_joints(robot, "ankels")


def test_a_mask_leaves_the_other_joints_alone(task: Task) -> None:
    """Only the corrected joints have outputs; all are looked at."""
    contract = contract_for(task.world, 50, model="mlp", joints="elbow_flex")
    assert contract.outputs == ("elbow_flex",)
    assert contract.columns.tolist() == [1]
    assert contract.widths["all"] == 3 * 2 + 4 * 2 * 2


def test_bounds_are_radians_or_shares_of_the_motors_torque(task: Task) -> None:
    """A torque correction is never stronger than a part of the motor."""
    effort = task.world.robot.joints.effort
    assert contract_for(task.world, 50, model="mlp").bound == (0.3, 0.3)
    torque = contract_for(task.world, 50, model="mlp", head="torque", bound=0.2)
    np.testing.assert_allclose(torque.bound, 0.2 * effort)


def test_wrong_choices_are_refused(task: Task) -> None:
    """With the nearest right one."""
    choices: list[tuple[dict[str, Any], str]] = [
        ({"head": "torqe"}, "Did you mean 'torque'"),
        ({"model": "opertor"}, "Did you mean 'operator'"),
        ({"model": "mlp", "settings": {"size": 3}}, "Did you mean 'sizes'"),
    ]
    for wrong, match in choices:
        with pytest.raises(NameMismatchError, match=match):
            contract_for(task.world, 50, **wrong)
    with pytest.raises(DataError, match="height"):
        contract_for(task.world, 50, model="mlp", settings={"now": ("height",)})
