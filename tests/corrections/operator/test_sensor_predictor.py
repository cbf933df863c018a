"""Sensors: what the simulator answers, and a predictor that knows it beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections.models.deep_operator import Operator
from gapless.corrections.operator import sensor_predictor
from gapless.corrections.operator.probing import probed
from gapless.corrections.operator.sensor_predictor import answers, fit_sensors, probes, with_sensors
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.errors import DataError, GaplessError, SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.world import State
from hidden_pair import STEP

SMALL = {"predictor": (32,), "branch": (16,), "trunk": (16,), "probes": 6}


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Few states and few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensor_predictor, "STATES", 300)
        patch.setattr(sensor_predictor, "ITERATIONS", 200)
        yield


@pytest.fixture(scope="module")
def start(task: Task) -> Correction:
    """An operator before training."""
    contract = contract_for(task.world, 50, model="operator", settings=SMALL, members=2)
    return untrained(contract, task)


def operator_of(correction: Correction) -> Operator:
    """Its network."""
    model = correction.contract.network
    assert isinstance(model, Operator)
    return model


def missed(correction: Correction, world: MujocoWorld, task: Task) -> float:
    """Part of what the sensors say near recordings that the predictor does not."""
    network = correction.network
    rng = np.random.default_rng(99)
    found = probed(network, world, task.windows(0.1, 100, 5), None, 200, rng)
    read = answers(world, found.states, found.history, operator_of(correction), found.conditions)
    wanted = (read - correction.weights["sensors.mean"]) / correction.weights["sensors.deviation"]
    given = network.normalised(correction.weights, {"sensed": found.sensed})["sensed"]
    error = (operator_of(correction).sensors(correction.weights, given)[0] - wanted)[found.recorded]
    return float((error**2).mean() / wanted[found.recorded].var(axis=0).mean())


def test_probes_cover_every_joint() -> None:
    """Twenty of half a radian, none twice, each joint to both sides."""
    found = probes(Robot.load("h1_2", mount="fixed", lock=["legs", "waist", "wrists"]), 20)
    assert len(found) == 20
    assert set(np.unique(np.abs(found))) == {0.0, 0.5}
    assert len(np.unique(found, axis=0)) == 20
    assert (np.abs(found).max(axis=0) == 0.5).all()


def test_answers_are_what_the_simulator_does(start: Correction, world: MujocoWorld) -> None:
    """One control step under the last target and the probe."""
    home = world.home(2)
    history = home.q[:, None] + [[[0.0, 0.1]]]
    model = operator_of(start)
    read = answers(world, home, history, model, [Conditions()] * 2).reshape(2, 6, 4)
    for i, probe in enumerate(probes(world.robot, 6)):
        after = world.rollout(home, history + probe, history=history)
        np.testing.assert_allclose(read[:, i, :2], after.q[:, 1] - home.q, atol=1e-12)
        np.testing.assert_allclose(read[:, i, 2:], after.dq[:, 1] / 50, atol=1e-12)
    absolute = replace(model, absolute=True)
    states = answers(world, home, history, absolute, [Conditions()] * 2).reshape(2, 6, 4)
    np.testing.assert_allclose(states[..., :2] - home.q[:, None], read[..., :2], atol=1e-12)


def test_the_predictor_knows_the_answers(start: Correction, task: Task) -> None:
    """Fitted, it explains most of what the sensors say; in every member the same."""
    fitted = with_sensors(start, task)
    assert missed(fitted, task.world, task) < 0.25  # type: ignore[arg-type]
    np.testing.assert_array_equal(*fitted.weights["predictor.0.weight"])
    assert all(v.dtype == np.float32 for v in fitted.weights.values())
    assert with_sensors(start, task).fingerprint() == fitted.fingerprint()
    for name, value in start.weights.items():
        if name.startswith(("branch", "trunk", "asked")):
            np.testing.assert_array_equal(fitted.weights[name], value)


def test_other_networks_have_no_sensors(made, task: Task) -> None:
    """They are left as they are, or refused where it was asked for."""
    correction = made("mlp")
    assert with_sensors(correction, task) is correction
    learned = made("operator", fitted=False)
    assert with_sensors(learned, task) is learned
    with pytest.raises(GaplessError, match="fitted=True"):
        fit_sensors(correction, task.world)


def test_states_are_drawn_as_the_paper_does(start: Correction, task: Task) -> None:
    """Within shares of the limits, some with a short history, some loaded, half near recordings."""
    world, rng = task.world, np.random.default_rng(0)
    found = probed(start.network, world, task.windows(0.1, 200, 0), 0.3, 400, rng)
    assert found.recorded.sum() == 200
    joints = world.robot.joints
    far = found.states[~found.recorded]
    assert (far.q > joints.lower - 0.3).all() and (far.q < joints.upper + 0.3).all()
    assert np.ptp(far.q, axis=0).min() > 1.0
    assert np.ptp(found.states.q[found.recorded], axis=0).max() < 2.0
    loads = {c.payload_mass for c in found.conditions}
    assert len(loads) > 10
    assert max(m for m in loads if m is not None) <= 0.3
    q, oldest = found.sensed[:, :2], found.sensed[:, 2:4]
    reset = (q == oldest).all(axis=1)
    assert 0 < reset.mean() < 0.1


def test_a_robot_that_stands_free_needs_recordings(start: Correction) -> None:
    """Random joint angles on a floor are no stance."""
    robot = Robot.load("g1")
    with pytest.raises(DataError, match="recordings"):
        probed(start.network, MujocoWorld(robot), None, None, 10, np.random.default_rng(0))


def test_a_simulator_that_diverges_is_refused(
    start: Correction, pair: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fitted to nonsense."""
    nothing = np.full((300, 24), np.nan)
    monkeypatch.setattr(sensor_predictor, "answers", lambda *_: nothing)
    with pytest.raises(SimulationError, match="diverged"):
        fit_sensors(start, MujocoWorld(pair, 50, physics_step=STEP), states=300)


def test_invalid_answers_are_not_numbers(start: Correction, pair: Robot) -> None:
    """An environment that diverges under a probe says nothing."""
    wild = MujocoWorld(pair, physics_step=0.02)
    state = State(np.zeros((1, 2)), np.full((1, 2), 1e9))
    read = answers(wild, state, np.zeros((1, 1, 2)), operator_of(start), [Conditions()])
    assert np.isnan(read).any()
