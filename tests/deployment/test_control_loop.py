"""The loop keeps its moments, counts what it misses, and whatever happens the robot is damped."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

from gapless.deployment.control_loop import DAMPS, KEPT, PARTS, ControlLoop, LoopReport
from gapless.deployment.loop_timing import BINS, MonotonicClock, TimingHistogram
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck
from gapless.errors import SafetyError
from safe_arm import DT, NAMES, FakeClock, FakeLink, command, limits


class FakePilot:
    """Wants a pose; may take long, raise, or press a button."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock, self.steps = clock, 0
        self.took: dict[int, float] = {}
        self.acts: dict[int, Any] = {}

    rate: float | None = None

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """Zero."""
        return command()

    def observe(self, state: LinkState) -> None:
        """Counted."""
        self.steps += 1

    def decide(self) -> JointCommand:
        """The pose, after whatever is to happen in this step."""
        if self.clock is not None:
            self.clock.time += self.took.get(self.steps, 0.001)
        act = self.acts.get(self.steps)
        return command() if act is None else act() or command()


class Kept:
    """A recorder in memory."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, Any, JointCommand]] = []

    def add(self, step: int, moment: float, state: Any, sent: JointCommand) -> None:
        """One row."""
        self.rows.append((step, moment, state, sent))


def flown(steps: int = 20, **given: Any) -> tuple[LoopReport, FakeLink, FakePilot, Kept]:
    """A run with fake time; `acts` and `took` are by step, from 1."""
    clock, link, kept = FakeClock(), given.get("link") or FakeLink(), Kept()
    pilot = FakePilot(clock)
    pilot.took, pilot.acts = given.get("took", {}), given.get("acts", {})
    if "at" in given:
        pilot.acts = {k: lambda act=act: act(link) for k, act in given["at"].items()}
    loop = ControlLoop(link, pilot, SafetyFilter(limits(), NAMES), kept, clock)
    return loop.run(steps), link, pilot, kept


def test_steps_begin_at_moments_that_do_not_drift() -> None:
    """However long the work of a step takes, as long as it takes less than the step."""
    report, link, _, kept = flown(30, took={k: 0.018 * (k % 2) for k in range(30)})
    moments = np.array([row[1] for row in kept.rows])
    np.testing.assert_allclose(moments - moments[0], np.arange(30) * DT, atol=1e-9)
    assert (report.steps, report.missed, report.skipped) == (30, 0, 0)
    assert len(link.sent) == 30 and not report.events and report.damped is None
    assert set(report.timings) == set(PARTS)
    assert report.timings["infer"]["max"] == pytest.approx(0.018)
    assert report.timings["step"]["max"] >= 0.018 > report.timings["processor"]["p50"] > 0


def test_a_missed_deadline_is_counted_and_its_steps_left_out() -> None:
    """They are not made up for afterwards: the robot would be rushed."""
    report, _, _, kept = flown(20, took={5: 0.05})
    assert (report.missed, report.skipped, report.steps) == (1, 1, 19)
    assert [row[0] for row in kept.rows] == [0, 1, 2, 3, 4, *range(6, 20)]
    moments = [row[1] - kept.rows[0][1] for row in kept.rows]
    assert moments[5] == pytest.approx(0.13 - 0.001, abs=0.012)
    assert moments[6:] == pytest.approx(np.arange(7, 20) * DT)


def test_a_loop_that_is_always_late_damps() -> None:
    """Five steps in a row."""
    report, link, pilot, _ = flown(40, took=dict.fromkeys(range(41), 0.035))
    assert report.damped is not None and report.damped.check == "deadline"
    assert pilot.steps <= 7 and link.sent[-1].damps


def test_a_decision_that_took_too_long_is_not_sent() -> None:
    """It is about a robot that has moved on: damping goes out in its place."""
    report, link, _, _ = flown(20, took={5: 0.2})
    assert [sent.damps for sent in link.sent][:6] == [False] * 4 + [True] * 2
    assert report.damped is not None and report.damped.check == "deadline"


def raising(*_: Any) -> None:
    """As a policy does that sees NaN."""
    raise ValueError("the observation is not finite")


def test_a_policy_that_raises_damps_in_the_same_step() -> None:
    """And is not asked again."""
    report, link, pilot, _ = flown(20, acts={7: raising})
    assert [sent.damps for sent in link.sent] == [False] * 6 + [True] * 14
    assert report.damped is not None and report.damped.check == "policy" and pilot.steps == 7
    assert "not finite" in report.damped.why and report.counts == {"policy": 1}


def test_a_state_out_of_limits_damps_in_the_same_step() -> None:
    """The sample that shows it is answered by damping."""

    def fall(link: FakeLink) -> None:
        link.changes = {"base_quat_wxyz": np.array([0.0, 1.0, 0.0, 0.0])}

    report, link, _, kept = flown(20, at={7: fall})
    first = next(k for k, row in enumerate(kept.rows) if row[2].base_quat_wxyz[0] == 0)
    assert first == 7 and link.sent[first].damps and not link.sent[first - 1].damps
    assert report.damped is not None and report.damped.check == "tilt"


def test_a_cable_that_is_pulled_damps() -> None:
    """Within as many steps as the limits allow."""

    def pull(link: FakeLink) -> None:
        link.frozen = True

    report, link, _, _ = flown(20, at={7: pull})
    assert report.damped is not None and report.damped.check == "stale"
    assert [sent.damps for sent in link.sent].index(True) == 9


class Broken(FakeLink):
    """Reads and writes fail from a step on."""

    def __init__(self, what: str, count: int = 5) -> None:
        super().__init__()
        self.what, self.left = what, count

    def _fail(self, what: str) -> None:
        self.left -= what == self.what
        if what == self.what and self.left < 0:
            raise OSError("no route to robot")

    def read(self) -> LinkState | None:
        """Or not."""
        self._fail("read")
        return super().read()

    def write(self, command: JointCommand) -> JointCommand:
        """Or not."""
        self._fail("write")
        return super().write(command)


@pytest.mark.parametrize("what", ["read", "write"])
def test_a_link_that_fails_damps(what: str) -> None:
    """It does not end the loop: damping is tried at every step, and at the end."""
    report, link, _, kept = flown(20, link=Broken(what))
    assert report.damped is not None and report.damped.check == "link" and report.steps == 20
    assert "no route" in report.damped.why
    assert kept.rows[-1][3].damps and link.damped >= DAMPS


def test_the_end_of_a_run_damps_more_than_once() -> None:
    """One message may be lost."""
    _, link, _, _ = flown(3)
    assert link.damped == DAMPS


def test_somebody_stops_it() -> None:
    """From anywhere; the step is finished, then the robot is damped."""
    clock, link = FakeClock(), FakeLink()
    pilot = FakePilot(clock)
    loop = ControlLoop(link, pilot, SafetyFilter(limits(), NAMES), clock=clock)
    pilot.acts = {4: lambda: loop.stop("the operator")}
    report = loop.run(100)
    assert report.steps == 4 and report.stopped == "the operator" and link.damped == DAMPS


def test_a_signal_ends_in_damping() -> None:
    """SIGTERM, as a service manager sends it; the handler before is back afterwards."""
    before = signal.getsignal(signal.SIGTERM)
    report, link, _, _ = flown(100, acts={4: lambda: os.kill(os.getpid(), signal.SIGTERM)})
    assert report.stopped == "signal SIGTERM" and report.steps < 100 and link.damped == DAMPS
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_interrupt_in_the_middle_damps_too() -> None:
    """Even what is no Exception leaves the robot damped."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    link, clock = FakeLink(), FakeClock()
    pilot = FakePilot(clock)
    pilot.acts = {3: interrupt}
    with pytest.raises(KeyboardInterrupt):
        ControlLoop(link, pilot, SafetyFilter(limits(), NAMES), clock=clock).run(10)
    assert link.damped == DAMPS


def test_a_robot_that_is_not_started_is_sent_nothing() -> None:
    """Somebody else may be holding it up."""
    link = FakeLink(is_real=True)
    with pytest.raises(SafetyError, match="nobody signed"):
        ControlLoop(link, FakePilot(), SafetyFilter(limits(), NAMES), clock=FakeClock()).run(5)
    assert link.sent == [] and link.damped == 0


def test_a_pilot_is_not_run_at_another_rate() -> None:
    """It would be another policy."""
    pilot = FakePilot()
    pilot.rate = 100.0
    with pytest.raises(SafetyError, match=r"limits are for 50 .* policy for 100"):
        ControlLoop(FakeLink(), pilot, SafetyFilter(limits(), NAMES))


def test_a_silent_robot_is_not_waited_for_without_end() -> None:
    """There is no sample, ever."""
    link, clock = FakeLink(), FakeClock()
    link.read = lambda: None  # type: ignore[method-assign]
    with pytest.raises(SafetyError, match="nothing was received"):
        ControlLoop(link, FakePilot(), SafetyFilter(limits(), NAMES), clock=clock).run(5)
    assert 102 <= clock.time < 103


def test_nothing_grows_with_the_length_of_a_run() -> None:
    """Two thousand clamped steps: a hundred events, and as many bins as ever."""
    clock, link = FakeClock(), FakeLink()
    pilot = FakePilot(clock)
    pilot.acts = {k: lambda k=k: command(0.5 if k % 2 else -0.5) for k in range(1, 2001)}
    endless = limits(clamped=SafetyCheck(0, "off"))
    loop = ControlLoop(link, pilot, SafetyFilter(endless, NAMES), clock=clock)
    report = loop.run(2000)
    assert report.counts["target_rate"] > 1500 and len(report.events) == KEPT
    assert len(loop.timings["read"]._counts) == BINS


def test_quantiles_of_durations() -> None:
    """To four percent; the maximum exactly."""
    timing, values = TimingHistogram(), np.geomspace(1e-4, 1e-1, 1001)
    for value in np.random.default_rng(0).permutation(values):
        timing.add(float(value))
    assert timing.quantile(0.5) == pytest.approx(np.quantile(values, 0.5), rel=0.06)
    assert timing.quantile(0.99) == pytest.approx(np.quantile(values, 0.99), rel=0.06)
    assert timing.summary()["max"] == values.max() and TimingHistogram().quantile(0.5) == 0


def test_the_real_clock_sleeps_to_a_moment() -> None:
    """Never less; a moment that is over costs nothing."""
    clock = MonotonicClock()
    until = clock.now() + 0.01
    clock.sleep_until(until)
    assert clock.now() >= until
    clock.sleep_until(until - 1e9)  # would be forever
