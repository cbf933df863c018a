"""SafetyFilter: between every command and the robot. Once it damps, it damps for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_events import SafetyEvent, Trip
from gapless.deployment.safety_limits import SafetyLimits
from gapless.deployment.state_checks import command_trips, state_trips
from gapless.deployment.target_clamps import clamp_command

LATE = 1.5
"""Control steps between two steps from which the second is late."""
ASKED, NOTHING = 0.05, 0.1
"""Share of a joint's torque from which it is asked something; of that, what counts as nothing."""


class SafetyFilter:
    """The same inputs give the same outputs: it has neither a clock nor chance in it.

    There is no way to arm it again: after a fall or a fault a person looks, and starts anew.

    Args:
        limits: of the robot.
        joints: in the order of states and commands.
    """

    def __init__(self, limits: SafetyLimits, joints: Sequence[str]) -> None:
        self.limits, self.joints = limits, limits.joints.in_order(joints)
        self.damped: SafetyEvent | None = None
        self.steps = 0
        self._sequence: int | None = None
        self._old = self._late = 0
        self._sent: JointCommand | None = None
        self._clamped = np.zeros(len(self.joints.names))
        self._far = np.zeros(len(self.joints.names))
        self._airborne = self._powerless = 0.0

    def step(
        self, state: LinkState | None, command: JointCommand, dt: float
    ) -> tuple[JointCommand, tuple[SafetyEvent, ...]]:
        """What may be sent in place of a command, and which limits that took.

        Args:
            state: newest sample of the robot; None where there is none.
            command: what is wanted.
            dt: s since the step before.
        """
        self.steps += 1
        if self.damped is None:
            trip = next(self._faults(state, command, dt), None)
            if trip is None and state is not None:
                return self._within(state, command)
            if trip is not None:
                return self._brake(trip, state)
        return self.damping(state), ()

    def damp(self, check: str, why: str) -> SafetyEvent:
        """Brake from now on, for a reason that is not in states or commands."""
        if self.damped is None:
            self.damped = SafetyEvent(check, "damp", self.steps, why=why)
        return self.damped

    def damping(self, state: LinkState | None) -> JointCommand:
        """The command that brakes."""
        known = state is not None and state.q.shape == self.joints.damping.shape
        return JointCommand.damping(self.joints.damping, state.q if known and state else None)

    def _brake(
        self, trip: Trip, state: LinkState | None, others: Sequence[SafetyEvent] = ()
    ) -> tuple[JointCommand, tuple[SafetyEvent, ...]]:
        self.damped = trip.event("damp", self.steps)
        return self.damping(state), (*others, self.damped)

    def _within(
        self, state: LinkState, command: JointCommand
    ) -> tuple[JointCommand, tuple[SafetyEvent, ...]]:
        last = state.q if self._sent is None else self._sent.q
        found = clamp_command(self.limits, self.joints, state, command, last)
        # Numbers of any size are finite; what is computed from them may not be.
        new = found.command is not command
        broken = command_trips(self.limits, self.joints, found.command) if new else ()
        strict = (t for t in found.trips if self.limits.checks[t.check].action == "damp")
        for trip in (*broken, *strict):
            return self._brake(trip, state)
        events = tuple(trip.event("clamp", self.steps) for trip in found.trips)
        # Clamping now and then is a limit at work; without end it is a policy that is lost.
        self._clamped = np.maximum(self._clamped + np.where(found.joints, 1.0, -1.0), 0.0)
        worn = next(self._counted("clamped", self._clamped), None)
        if worn is not None:
            return self._brake(worn, state, events)
        self._sent = found.command
        return found.command, events

    def _faults(self, state: LinkState | None, command: JointCommand, dt: float) -> Iterator[Trip]:
        yield from self._lateness(dt)
        yield from self._staleness(state)
        if state is not None:
            yield from state_trips(self.limits, self.joints, state)
            yield from command_trips(self.limits, self.joints, command)
            yield from self._tracking(state, command)
            yield from self._power(state, dt)
            yield from self._contact(state, dt)
        else:
            yield Trip("stale", np.nan, 0.0, why="nothing was received from the robot yet")

    def _lateness(self, dt: float) -> Iterator[Trip]:
        steps = dt * self.limits.rate
        if not 0 < steps < np.inf:
            yield Trip("finite", dt, 0.0, why=f"{dt} s since the step before is no time")
        self._late = self._late + 1 if steps > LATE else 0
        most = self.limits.limit("deadline")
        if self._late >= most or steps - 1 > most:
            yield Trip("deadline", float(max(self._late, steps - 1)), most)

    def _staleness(self, state: LinkState | None) -> Iterator[Trip]:
        seen = self._sequence
        new = state is not None and (seen is None or state.sequence > seen)
        self._old = 0 if new else self._old + 1
        self._sequence = state.sequence if new and state is not None else seen
        if self._old >= self.limits.limit("stale"):
            yield Trip("stale", float(self._old), self.limits.limit("stale"))

    def _tracking(self, state: LinkState, command: JointCommand) -> Iterator[Trip]:
        """A joint that does not go where it is told: blocked, or its motor is off."""
        if self._sent is None or not self.limits.on("tracking"):
            return
        away = np.abs(self._sent.q - state.q)
        far = (away > self.limits.limit("tracking")) & (np.asarray(command.kp) > 0)
        self._far = np.where(far, self._far + 1, 0)
        worst = int(np.argmax(self._far))
        if self._far[worst] >= self.limits.tracking_steps:
            names, limit = self.joints.names, self.limits.limit("tracking")
            yield Trip("tracking", float(away[worst]), limit, names[worst])

    def _power(self, state: LinkState, dt: float) -> Iterator[Trip]:
        """A robot that no longer obeys, whoever switched it off, must not be flown on."""
        if self._sent is None or state.torque is None or not self.limits.on("powerless"):
            return
        asked = self._sent.kp * (self._sent.q - state.q) - self._sent.kd * state.dq
        much = np.abs(asked) > ASKED * self.joints.torque
        given, wanted = (float(np.abs(torque[much]).sum()) for torque in (state.torque, asked))
        nothing = bool(much.any()) and given < NOTHING * wanted
        self._powerless = self._powerless + dt if nothing else 0.0
        if self._powerless > self.limits.limit("powerless"):
            yield Trip("powerless", self._powerless, self.limits.limit("powerless"))

    def _contact(self, state: LinkState, dt: float) -> Iterator[Trip]:
        if state.contact is None or not self.limits.on("contact"):
            return
        touching = bool((np.asarray(state.contact) > 0).any())
        self._airborne = 0.0 if touching else self._airborne + dt
        if self._airborne > self.limits.limit("contact"):
            yield Trip("contact", self._airborne, self.limits.limit("contact"))

    def _counted(self, check: str, counts: np.ndarray) -> Iterator[Trip]:
        worst, most = int(np.argmax(counts)), self.limits.limit(check)
        if counts[worst] > most:
            yield Trip(check, float(counts[worst]), most, self.joints.names[worst])
