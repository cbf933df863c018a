"""The figures of one hidden unit, drawn once from its preset, its number and a seed."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gapless.artifact import write_json
from gapless.errors import ModelError
from gapless.robots import Robot
from gapless.worlds.chance import generator
from gapless.worlds.hidden.effect_sizes import EFFECTS, Size, chosen, sizes

LEAST = 0.2
"""No draw about a size falls below this share of it: an effect that is on can be seen."""

PER_LINK = ("link_mass", "link_com", "link_inertia")
"""Effects of links."""
SHARED = (
    "command_delay",
    "command_jitter",
    "sensor_delay",
    "gyro_noise",
    "gyro_bias",
    "imu_tilt",
    "imu_noise",
    "imu_delay",
    "floor_friction",
    "floor_softness",
)
"""Effects of the whole robot."""
WIDTHS = {"link_com": 3, "gyro_bias": 3, "imu_tilt": 2}
"""Effects with more than one number an owner."""


@dataclass(frozen=True)
class Truth:
    """What a hidden unit has; methods never see it.

    Attributes:
        robot: its name.
        preset: mild, typical or hard.
        unit: number of the unit, from 1.
        seed: of everything drawn.
        values: effect -> name of a joint, link or "robot" -> its figures.
    """

    robot: str
    preset: str
    unit: int
    seed: int
    values: dict[str, dict[str, np.ndarray]]

    @classmethod
    def draw(
        cls, robot: Robot, preset: str, unit: int, seed: int, only: Iterable[str] | None = None
    ) -> Truth:
        """The figures of a unit.

        Each effect is drawn by itself: alone it has the same figures as among the others.

        Args:
            robot: the nominal robot.
            preset: how large the effects are.
            unit: which individual; units share a robot's character and differ a little.
            seed: of the draw.
            only: names of effects; all by default.
        """
        unit, seed = whole("unit", unit), whole("seed", seed)
        if unit < 1:
            raise ModelError(f"unit is {unit}; units of a robot are numbered from 1")
        wanted = chosen(only)
        on = {name: size for name, size in sizes(preset).items() if name in wanted}
        values = {
            name: _draw(name, _owners(name, robot), size, (seed, robot.name, name), unit)
            for name, size in on.items()
        }
        return cls(robot.name, preset, unit, seed, values)

    def array(self, effect: str, names: Iterable[str], off: float = 0.0) -> np.ndarray:
        """The figures of an effect for these joints, or `off` where it is not on."""
        values = self.values.get(effect)
        return np.array([off if values is None else values[name][0] for name in names])

    def number(self, effect: str) -> float:
        """The figure of an effect of the whole robot; zero where it is not on."""
        return float(self.vector(effect)[0])

    def vector(self, effect: str) -> np.ndarray:
        """All figures of an effect of the whole robot; zeros where it is not on."""
        on = effect in self.values
        return self.values[effect]["robot"] if on else np.zeros(WIDTHS.get(effect, 1))

    @property
    def key(self) -> str:
        """Short hash of everything, or nothing where the unit is the nominal robot."""
        if not self.values:
            return ""
        digest = hashlib.sha256(f"{self.unit} {self.seed}".encode())
        for effect, values in self.values.items():
            for name, numbers in values.items():
                digest.update(f"{effect} {name} ".encode() + numbers.tobytes())
        return digest.hexdigest()[:16]

    def write(self, path: str | Path) -> None:
        """Write every figure, by name and with its unit, as JSON."""
        effects = {
            effect: {
                "unit": EFFECTS[effect].unit,
                "what": EFFECTS[effect].what,
                "values": {name: numbers.tolist() for name, numbers in values.items()},
            }
            for effect, values in self.values.items()
        }
        facts = {"robot": self.robot, "preset": self.preset, "unit": self.unit, "seed": self.seed}
        write_json(path, facts | {"effects": effects})


def whole(name: str, value: int) -> int:
    """A Python integer, whatever kind of whole number was given."""
    try:
        return operator.index(value)
    except TypeError:
        raise ModelError(f"{name} is {value!r}; expected a whole number") from None


def _owners(effect: str, robot: Robot) -> tuple[str, ...]:
    if effect in SHARED:
        return ("robot",)
    if effect in ("unknown_load", "grip"):
        return tuple(dict.fromkeys(point.body for point in robot.end_effectors))
    if effect in PER_LINK:
        return robot.links
    return (*robot.joints.names, *robot.locked)


def _draw(
    effect: str, owners: tuple[str, ...], size: float, key: tuple, unit: int
) -> dict[str, np.ndarray]:
    """Figures of every owner, keyed by its name, so that locking a joint changes no other."""
    figures, width = EFFECTS[effect], WIDTHS.get(effect, 1)
    drawn = {}
    for owner in owners:
        own = generator(*key, owner).standard_normal(width)
        here = generator(*key, owner, unit).standard_normal(width)
        drawn[owner] = size * _factor(figures, own, here)
    return drawn


def _factor(figures: Size, own: np.ndarray, here: np.ndarray) -> np.ndarray:
    if figures.signed:
        return figures.joints * own + figures.units * here
    spread = (1 + figures.joints * own) * (1 + figures.units * here)
    return np.maximum(spread, LEAST)
