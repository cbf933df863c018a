"""The inertia of one link, and the floor under the robot: figures that differ on a real robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import ModelError


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
    """What the feet meet.

    Attributes:
        friction: Coulomb coefficient of the contact.
        softness: time constant of the contact spring, s; smaller is stiffer.
    """

    friction: float = 1.0
    softness: float = 0.02

    def __post_init__(self) -> None:
        if not (0 <= self.friction < np.inf and 0 < self.softness < np.inf):
            raise ModelError(f"{self} is no floor: expected friction >= 0 and softness > 0")
