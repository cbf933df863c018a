"""Hobby and smart servos: from the gain register of a duty controller to N·m/rad.

Such a servo sets the duty of its bridge in proportion to the position error. Its motor turns the
voltage into torque against its own back-EMF, so that up to full duty it is a PD controller:

    duty   = register * duty_per_tick * ticks / 2π * (target - q)
    torque = stall * supply / voltage * duty - stall / no_load_speed * dq

where stall torque and no-load speed are both at `voltage`. The damping does not depend on the
supply: stall torque and no-load speed grow with it alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gapless.errors import ModelError, unknown

TICKS = 4096
"""Steps of the encoder in a turn, of every kind here."""


@dataclass(frozen=True)
class ServoKind:
    """What a firmware makes of its gain register.

    Attributes:
        duty_per_tick: duty for one tick of error and one unit of the register.
        max_duty: highest duty that it drives.
        known_from: where these figures come from.
    """

    duty_per_tick: float
    max_duty: float
    known_from: str


KINDS = {
    "dynamixel_x": ServoKind(
        1 / (128 * 885), 1.0, "ROBOTIS' manual: Kp = register / 128, PWM 885 is 100 %"
    ),
    "dynamixel_xl330": ServoKind(
        1 / (256 * 885), 1.0, "BAM's measurement: half of what the manual says"
    ),
    "dynamixel_mx": ServoKind(
        0.158 * 2 * math.pi / TICKS, 0.9625, "BAM's oscilloscope (protocol 1; manual: Kp = P / 8)"
    ),
    "feetech_sts": ServoKind(0.166 * 2 * math.pi / TICKS, 0.97, "BAM's oscilloscope, STS3215"),
}
"""Firmware -> its constants."""


@dataclass(frozen=True)
class Servo:
    """A servo by its data sheet.

    Attributes:
        kind: one of `KINDS`, or "pwm" for another, whose `duty_per_tick` must be given.
        stall_torque: N·m at full duty and `voltage`.
        no_load_speed: rad/s at full duty and `voltage`.
        voltage: V, of these two figures.
        duty_per_tick: instead of the kind's, where it was measured.
        max_duty: instead of the kind's.
    """

    kind: str
    stall_torque: float
    no_load_speed: float
    voltage: float
    duty_per_tick: float | None = None
    max_duty: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, "pwm"):
            raise unknown("kind of servo", self.kind, (*KINDS, "pwm"))
        if self.kind == "pwm" and self.duty_per_tick is None:
            raise ModelError(
                "a servo of kind 'pwm' needs duty_per_tick: the duty (1 is full) that one tick of "
                "error makes with one unit of the gain register"
            )
        named = ("stall_torque", "no_load_speed", "voltage", "duty_per_tick", "max_duty")
        for name in named:
            value = getattr(self, name)
            if value is not None and not _positive(value):
                raise ModelError(f"{name} of a servo is {value!r}; a number above zero is expected")

    def kp(self, register: float, supply: float) -> float:
        """N·m/rad that a gain register makes at a supply voltage."""
        return register * self._duty_per_tick * TICKS / (2 * math.pi) * self._stall(supply)

    @property
    def kd(self) -> float:
        """N·m·s/rad of the back-EMF, at any supply."""
        return self.stall_torque / self.no_load_speed

    def effort(self, supply: float) -> float:
        """N·m at standstill with the highest duty."""
        limit = self.max_duty or (KINDS[self.kind].max_duty if self.kind in KINDS else 1.0)
        return limit * self._stall(supply)

    @property
    def _duty_per_tick(self) -> float:
        return self.duty_per_tick or KINDS[self.kind].duty_per_tick

    def _stall(self, supply: float) -> float:
        return self.stall_torque * supply / self.voltage


def _positive(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < float(value) < math.inf  # pyright: ignore[reportArgumentType]
