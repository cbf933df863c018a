"""The shared torque path against what its effects are by definition."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.recordings import Conditions
from gapless.worlds.actuators import Actuators, Motors, PdLaw
from gapless.worlds.effects import Effects

LAW = PdLaw(kp=np.array([[10.0]]), kd=np.array([[1.0]]), effort=np.array([[5.0]]))
STEP = 0.002


def actuator(**effects: float) -> Actuators:
    """One joint with these effects."""
    return Actuators(Effects(**effects).resolve(1), LAW, STEP)


def acting(actuators: Actuators, error: float, dq: float) -> tuple[float, float]:
    """Torque and dry friction of one joint just after its motor began to pull."""
    target, q, speed = np.array([[error]]), np.zeros((1, 1)), np.array([[dq]])
    motors = Motors.unset(actuators.effects.ambient, 1, None)
    actuators.begin(target, q, speed, motors)
    passed, dry = actuators.torque(target, q, speed, motors)
    return float(passed[0, 0]), float(dry[0, 0])


def torque(actuators: Actuators, error: float, dq: float) -> float:
    """The torque alone."""
    return acting(actuators, error, dq)[0]


def follow(actuators: Actuators, targets: np.ndarray, q: float = 0.0) -> np.ndarray:
    """Torques on a joint that is held still while its target moves."""
    motors = Motors.unset(actuators.effects.ambient, 1, None)
    still, place = np.zeros((1, 1)), np.full((1, 1), q)
    actuators.begin(np.full((1, 1), targets[0]), place, still, motors)
    return np.array(
        [actuators.torque(np.full((1, 1), t), place, still, motors)[0][0, 0] for t in targets]
    )


def test_no_effects_add_no_torque() -> None:
    """The ideal actuator is the PD law."""
    assert torque(actuator(), 0.3, 0.5) == pytest.approx(10 * 0.3 - 0.5)


@pytest.mark.parametrize("dq", [0.0, 0.4])
def test_a_tight_stiff_gear_is_no_gear(dq: float) -> None:
    """Play and twist that vanish leave the PD law, damping included."""
    assert torque(actuator(backlash=1e-12), 0.3, dq) == pytest.approx(3.0 - dq, abs=1e-6)
    assert torque(actuator(compliance=1e-12), 0.3, dq) == pytest.approx(3.0 - dq, abs=1e-6)


def test_a_settled_motor_pulls_from_the_edge_of_its_play() -> None:
    """Inside half the play nothing is transmitted; outside, the error counts from its edge."""
    play = actuator(backlash=0.2)
    assert torque(play, 0.05, 0.0) == pytest.approx(0.0)
    assert torque(play, 0.3, 0.0) == pytest.approx(10 * 0.2)
    assert torque(play, -0.3, 0.0) == pytest.approx(-10 * 0.2)


def test_a_reversing_motor_crosses_its_play_before_it_pulls_back() -> None:
    """After a reversal nothing is transmitted until the motor has crossed the play."""
    play, time = actuator(backlash=0.2), np.arange(600) * STEP
    torques = follow(play, np.where(time < 0.2, 0.3, -0.3))
    after = torques[time >= 0.2]
    idle = np.argmax(after < 0)
    assert torques[50] == pytest.approx(2.0, rel=1e-3)
    assert (after[1:idle] == 0).all()
    # The motor's own law: 0.1 -> -0.1 towards -0.3 with the time constant kd/kp = 0.1 s.
    assert idle * STEP == pytest.approx(0.1 * np.log(0.4 / 0.2), abs=2 * STEP)
    assert after[-1] == pytest.approx(-2.0, rel=1e-2)


def test_a_twisting_drive_is_a_spring_in_series() -> None:
    """At rest the motor's spring and the drive's add their compliances."""
    soft = actuator(compliance=0.05)
    assert torque(soft, 0.3, 0.0) == pytest.approx(0.3 / (1 / 10 + 0.05))


def test_torque_falls_linearly_between_corner_and_no_load_speed() -> None:
    """Half way between the two speeds half the effort is left, and braking is not limited."""
    motor = actuator(corner_speed=2.0, no_load_speed=4.0)
    assert torque(motor, 5.0, 1.0) == pytest.approx(5.0)
    assert torque(motor, 5.0, 3.0) == pytest.approx(2.5)
    assert torque(motor, 5.0, 4.5) == pytest.approx(0.0)
    assert torque(motor, -5.0, 3.0) == pytest.approx(-5.0)


def test_stribeck_friction_fades_with_speed() -> None:
    """The excess at rest is 1/e of itself at the Stribeck speed."""
    dry = actuator(stribeck_torque=1.0, stribeck_speed=0.5)
    assert acting(dry, 0.1, 0.5) == pytest.approx((10 * 0.1 - 0.5, np.exp(-1)))
    assert acting(dry, 0.0, 0.0) == (0.0, 1.0)


def test_load_friction_grows_with_transmitted_torque() -> None:
    """A tenth of the motor's torque, whichever way the joint moves."""
    assert acting(actuator(load_friction=0.1), 0.3, 1.0) == pytest.approx((2.0, 0.2))
    assert acting(actuator(load_friction=0.1), 0.3, -1.0) == pytest.approx((4.0, 0.4))


def test_quadratic_friction_grows_with_its_square() -> None:
    """Twice the torque, four times the friction."""
    assert acting(actuator(quadratic_friction=0.05), 0.3, 1.0) == pytest.approx((2.0, 0.2))
    assert acting(actuator(quadratic_friction=0.05), 0.3, -1.0) == pytest.approx((4.0, 0.8))


def test_backdrive_friction_is_lost_only_when_the_load_drives() -> None:
    """Moving with the motor a tenth is lost, moving against it three tenths."""
    passed, dry = acting(actuator(load_friction=0.1, backdrive_friction=0.2), 0.3, 1.0)
    assert passed - dry == pytest.approx(2.0 - 0.2)
    passed, dry = acting(actuator(load_friction=0.1, backdrive_friction=0.2), 0.3, -1.0)
    assert passed + dry == pytest.approx(4.0 + 1.2)


def test_engines_without_viscous_friction_get_it_here() -> None:
    """Viscous friction of the robot can be part of the path; Coulomb friction is the bound."""
    path = Actuators(Effects().resolve(1), LAW, STEP, frictionloss=0.5, damping=0.1)
    assert acting(path, 0.3, 1.0) == pytest.approx((3.0 - 1.0 - 0.1, 0.5))


def test_a_motor_warms_to_its_balance_and_weakens() -> None:
    """Held torque warms it to heating x cooling x (torque/effort)^2, and the torque falls."""
    warm = actuator(heating=1.0, cooling=1.0, heat_loss=0.0)
    motors = Motors.unset(warm.effects.ambient, 1, None)
    still = np.zeros((1, 1))
    for _ in range(5000):
        warm.torque(np.full((1, 1), 0.25), still, still, motors)
    assert motors.temperature[0, 0] == pytest.approx(25 + (2.5 / 5) ** 2, abs=1e-3)
    weak = actuator(heating=1.0, heat_loss=0.01)
    assert weak.strength(Motors(still, np.full((1, 1), 45.0)))[0, 0] == pytest.approx(0.8)


def test_conditions_say_how_warm_motors_are_at_the_start() -> None:
    """Each environment has the temperature of its recording; ambient where it says nothing."""
    told = [Conditions(extra={"motor_temperature": 60.0}), Conditions()]
    motors = Motors.unset(np.array([25.0, 25.0]), 2, told)
    assert motors.temperature.tolist() == [[60, 60], [25, 25]]
