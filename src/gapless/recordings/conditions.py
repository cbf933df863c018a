"""The circumstances of a recording: what was carried, on which unit, with which gains."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from gapless.robots.payload import Payload


@dataclass(frozen=True)
class Conditions:
    """What was true for a whole recording. None means "the log does not say"."""

    unit: str | None = None
    """Serial number or name of the individual robot."""
    mount: str | None = None
    """How the robot stood: "free", "fixed" or the name of the clamped link."""
    payloads: dict[str, Payload] | None = None
    """Loads by link. An empty dict is "unloaded"; None is "unknown"."""
    gains: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Joint -> (kp, kd) where the log states them; they replace the robot's own in replay."""
    held: dict[str, float] = field(default_factory=dict)
    """Joints that were not logged, and the position (rad) the user declared they were held at."""
    policy: str | None = None
    """The controller that decided the commands as it went; None where they were fixed before."""
    extra: dict[str, str | float] = field(default_factory=dict)
    """Anything else worth grouping by."""

    @property
    def payload_mass(self) -> float | None:
        """Total load in kilograms, or None where it is unknown."""
        return None if self.payloads is None else sum(p.mass for p in self.payloads.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        loads = self.payloads
        return {
            "unit": self.unit,
            "mount": self.mount,
            "payloads": None if loads is None else {k: asdict(p) for k, p in loads.items()},
            "gains": dict(self.gains),
            "held": dict(self.held),
            "policy": self.policy,
            "extra": dict(self.extra),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Conditions:
        """Inverse of `to_dict`."""
        loads = data.get("payloads")
        payloads = (
            None
            if loads is None
            else {
                link: Payload(p["mass"], None if p["com"] is None else tuple(p["com"]))
                for link, p in loads.items()
            }
        )
        gains = {j: (float(g[0]), float(g[1])) for j, g in data.get("gains", {}).items()}
        return cls(**{**data, "payloads": payloads, "gains": gains})
