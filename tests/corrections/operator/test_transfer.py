"""Zero-shot transfer: only the sensors are fitted again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_sensor_predictor import SMALL, missed, quick

from gapless.corrections import CorrectedWorld
from gapless.corrections.operator.sensor_predictor import with_sensors
from gapless.corrections.operator.transfer import transferred
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.errors import GaplessError, ModelError
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP

__all__ = ["quick"]


@pytest.fixture(scope="module")
def learned(made, task: Task, quick: None) -> Correction:
    """An operator that knows its simulator."""
    return with_sensors(made("operator", **SMALL), task)


@pytest.fixture
def other(pair: Robot) -> MujocoWorld:
    """Another robot, with far softer motors."""
    soft = pair.with_joints(kp=0.3 * pair.joints.kp)
    return MujocoWorld(replace(soft, name="leg"), 50, physics_step=STEP)


def test_branch_and_trunk_stay(learned: Correction, other: MujocoWorld) -> None:
    """Bit for bit, and so does the scale of the sensors; the predictor is another."""
    found = transferred(learned, other, payload=0.0)
    kept = ("branch", "trunk", "asked", "sensors")
    for name, value in learned.weights.items():
        same = np.array_equal(found.weights[name], value)
        assert same == name.startswith(kept), name
    assert found.contract.robot == "leg"
    corrected = CorrectedWorld(other, None, [found])
    corrected.reset(other.home(), conditions=[Conditions(payloads={})])
    assert np.isfinite(corrected.step(other.home().q).q).all()
    assert found.choose is None and found.test is None
    assert found.made_by["transferred"]["robot"] == "so101"


def test_the_new_sensors_know_the_new_robot(
    learned: Correction, other: MujocoWorld, waves: list[Recording]
) -> None:
    """Better than the old ones do, in the units that the branch learned."""
    task = Task(other, waves, waves)
    found = transferred(learned, other, waves)
    assert missed(found, other, task) < 0.5 * missed(learned, other, task)


def test_the_envelope_follows_the_recordings(
    learned: Correction, other: MujocoWorld, waves: list[Recording]
) -> None:
    """Those of the new robot where there are any; the old one for the same joints."""
    assert learned.envelope is not None
    found = transferred(learned, other, waves)
    assert found.envelope is not None
    assert found.envelope.signals == learned.envelope.signals
    assert not np.array_equal(found.envelope.mean, learned.envelope.mean)
    plain = transferred(learned, other, payload=0.0)
    assert plain.envelope is learned.envelope
    assert "old one" in plain.made_by["transferred"]["note"]


def test_another_robots_joints_take_their_places(learned: Correction) -> None:
    """By order; the envelope of other joints is dropped, and it says so."""
    wrist = Robot.load("so101", lock=["shoulder_pan", "shoulder_lift", "elbow_flex", "gripper"])
    found = transferred(learned, MujocoWorld(wrist, 50, physics_step=STEP), payload=0.0)
    assert found.contract.outputs == ("wrist_flex", "wrist_roll")
    assert found.envelope is None
    assert "dropped" in found.made_by["transferred"]["note"]


def test_other_numbers_of_joints_are_refused(learned: Correction) -> None:
    """The branch has no place for them."""
    robot = Robot.load("so101", lock=["shoulder_pan", "gripper"])
    with pytest.raises(ModelError, match=r"of 2 joints.*has 4.*lock"):
        transferred(learned, MujocoWorld(robot))


def test_networks_without_sensors_are_refused(made, other: MujocoWorld) -> None:
    """An MLP, and an operator whose predictor learned with the rest or was never fitted."""
    for correction in (made("mlp"), made("operator", fitted=False), made("operator")):
        with pytest.raises(GaplessError, match="--model operator"):
            transferred(correction, other)
