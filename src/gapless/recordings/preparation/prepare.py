"""From a raw log to recordings: names, clock, units, grid, placement in time, quality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gapless.errors import DataError, GaplessError
from gapless.recordings.findings import Finding
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation import clock, orientation, placement, units
from gapless.recordings.preparation.building import Builder, Built, build, finish
from gapless.recordings.preparation.delay import Delay, estimate
from gapless.recordings.preparation.joint_names import arrange
from gapless.recordings.preparation.spikes import without_spikes
from gapless.recordings.preparation.trimming import trimmed
from gapless.recordings.rawlog import RawLog, Stream
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

Result = TypeVar("Result")
RESAMPLED = 0.1
"""Share by which the grid's rate may differ from the log's without a word."""


@dataclass(frozen=True)
class Prepared:
    """The recordings of one log, and everything there is to say about them."""

    recordings: list[Recording]
    findings: list[Finding]


@dataclass
class Ledger:
    """Problems and findings of one log, so that all of them are told at once."""

    name: str
    problems: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def attempt(self, step: Callable[[], Result]) -> Result | None:
        """Run a step; a refusal becomes a problem."""
        try:
            return step()
        except GaplessError as error:
            self.problems.append(str(error))
            return None

    def add(self, problem: str | None) -> None:
        """Note a problem, if there is one."""
        if problem is not None:
            self.problems.append(problem)

    def settle(self) -> None:
        """Raise one error with all problems."""
        if self.problems:
            lines = "".join(f"\n  - {problem}" for problem in dict.fromkeys(self.problems))
            raise DataError(f"recording {self.name!r} cannot be used:{lines}")


def native_rate(log: RawLog, options: ImportOptions) -> float:
    """Median sampling rate of a log's positions, Hz."""
    _require_samples(log)
    time = np.asarray(log.streams["q"].time, dtype=float)
    unit = clock.infer_unit(time, options.time_unit or log.time_unit)
    return 1.0 / (clock.interval(time) * clock.SECONDS[unit])


def prepare(log: RawLog, robot: Robot, options: ImportOptions, rate: float) -> Prepared:
    """Turn a log into recordings of a robot, on a uniform clock.

    Args:
        log: as an importer read it.
        robot: whose joints, in whose order, the recordings have.
        options: what the user declared.
        rate: samples a second of the result.

    Raises:
        DataError: listing everything that makes the log unusable.
    """
    _require_samples(log)
    name = options.motion or log.name
    ledger = Ledger(name)
    log = ledger.attempt(lambda: _in_seconds(log, options)) or log
    if not ledger.problems:
        log = ledger.attempt(lambda: trimmed(log, options.trim or log.trim)) or log
    ledger.findings += [Finding("info", "note", note) for note in log.notes]
    ledger.findings += _resampled(log, options, rate)
    arranged = ledger.attempt(lambda: arrange(log, robot, options))
    if arranged is not None:
        arranged, spikes = without_spikes(arranged, robot)
        ledger.findings += spikes
        ledger.add(units.angle_problem(arranged.streams["q"].values, robot.joints))
        for channel in orientation.QUATERNIONS:
            if channel in log.streams:
                ledger.add(orientation.norm_problem(channel, log.streams[channel].values))
    ledger.settle()
    assert arranged is not None
    builder = Builder(name, log, arranged, robot, options, rate)
    built, delay, moved = _place(builder, ledger)
    done = finish(builder, built, delay, moved)
    ledger.problems += done.problems
    ledger.settle()
    findings = [*ledger.findings, *done.findings]
    return Prepared(done.recordings, [f if f.recording else f.of(name) for f in findings])


def _require_samples(log: RawLog) -> None:
    q = log.streams.get("q")
    count = 0 if q is None else len(q.time)
    if count < 2:
        raise DataError(f"recording {log.name!r} has {count} samples of q; at least 2 are needed")


def _in_seconds(log: RawLog, options: ImportOptions) -> RawLog:
    """The log with all clocks in seconds; streams must tick in one unit."""
    declared = options.time_unit or log.time_unit
    unit = clock.infer_unit(np.asarray(log.streams["q"].time, dtype=float), declared)
    target = log.streams.get("target", log.streams["q"]).time
    if len(target) > 2 and target is not log.streams["q"].time:
        found = clock.infer_unit(np.asarray(target, dtype=float), declared)
        if found != unit:
            raise DataError(f"q is logged in {unit!r} and target in {found!r}; one clock is needed")
    seconds = clock.once_a_clock(lambda time: np.asarray(time, dtype=float) * clock.SECONDS[unit])
    streams = {name: Stream(seconds(s.time), s.values) for name, s in log.streams.items()}
    return replace(log, streams=streams, time_unit="s")


def _resampled(log: RawLog, options: ImportOptions, rate: float) -> list[Finding]:
    """Say so where the grid is clearly not the log's own rate; nobody chose it by default."""
    native = 1.0 / clock.interval(log.streams["q"].time)
    if not abs(rate / native - 1) > RESAMPLED:
        return []
    text = f"logged at {native:.1f} Hz and resampled to {rate:g} Hz (ratio {rate / native:.2f})"
    if options.rate is not None:
        return [Finding("info", "resampled", text)]
    hint = f"; use --rate {max(round(native), 1)} or import it apart"
    return [Finding("warning", "resampled", text + hint)]


def _place(builder: Builder, ledger: Ledger) -> tuple[Built, Delay, int]:
    """Build, measure the delay, and build again if the data prove that commands are late."""
    declared = placement.rows_to_move(builder.log.pairing, builder.options.command_acts)
    moved = declared or 0
    while True:
        built = ledger.attempt(partial(build, builder, moved))
        ledger.problems += built.problems if built is not None else []
        ledger.settle()
        assert built is not None
        delay = estimate(built.recordings)
        verdict = placement.judge(built.recordings[0], delay, declared)
        ledger.findings += verdict.findings
        ledger.problems += verdict.problems
        if not verdict.move:
            return built, delay, moved
        declared = moved = moved + verdict.move
