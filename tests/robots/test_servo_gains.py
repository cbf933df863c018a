"""Gain registers of duty-controlled servos against the motor that they drive."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gapless.errors import GaplessError
from gapless.robots.servo_gains import KINDS, TICKS, Servo


def motor(volts: float, speed: float, resistance: float, constant: float) -> float:
    """Torque of a DC motor behind its gear."""
    return constant * (volts - constant * speed) / resistance


@pytest.mark.parametrize("supply", [6.0, 7.4, 12.0])
def test_the_formula_is_the_motors_own(supply: float) -> None:
    """Figures of a data sheet at one voltage give the torque of the motor at another."""
    resistance, constant, voltage = 3.4, 0.46, 5.0
    stall = motor(voltage, 0.0, resistance, constant)
    servo = Servo("dynamixel_x", stall, voltage / constant, voltage)
    register, error, speed = 400, 0.03, 1.7
    ticks = error / (2 * math.pi) * TICKS
    duty = register / 128 * ticks / 885
    expected = motor(supply * duty, speed, resistance, constant)
    assert servo.kp(register, supply) * error - servo.kd * speed == pytest.approx(expected)
    full = motor(supply, 0.0, resistance, constant)
    assert servo.effort(supply) == pytest.approx(full)


def test_duty_reaches_its_limit_within_a_turn() -> None:
    """Where the error that saturates the usual gain is tells whether a constant is plausible."""
    usual = {"dynamixel_x": 800, "dynamixel_xl330": 400, "dynamixel_mx": 32, "feetech_sts": 32}
    for kind, register in usual.items():
        servo = Servo(kind, 1.0, 5.0, 10.0)
        saturates = servo.effort(10.0) / servo.kp(register, 10.0)
        assert math.radians(5) < saturates < math.radians(60), kind
    assert set(usual) == set(KINDS)


def test_a_measured_constant_replaces_the_kinds() -> None:
    """Another firmware is described by one number."""
    measured = Servo("pwm", 1.0, 5.0, 10.0, duty_per_tick=1 / (141.32 * 885), max_duty=0.9)
    by_manual = Servo("dynamixel_x", 1.0, 5.0, 10.0)
    assert measured.kp(100, 10) / by_manual.kp(100, 10) == pytest.approx(128 / 141.32)
    assert measured.effort(10.0) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        (("dynamixel", 1.0, 5.0, 10.0), "Did you mean 'dynamixel_"),
        (("pwm", 1.0, 5.0, 10.0), "needs duty_per_tick"),
        (("dynamixel_x", -1.0, 5.0, 10.0), "stall_torque of a servo is -1.0"),
        (("dynamixel_x", 1.0, "fast", 10.0), "no_load_speed of a servo is 'fast'"),
    ],
)
def test_wrong_figures_are_refused(figures: tuple, message: str) -> None:
    """By name, with what was expected."""
    with pytest.raises(GaplessError, match=message):
        Servo(*figures)


def test_the_worked_example_of_the_page() -> None:
    """The figures that the documentation shows are those of the formula."""
    servo = Servo("dynamixel_xl330", stall_torque=0.52, no_load_speed=10.79, voltage=5.0)
    shown = (
        f"{servo.kp(400, 7.4):.3f} N·m/rad, {servo.kd:.4f} N·m·s/rad, {servo.effort(7.4):.3f} N·m"
    )
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    assert shown in page.read_text(encoding="utf-8")
