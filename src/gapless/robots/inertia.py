"""The inertia of one link, and the floor under the robot: what differs on a real robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import ModelError
from gapless.robots.rotations import about

STEEPEST = 1.0
"""No floor is steeper, rad: nothing stands on it."""


@dataclass(frozen=True)
class Inertia:
    """A rigid link.

    Attributes:
        mass: kilograms.
        com: centre of mass in the link's frame, m.
        moments: about the centre of mass, in the link's axes: xx yy zz xy xz yz, kg·m².
    """

    mass: float
    com: tuple[float, float, float]
    moments: tuple[float, float, float, float, float, float]

    def __post_init__(self) -> None:
        if not (0 < self.mass < np.inf and np.isfinite([*self.com, *self.moments]).all()):
            raise ModelError(f"{self} is no inertia: expected a mass above 0 and finite figures")
        least, middle, largest = np.linalg.eigvalsh(self.tensor)
        if least < 0 or least + middle < largest * (1 - 1e-6):
            raise ModelError(
                f"{self} belongs to no body: its principal moments {least:.3g}, {middle:.3g}, "
                f"{largest:.3g} kg·m² must be positive, none larger than the sum of the others"
            )

    @property
    def tensor(self) -> np.ndarray:
        """(3, 3) inertia about the centre of mass."""
        xx, yy, zz, xy, xz, yz = self.moments
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @classmethod
    def of(cls, mass: float, com: np.ndarray, tensor: np.ndarray) -> Inertia:
        """From arrays."""
        moments = [*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
        return cls(float(mass), tuple(map(float, com)), tuple(map(float, moments)))  # type: ignore[arg-type]

    def plus(self, mass: float, at: np.ndarray) -> Inertia:
        """The same with a point mass at a place in the link's frame."""
        total, centre = self.mass + mass, np.array(self.com)
        com = (self.mass * centre + mass * at) / total
        tensor = self.tensor
        for part, where in ((self.mass, centre), (mass, at)):
            arm = where - com
            tensor = tensor + part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Inertia.of(total, com, tensor)


@dataclass(frozen=True)
class Floor:
    """What the feet meet: a plane through the origin, and a staircase on it.

    Attributes:
        friction: Coulomb coefficient of the contact.
        softness: time constant of the contact spring, s; smaller is stiffer.
        slope: angle by which the floor rises, rad.
        slope_heading: horizontal direction in which it rises, rad from x towards y.
        step_height: rise of each step of a staircase in front of the robot, m; 0 is none.
        step_depth: length of each step along x, m.
    """

    friction: float = 1.0
    softness: float = 0.02
    slope: float = 0.0
    slope_heading: float = 0.0
    step_height: float = 0.0
    step_depth: float = 0.3

    def __post_init__(self) -> None:
        if not (0 <= self.friction < np.inf and 0 < self.softness < np.inf):
            raise ModelError(f"{self} is no floor: expected friction >= 0 and softness > 0")
        if not (abs(self.slope) < STEEPEST and np.isfinite(self.slope_heading)):
            raise ModelError(f"{self} is no floor: expected a slope within {STEEPEST} rad")
        if not (0 <= self.step_height < np.inf and 0 < self.step_depth < np.inf):
            raise ModelError(f"{self} is no floor: expected step_height >= 0 and step_depth > 0")

    @property
    def shape(self) -> dict[str, float]:
        """The figures of its shape that matter; none for a level plane."""
        sloped = ("slope", "slope_heading") if self.slope else ()
        stepped = ("step_height", "step_depth") if self.step_height else ()
        return {name: float(getattr(self, name)) for name in (*sloped, *stepped)}

    @property
    def figures(self) -> dict[str, float]:
        """All that decides contacts, by name."""
        return {"friction": self.friction, "softness": self.softness, **self.shape}

    @property
    def quat_wxyz(self) -> np.ndarray:
        """(4,) the turn from level to the slope."""
        across = np.array([np.sin(self.slope_heading), -np.cos(self.slope_heading), 0.0])
        return about(across, self.slope) + 0.0  # no -0.0: a level floor is level to the bit
