"""The joints of a robot: named columns with everything that drives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np

from gapless.errors import ModelError, unknown


@dataclass(frozen=True, eq=False)
class Joints:
    """A struct of (J,) arrays; the order of `names` is the robot's column order.

    Attributes:
        names: joint names.
        kp: position gain, N·m/rad.
        kd: velocity gain, N·m·s/rad.
        effort: torque limit, N·m; inf where none is known, 0 for a passive joint.
        velocity: speed limit, rad/s; inf where none is known.
        armature: reflected rotor inertia, kg·m².
        damping: viscous friction, N·m·s/rad.
        frictionloss: Coulomb friction, N·m.
        lower: lower position limit, rad; -inf where unlimited.
        upper: upper position limit, rad; inf where unlimited.
        default: the standing pose, rad.
    """

    names: tuple[str, ...]
    kp: np.ndarray
    kd: np.ndarray
    effort: np.ndarray
    velocity: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    frictionloss: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    default: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            value = np.array(np.broadcast_to(getattr(self, field.name), len(self.names)), float)
            value.flags.writeable = False
            object.__setattr__(self, field.name, value)
        self._check()

    def _check(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise ModelError(f"a joint is named twice in {self.names}")
        for name in ("kp", "kd", "effort", "velocity", "armature", "damping", "frictionloss"):
            value = getattr(self, name)
            bad = ~(value >= 0)
            if bad.any():
                joint = self.names[int(np.argmax(bad))]
                raise ModelError(f"{name} of joint {joint!r} is {value[bad][0]}; it must be >= 0")
        bad = ~np.isfinite(self.default) | np.isnan(self.lower) | np.isnan(self.upper)
        if bad.any():
            joint = self.names[int(np.argmax(bad))]
            raise ModelError(f"default or range of joint {joint!r} is not a number")

    def __len__(self) -> int:
        return len(self.names)

    @property
    def actuated(self) -> np.ndarray:
        """(J,) True where a motor acts; passive joints have no gains and no effort."""
        return (self.kp > 0) | (self.kd > 0) | (self.effort > 0)

    def index(self, name: str) -> int:
        """Column of a joint."""
        if name not in self.names:
            raise unknown("joint", name, self.names)
        return self.names.index(name)

    def pick(self, names: Iterable[str]) -> list[int]:
        """Columns of several joints, in the order asked for."""
        return [self.index(name) for name in names]

    def select(self, names: Iterable[str]) -> Joints:
        """Only these joints, in this order."""
        columns = self.pick(names)
        arrays = {f.name: getattr(self, f.name)[columns] for f in fields(self)[1:]}
        return Joints(tuple(self.names[i] for i in columns), **arrays)

    def with_values(self, **arrays: np.ndarray | float | dict[str, float]) -> Joints:
        """Replace whole fields by arrays or numbers, or single joints by a dict."""
        known = [f.name for f in fields(self)[1:]]
        new = {}
        for name, value in arrays.items():
            if name not in known:
                raise unknown("joint field", name, known)
            new[name] = self._merged(name, value) if isinstance(value, dict) else value
        return replace(self, **new)

    def _merged(self, field: str, values: dict[str, float]) -> np.ndarray:
        array = getattr(self, field).copy()
        for joint, value in values.items():
            array[self.index(joint)] = value
        return array


@dataclass(frozen=True)
class Alias:
    """Another name of a joint, as logs spell it: q_robot = sign * q_log + offset."""

    joint: str
    sign: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class TrackingPoint:
    """A point fixed to a link, `offset` metres from its origin, in the link's frame."""

    name: str
    body: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
