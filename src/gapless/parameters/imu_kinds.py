"""Parameters of an IMU: how it sits in the base, and what its gyro shows at rest."""

from __future__ import annotations

from gapless.errors import ModelError
from gapless.parameters.kind import WORLD, Kind, Reader, number
from gapless.robots import Robot
from gapless.worlds.effects import IMU, Effects

USUAL, MOST = 0.02, 0.3
"""Prior std and bound, rad or rad/s."""


def _read(field: str) -> Reader:
    def read(robot: Robot, effects: Effects, _: str) -> float:
        if robot.mount != "free":
            raise ModelError(
                f"{field} has no place in {robot.name!r} mounted {robot.mount!r}: its base does "
                "not move; use mount 'free', or leave the parameter out"
            )
        return float(getattr(effects, field))

    return read


IMU_KINDS = tuple(
    Kind(
        *(field, "rad/s" if field.startswith("gyro") else "rad", WORLD, _read(field)),
        *(number(USUAL), number(-MOST), number(MOST)),
    )
    for field in IMU
)
"""Of a robot whose base moves."""
