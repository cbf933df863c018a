"""The inertia of one link, and the floor under the robot: what differs on a real robot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import ModelError
from gapless.robots.rotations import about

Pose = tuple[np.ndarray, np.ndarray]
"""Position and wxyz orientation."""

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
    """What the robot meets: a plane, and a staircase on it.

    The plane of a free robot passes through the world's origin. That of a robot which is held (its
    table) is stated in the frame of the held link, by its height; there is none without.

    Attributes:
        friction: Coulomb coefficient of the contact.
        softness: time constant of the contact spring, s; smaller is stiffer.
        slope: angle by which the floor rises, rad.
        slope_heading: horizontal direction in which it rises, rad from x towards y.
        step_height: rise of each step of a staircase in front of the robot, m; 0 is none.
        step_depth: length of each step along x, m.
        height: of the plane along z of the link that is held, m; None is no plane there.
    """

    friction: float = 1.0
    softness: float = 0.02
    slope: float = 0.0
    slope_heading: float = 0.0
    step_height: float = 0.0
    step_depth: float = 0.3
    height: float | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.friction < np.inf and 0 < self.softness < np.inf):
            raise ModelError(f"{self} is no floor: expected friction >= 0 and softness > 0")
        if not (abs(self.slope) < STEEPEST and np.isfinite(self.slope_heading)):
            raise ModelError(f"{self} is no floor: expected a slope within {STEEPEST} rad")
        if not (0 <= self.step_height < np.inf and 0 < self.step_depth < np.inf):
            raise ModelError(f"{self} is no floor: expected step_height >= 0 and step_depth > 0")
        if not np.isfinite(self.height or 0.0):
            raise ModelError(f"{self} is no floor: expected a finite height, or none")

    @property
    def shape(self) -> dict[str, float]:
        """The figures of its shape that matter; none for a level plane."""
        sloped = ("slope", "slope_heading") if self.slope else ()
        stepped = ("step_height", "step_depth") if self.step_height else ()
        placed = () if self.height is None else ("height",)
        return {name: float(getattr(self, name)) for name in (*sloped, *stepped, *placed)}

    @property
    def figures(self) -> dict[str, float]:
        """All that decides contacts, by name."""
        return {"friction": self.friction, "softness": self.softness, **self.shape}

    @property
    def tilt(self) -> tuple[float, float]:
        """Angles by which it rises along x and along y, rad."""
        along = self.slope * np.cos(self.slope_heading), self.slope * np.sin(self.slope_heading)
        return float(along[0]), float(along[1])

    def tilted(self, along_x: float, along_y: float) -> Floor:
        """The same, rising by these angles along x and along y."""
        heading = float(np.arctan2(along_y, along_x))
        return replace(self, slope=float(np.hypot(along_x, along_y)), slope_heading=heading)

    @property
    def pose(self) -> Pose:
        """Of the plane, in the frame that it is stated in."""
        return np.array([0.0, 0.0, self.height or 0.0]), self.quat_wxyz

    @property
    def quat_wxyz(self) -> np.ndarray:
        """(4,) the turn from level to the slope."""
        across = np.array([np.sin(self.slope_heading), -np.cos(self.slope_heading), 0.0])
        return about(across, self.slope) + 0.0  # no -0.0: a level floor is level to the bit
