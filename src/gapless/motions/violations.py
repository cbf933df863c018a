"""What a check of a motion says: the limits it breaks, and how near it comes to each."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["position", "velocity", "torque", "collision", "tipping"]

SENTENCES: dict[str, str] = {
    "collision": "{joint}: overlap {value:.3f} m at {time:.2f} s, links must stay apart",
    "tipping": "{joint}: tipping, the zero-moment point is {value:.3f} m outside the feet "
    "at {time:.2f} s",
}
MOTOR_SENTENCE = (
    "{joint}: {kind} {value:.4g} {unit} at {time:.2f} s, the limit is {limit:.4g} {unit}"
)


@dataclass(frozen=True)
class Violation:
    """The worst moment at which a motion breaks one limit.

    Attributes:
        kind: position, velocity, torque, collision or tipping.
        joint: the joint; "link_a / link_b" for a collision, the feet on the ground for tipping.
        time: seconds since the first sample.
        value: what is reached.
        limit: what is allowed.
        unit: of both.
    """

    kind: Kind
    joint: str
    time: float
    value: float
    limit: float
    unit: str

    def __str__(self) -> str:
        return SENTENCES.get(self.kind, MOTOR_SENTENCE).format(**asdict(self))


@dataclass(frozen=True)
class MotionReport:
    """The result of `check_motion`.

    Attributes:
        violations: one for each joint and kind, at its worst moment.
        peaks: (J,) arrays: "lower" and "upper" commanded, rad; "velocity" reached, rad/s;
            "torque" asked of the motors, N·m.
        joints: the robot's joints, the order of the peaks.
    """

    violations: list[Violation]
    peaks: dict[str, np.ndarray]
    joints: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is violated."""
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "ok": self.ok,
            "violations": [asdict(v) for v in self.violations],
            "peaks": {
                joint: {name: float(values[i]) for name, values in self.peaks.items()}
                for i, joint in enumerate(self.joints)
            },
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.violations)) or "within all limits"
