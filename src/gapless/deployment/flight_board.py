"""FlightBoard: what a run looks like right now, for whoever watches it from another thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gapless.deployment.operated_pilot import OperatedPilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_limits import JointLimits, SafetyLimits
from gapless.deployment.state_checks import tilt_of

if TYPE_CHECKING:
    from gapless.deployment.adaptive_pilot import AdaptivePilot
    from gapless.deployment.control_loop import ControlLoop
    from gapless.deployment.flight_recorder import FlightRecorder

AFTER = 2.0
"""s that a damped robot is still watched and recorded; then the run is over."""


@dataclass
class FlightBoard:
    """Stands between the loop and its recorder, and keeps the newest step; it never waits.

    A robot that was damped stays damped: a little later the run is over.

    Attributes:
        pilot: whose stage is shown.
        recorder: that steps are handed on to.
        loop: whose figures are shown.
        adaptive: who learns from what was really sent; None learns nothing.
    """

    pilot: OperatedPilot
    recorder: FlightRecorder | None = None
    loop: ControlLoop | None = None
    adaptive: AdaptivePilot | None = None
    step: int = 0
    state: LinkState | None = field(default=None, repr=False)

    def add(self, step: int, moment: float, state: LinkState | None, sent: JointCommand) -> None:
        """Keep the newest, hand it on."""
        self.step, self.state = step, state
        if self.adaptive is not None:
            self.adaptive.note_sent(sent)
        if self.recorder is not None:
            self.recorder.asked = self.pilot.asked
            self.recorder.add(step, moment, state, sent)
        safety = None if self.loop is None else self.loop.safety
        damped = None if safety is None else safety.damped
        if self.loop is None or safety is None or damped is None:
            return
        if safety.steps - damped.step > AFTER * self.pilot.rate:
            self.loop.stop("the robot was damped")

    @property
    def seconds(self) -> float:
        """Of the run so far."""
        return self.step / self.pilot.rate

    @property
    def last_event(self) -> str:
        """The gravest or the newest thing that happened."""
        safety = None if self.loop is None else self.loop.safety
        if safety is not None and safety.damped is not None:
            return str(safety.damped)
        return self.pilot.said

    def shares(self) -> dict[str, float]:
        """Limit -> how much of it is used up now; 1 is all of it."""
        if self.loop is None or self.state is None:
            return {}
        return limit_shares(self.loop.safety.limits, self.loop.safety.joints, self.state)


def limit_shares(limits: SafetyLimits, joints: JointLimits, state: LinkState) -> dict[str, float]:
    """How near a sample is to the limits that it can pass, by the name of the check."""
    used = {"velocity": np.abs(state.dq) / joints.velocity}
    middle, half = (joints.lower + joints.upper) / 2, (joints.upper - joints.lower) / 2
    found = {"position": float(np.max(np.abs(state.q - middle) / half))}
    if state.torque is not None:
        used["torque"] = np.abs(state.torque) / joints.torque
    if state.temperature is not None:
        used["temperature"] = state.temperature
    found |= {k: _share(float(np.max(v)), limits.limit(k)) for k, v in used.items()}
    if state.base_quat_wxyz is not None and limits.on("tilt"):
        found["tilt"] = _share(tilt_of(state.base_quat_wxyz), limits.limit("tilt"))
    return {name: share for name, share in found.items() if limits.on(name)}


def _share(value: float, limit: float) -> float:
    return value / limit if limit > 0 else 0.0
