"""ControlLoop: read, observe, infer, filter, write, record; at moments that do not drift."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from gapless.deployment.loop_timing import Clock, MonotonicClock, TimingHistogram
from gapless.deployment.pilot import Pilot
from gapless.deployment.robot_link import JointCommand, LinkState, RobotLink
from gapless.deployment.safety_events import SafetyEvent
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.start_checks import require_startable
from gapless.deployment.stop_signals import stopping_on_signals
from gapless.errors import SafetyError

PARTS = ("read", "observe", "infer", "filter", "write", "record", "wake", "step", "processor")
"""What is timed; `wake` is how late a step began, `step` all of its work by the clock, in which
other programs may hold it up, `processor` the time that it was really at work."""
KEPT = 100
"""Events that are kept; all are counted."""
DAMPS = 10
"""Damping commands at the end: one may be lost."""


class StepRecorder(Protocol):
    """Keeps what happened; see `FlightRecorder`."""

    def add(self, step: int, moment: float, state: LinkState | None, sent: JointCommand) -> None:
        """One control step: what was read, and what was really sent."""
        ...


@dataclass(frozen=True)
class LoopReport:
    """What a run was like.

    Attributes:
        steps: control steps that were done.
        missed: deadlines that passed before the work of a step was done.
        skipped: control steps that were left out because of that.
        timings: part -> p50, p99 and max, s.
        counts: check -> how often it tripped.
        events: the first of them, at most KEPT.
        damped: why the robot was damped; None where it was not before the end.
        stopped: who ended it early; "" where nobody did.
    """

    steps: int
    missed: int
    skipped: int
    timings: dict[str, dict[str, float]]
    counts: dict[str, int]
    events: tuple[SafetyEvent, ...]
    damped: SafetyEvent | None
    stopped: str


class ControlLoop:
    """A pilot at the controls of a robot.

    Args:
        link: to the robot.
        pilot: who decides.
        safety: between the two; its limits say the rate.
        recorder: is given every step, with the command that was really sent.
        clock: what time is.
        patience: s to wait for the first sample of the robot.

    Raises:
        SafetyError: the limits are for another rate than the pilot's.
    """

    def __init__(
        self,
        link: RobotLink,
        pilot: Pilot,
        safety: SafetyFilter,
        recorder: StepRecorder | None = None,
        clock: Clock | None = None,
        patience: float = 2.0,
    ) -> None:
        if pilot.rate not in (None, safety.limits.rate):
            raise SafetyError(
                f"the safety limits are for {safety.limits.rate:g} control steps per second, the "
                f"policy for {pilot.rate:g}; write limits for its rate"
            )
        self.link, self.pilot, self.safety = link, pilot, safety
        self.recorder, self.clock = recorder, clock or MonotonicClock()
        self.period, self._patience = 1.0 / safety.limits.rate, patience
        self.timings = {part: TimingHistogram() for part in PARTS}
        self._counts: Counter[str] = Counter()
        self._events: list[SafetyEvent] = []
        self._steps = self._missed = self._skipped = 0
        self._stopped = ""

    def stop(self, why: str) -> None:
        """End the run after this step; anybody may, from anywhere."""
        self._stopped = self._stopped or why

    def run(self, steps: int) -> LoopReport:
        """Drive the robot for so many control steps; it is damped at the end, whatever happens.

        Raises:
            SafetyError: the robot was not started; every reason is told.
        """
        # A robot that is not started is sent nothing: somebody else may be holding it up.
        state = self._first_state()
        require_startable(self.safety.limits, self.link, state, self.pilot.first())
        with stopping_on_signals(self.stop):
            try:
                self._drive(steps)
            finally:
                self._let_go()
        return self.report()

    def report(self) -> LoopReport:
        """Of what was done so far."""
        timings = {part: timing.summary() for part, timing in self.timings.items()}
        return LoopReport(
            *(self._steps, self._missed, self._skipped, timings, dict(self._counts)),
            *(tuple(self._events), self.safety.damped, self._stopped),
        )

    def _first_state(self) -> LinkState | None:
        until = self.clock.now() + self._patience
        while (state := self.link.read()) is None and self.clock.now() < until:
            self.clock.sleep_until(self.clock.now() + self.period)
        return state

    def _drive(self, steps: int) -> None:
        start, step, before = self.clock.now(), 0, None
        while step < steps and not self._stopped:
            self.clock.sleep_until(start + step * self.period)
            now, worked = self.clock.now(), time.thread_time()
            self.timings["wake"].add(now - (start + step * self.period))
            self._do(step, now, self.period if before is None else now - before)
            before, done = now, self.clock.now()
            self.timings["step"].add(done - now)
            self.timings["processor"].add(time.thread_time() - worked)
            step = self._next(step, start, done)

    def _next(self, step: int, start: float, done: float) -> int:
        """The next step whose moment is still to come; those in between are left out."""
        late = done - (start + (step + 1) * self.period)
        if late <= 0:
            return step + 1
        self._missed += 1
        skipped = int(late / self.period)
        self._skipped += skipped
        return step + 1 + skipped

    def _do(self, step: int, now: float, dt: float) -> None:
        """One control step; whatever raises in it ends in damping, in the same step."""
        marks = [self.clock.now()]
        state = self._read()
        marks.append(self.clock.now())
        command = self._decide(state, marks)
        # A decision that took too long is about a robot that has moved on: it is late already now.
        over = max(marks[-1] - now - self.period, 0.0)
        sent, events = self.safety.step(state, command, dt + over)
        self._note(events)
        marks.append(self.clock.now())
        sent = self._write(sent)
        marks.append(self.clock.now())
        if self.recorder is not None:
            self.recorder.add(step, now, state, sent)
        marks.append(self.clock.now())
        for part, a, b in zip(PARTS, marks, marks[1:], strict=False):
            self.timings[part].add(b - a)
        self._steps += 1

    def _read(self) -> LinkState | None:
        try:
            return self.link.read()
        except Exception as error:
            self._doubt("link", error)
            return None

    def _decide(self, state: LinkState | None, marks: list[float]) -> JointCommand:
        """What the pilot wants; nobody asks it once the robot is damped."""
        command = self.safety.damping(state)
        try:
            asked = state is not None and self.safety.damped is None
            if asked and state is not None:
                self.pilot.observe(state)
            marks.append(self.clock.now())
            command = self.pilot.decide() if asked else command
        except Exception as error:
            self._doubt("policy", error)
        marks += [self.clock.now()] * (4 - len(marks))
        return command

    def _write(self, command: JointCommand) -> JointCommand:
        try:
            return self.link.write(command)
        except Exception as error:
            self._doubt("link", error)
            with suppress(Exception):
                self.link.damp()
            return self.safety.damping(None)

    def _doubt(self, whose: str, error: Exception) -> None:
        known = self.safety.damped is not None
        event = self.safety.damp(whose, f"{type(error).__name__}: {error}")
        if not known:
            self._note([event])

    def _note(self, events: Iterable[SafetyEvent]) -> None:
        for event in events:
            self._counts[event.check] += 1
            if len(self._events) < KEPT:
                self._events.append(event)

    def _let_go(self) -> None:
        """Damp, several times; a link that fails once may not fail twice."""
        for _ in range(DAMPS):
            with suppress(Exception):
                self.link.damp()
            self.clock.sleep_until(self.clock.now() + self.period)
