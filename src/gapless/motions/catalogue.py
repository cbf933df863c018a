"""The motions that can be asked for by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gapless.errors import unknown
from gapless.motions import postures, waves
from gapless.motions.ellipsoid import ellipsoid
from gapless.motions.joint_shapes import rooms
from gapless.motions.motion import Motion
from gapless.motions.standing import stand, sway
from gapless.robots import Robot

TOGETHER, EACH = 20.0, 10.0
"""Seconds of a motion of all joints at once, and of each joint where they take turns."""


@dataclass(frozen=True)
class Maker:
    """A function `(robot, seconds, rate, *, seed, ...) -> Motion`.

    Attributes:
        function: makes the motion.
        what: one line for people.
    """

    function: Callable[..., Motion]
    what: str

    @property
    def options(self) -> dict[str, Any]:
        """What may be asked for beyond the robot, and the defaults."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: None if p.default is p.empty else p.default for p in parameters}


def _optimal(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    about: Sequence[str] = ("kp", "kd", "frictionloss", "armature"),
    candidates: int = 48,
) -> Motion:
    """`gapless.motions.optimal.optimal`, loaded with its engine when it is asked for."""
    from gapless.motions.optimal import optimal

    return optimal(robot, seconds, rate, about=about, seed=seed, candidates=candidates)


CATALOGUE: dict[str, Maker] = {
    "ramp": Maker(waves.ramp, "even speed to one bound, to the other and home, joint by joint"),
    "steps": Maker(waves.steps, "random levels, held, joint by joint"),
    "chirp": Maker(waves.chirp, "a sine of rising frequency, joint by joint"),
    "prbs": Maker(waves.prbs, "a pseudo-random binary sequence, joint by joint"),
    "sweep": Maker(waves.sweep, "a slow triangle through the range, joint by joint"),
    "multisine": Maker(waves.multisine, "a sum of sines in all joints at once"),
    "fourier": Maker(waves.fourier, "a Fourier series in all joints at once, at rest at both ends"),
    "waypoints": Maker(postures.waypoints, "random postures joined by minimum-jerk moves"),
    "hold": Maker(postures.hold, "random postures, each held against gravity"),
    "ellipsoid": Maker(ellipsoid, "a foot or hand over the surface of an ellipsoid"),
    "optimal": Maker(_optimal, "what tells most about chosen parameters (D-optimal); minutes"),
    "stand": Maker(stand, "squats and sways over planted feet while the arms swing"),
    "sway": Maker(sway, "wide sways over planted feet, arms still"),
}
"""Name -> how it is made; `make` calls it."""


def make(name: str, robot: Robot, seconds: float | None = None, **options: Any) -> Motion:
    """Make a motion by name.

    Args:
        name: a key of CATALOGUE.
        robot: whose joints move.
        seconds: length; 20 by default, or 10 for each joint where they take turns.
        options: rate, seed, joints, amplitude and what the motion itself knows; see the function.

    Raises:
        NameMismatchError: the motion, an option or a joint does not exist.
    """
    if name not in CATALOGUE:
        raise unknown("motion", name, CATALOGUE)
    maker = CATALOGUE[name]
    for option in options:
        if option not in maker.options:
            raise unknown(f"option of {name!r}", option, maker.options)
    if seconds is None:
        turns = not options.get("together", maker.options.get("together", True))
        seconds = EACH * len(rooms(robot, options.get("joints"))) if turns else TOGETHER
    return maker.function(robot, seconds, **options)
