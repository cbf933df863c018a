"""Actuator effects against what they are by definition."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.worlds.effects import Effects, PdLaw, added_torque, spread_over_substeps

LAW = PdLaw(kp=np.array([[10.0]]), kd=np.array([[1.0]]), effort=np.array([[5.0]]))
CAP = np.array([1e9])


def torque(effects: Effects, error: float, dq: float) -> float:
    """The total torque of one joint under effects."""
    added = added_torque(effects.resolve(1), LAW, np.array([[error]]), np.array([[dq]]), CAP)
    return float((added + LAW.torque(np.array([[error]]), np.array([[dq]])))[0, 0])


def test_no_effects_add_no_torque() -> None:
    """The ideal actuator is the native PD law."""
    assert torque(Effects(), 0.3, 0.5) == pytest.approx(10 * 0.3 - 0.5)


def test_backlash_is_a_dead_zone_of_its_width() -> None:
    """Inside half the play nothing is transmitted; outside, the error counts from its edge."""
    play = Effects(backlash=0.2)
    assert torque(play, 0.05, 0.0) == 0.0
    assert torque(play, 0.3, 0.0) == pytest.approx(10 * 0.2)
    assert torque(play, -0.3, 0.0) == pytest.approx(-10 * 0.2)


def test_torque_falls_linearly_between_corner_and_no_load_speed() -> None:
    """Half way between the two speeds half the effort is left, and braking is not limited."""
    motor = Effects(corner_speed=2.0, no_load_speed=4.0)
    assert torque(motor, 5.0, 1.0) == pytest.approx(5.0)
    assert torque(motor, 5.0, 3.0) == pytest.approx(2.5)
    assert torque(motor, 5.0, 4.5) == pytest.approx(0.0)
    assert torque(motor, -5.0, 3.0) == pytest.approx(-5.0)


def test_stribeck_friction_fades_with_speed() -> None:
    """The excess at rest is 1/e of itself at the Stribeck speed, and opposes motion."""
    dry = Effects(stribeck_torque=1.0, stribeck_speed=0.5)
    plain = 10 * 0.1 - 0.5
    assert torque(dry, 0.1, 0.5) == pytest.approx(plain - np.exp(-1))
    assert torque(dry, 0.0, 0.0) == 0.0


def test_load_friction_grows_with_transmitted_torque() -> None:
    """A tenth of the motor's torque is lost, against the motion."""
    assert torque(Effects(load_friction=0.1), 0.3, 1.0) == pytest.approx(2.0 - 0.2)
    assert torque(Effects(load_friction=0.1), 0.3, -1.0) == pytest.approx(4.0 + 0.4)


def test_friction_slope_is_capped_for_stability() -> None:
    """Near rest the friction cannot exceed the slope an explicit step survives."""
    dry = Effects(stribeck_torque=1.0).resolve(1)
    slow = np.array([[0.001]])
    added = added_torque(dry, LAW, np.zeros((1, 1)), slow, np.array([2.0]))
    assert added[0, 0] == pytest.approx(-0.002)


@pytest.mark.parametrize("substeps", [1, 4, 10])
def test_whole_step_delay_shifts_targets_exactly(substeps: int) -> None:
    """A delay of two control steps gives the targets of two steps ago."""
    targets = np.arange(6.0).reshape(1, 6, 1)
    history = np.array([[[-2.0], [-1.0]]])
    held = spread_over_substeps(targets, history, np.array([0.04]), 50, substeps)
    assert held[0, ::substeps, 0].tolist() == [-2, -1, 0, 1, 2, 3]
    assert held.shape == (1, 6 * substeps, 1)


def test_fractional_delay_switches_inside_the_step() -> None:
    """A quarter step of delay keeps the old target for a quarter of the physics steps."""
    targets = np.array([[[1.0], [2.0]]])
    held = spread_over_substeps(targets, np.zeros((1, 1, 1)), np.array([0.005]), 50, 4)
    assert held[0, :, 0].tolist() == [0, 1, 1, 1, 1, 2, 2, 2]


def test_each_joint_has_its_own_delay() -> None:
    """Delays are per joint."""
    targets = np.tile(np.arange(4.0)[None, :, None], (1, 1, 2))
    held = spread_over_substeps(targets, targets[:, :1], np.array([0.0, 0.02]), 50, 1)
    assert held[0, :, 0].tolist() == [0, 1, 2, 3]
    assert held[0, :, 1].tolist() == [0, 0, 1, 2]


def test_negative_effects_are_refused() -> None:
    """A negative delay names itself."""
    with pytest.raises(ModelError, match="delay"):
        Effects(delay=-0.01)
