"""Kinds of parameters of what the robot touches: its floor, and the shapes that touch it."""

from __future__ import annotations

from gapless.errors import ModelError
from gapless.parameters.kind import LINK, WORLD, Kind, Reader, number, times
from gapless.robots import Robot
from gapless.worlds.effects import Effects

OUT_OF_REACH = -10.0
"""Height of the floor of a robot that meets none, m: nothing here reaches so far."""


def _height(robot: Robot, _: Effects, __: str) -> float:
    if robot.mount == "free":
        raise ModelError(
            f"floor_height has no place in {robot.name!r} mounted 'free': its floor passes through "
            "the origin; hold the robot (mount 'fixed'), or leave the parameter out"
        )
    return OUT_OF_REACH if robot.floor.height is None else robot.floor.height


def _tilt(axis: int) -> Reader:
    return lambda robot, _, __: robot.floor.tilt[axis]


def _sole(axis: int) -> Reader:
    return lambda robot, _, link: robot.soles.get(link, (0.0, 0.0))[axis]


# Contacts begin and end between samples: a slope over less than a millimetre or two says little.
_HEIGHT = number(0.02), number(OUT_OF_REACH), number(2.0), 0.1
_TILT = number(0.03), number(-0.5), number(0.5), 0.3
_SOLE = number(0.01), number(-0.05), number(0.05), 0.2

FLOOR_KINDS = (
    Kind(
        *("floor_friction", "1", WORLD, lambda robot, *_: robot.floor.friction),
        *(number(0.3), number(0.02), number(3.0)),
    ),
    Kind(
        *("floor_softness", "s", WORLD, lambda robot, *_: robot.floor.softness),
        *(times(0.5), number(0.004), number(0.5)),
        step=0.5,
        log=True,
    ),
    Kind("floor_height", "m", WORLD, _height, *_HEIGHT),
    Kind("floor_tilt_x", "rad", WORLD, _tilt(0), *_TILT),
    Kind("floor_tilt_y", "rad", WORLD, _tilt(1), *_TILT),
)

CONTACT_KINDS = (
    *FLOOR_KINDS,
    Kind("sole_x", "m", LINK, _sole(0), *_SOLE),
    Kind("sole_height", "m", LINK, _sole(1), *_SOLE),
)


def refuse_without_floor(robot: Robot, kinds: set[str]) -> None:
    """A floor's parameters mean nothing where there is none, and its height is not looked for."""
    if robot.meets_floor or "floor_height" in kinds:
        return
    for kind in FLOOR_KINDS:
        if kind.name in kinds:
            raise ModelError(
                f"{kind.name} has no place in {robot.name!r} mounted {robot.mount!r}: it meets no "
                "floor; state a floor with its height in the robot file, look for floor_height "
                "too, use mount 'free', or leave the parameter out"
            )
