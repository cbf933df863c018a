"""From a raw log to recordings: names, clock, units, grid, placement in time, quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gapless.errors import DataError, GaplessError
from gapless.recordings import clock, orientation, placement, quality, units
from gapless.recordings.delay import Delay, estimate
from gapless.recordings.episodes import Frames, cut, frames
from gapless.recordings.findings import Finding
from gapless.recordings.naming import Arranged, arrange
from gapless.recordings.options import ImportOptions
from gapless.recordings.rawlog import RawLog, Stream
from gapless.recordings.recording import BODY_CHANNELS, Recording
from gapless.recordings.resample import fill

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

Result = TypeVar("Result")


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
    ledger = Ledger(name, findings=[Finding("info", "note", note) for note in log.notes])
    log = ledger.attempt(lambda: _in_seconds(log, options)) or log
    arranged = ledger.attempt(lambda: arrange(log, robot, options))
    if arranged is not None:
        ledger.add(units.angle_problem(arranged.streams["q"].values, robot.joints))
        for channel in orientation.QUATERNIONS:
            if channel in log.streams:
                ledger.add(orientation.norm_problem(channel, log.streams[channel].values))
    ledger.settle()
    assert arranged is not None
    builder = _Builder(name, log, arranged, robot, options, rate, ledger)
    recordings, delay, moved = _place(builder)
    ledger.settle()
    recordings = [builder.finish(r, i, delay, moved) for i, r in enumerate(recordings)]
    ledger.settle()
    return Prepared(recordings, [f if f.recording else f.of(name) for f in ledger.findings])


def _require_samples(log: RawLog) -> None:
    q = log.streams.get("q")
    count = 0 if q is None else len(q.time)
    if count < 2:
        raise DataError(f"recording {log.name!r} has {count} samples of q; at least 2 are needed")


def _in_seconds(log: RawLog, options: ImportOptions) -> RawLog:
    """The log with all clocks in seconds; streams must tick in one unit."""
    declared = options.time_unit or log.time_unit
    unit = clock.infer_unit(np.asarray(log.streams["q"].time, dtype=float), declared)
    streams = {}
    for name, stream in log.streams.items():
        time = np.asarray(stream.time, dtype=float)
        if len(time) > 2 and name == "target":
            found = clock.infer_unit(time, declared)
            if found != unit:
                raise DataError(
                    f"q is logged in {unit!r} and {name} in {found!r}; one clock is needed"
                )
        streams[name] = Stream(time * clock.SECONDS[unit], stream.values)
    return replace(log, streams=streams, time_unit="s")


@dataclass
class _Builder:
    """Builds the recordings of one log; called twice when commands have to move."""

    name: str
    log: RawLog
    arranged: Arranged
    robot: Robot
    options: ImportOptions
    rate: float
    ledger: Ledger
    masked: list[Counter[str]] = field(default_factory=list)
    dq: list[str] = field(default_factory=list)

    def build(self, moved: int) -> list[Recording]:
        """Recordings with the commands moved by some rows of the log."""
        streams = placement.move_commands(replace(self.log, streams=self.arranged.streams), moved)
        cut_up = self.ledger.attempt(lambda: cut(streams))
        if cut_up is None:
            return []
        self.ledger.findings = [*self.ledger.findings, *cut_up[1]]
        made = [frames(e, self.rate, self.options.max_gap, self.arranged.logged) for e in cut_up[0]]
        short = sum(m is None for m in made)
        if short == len(made):
            self.ledger.problems.append(
                f"too short: {len(streams['q'].time)} samples leave no episode of 10 usable frames "
                f"at {self.rate:g} Hz"
            )
        elif short:
            text = f"{short} episodes with fewer than 10 usable frames were dropped"
            self.ledger.findings.append(Finding("warning", "short", text, count=short))
        self.masked, self.dq = [], []
        return [self._recording(m) for m in made if m is not None]

    def _recording(self, made: Frames) -> Recording:
        held = self.arranged.conditions.held
        values, mask = made.values, made.mask
        q = self._with_held(fill(values["q"]), held)
        target = values.get("target")
        dq, source, findings = units.velocity(q, mask, values.get("dq"), self.rate)
        self.ledger.findings += findings
        self.masked.append(made.masked)
        self.dq.append(source)
        channels = {k: v for k, v in values.items() if k not in ("q", "target", "dq")}
        channels = {k: v for k, v in channels.items() if k in BODY_CHANNELS or v.shape == q.shape}
        return Recording(
            self.name,
            tuple(self.robot.joints.names),
            float(self.rate),
            q,
            None if target is None else self._with_held(fill(target), held),
            mask,
            {"dq": dq, **channels},
            self.arranged.conditions,
        )

    def _with_held(self, values: np.ndarray, held: dict[str, float]) -> np.ndarray:
        names = tuple(self.robot.joints.names)
        out = values.copy()
        for joint, position in held.items():
            out[:, names.index(joint)] = position
        return out

    def finish(self, recording: Recording, number: int, delay: Delay, moved: int) -> Recording:
        """Check the content, mask what is stuck, and write down where it came from."""
        bad, findings = quality.stuck(recording)
        masked = self.masked[number] + Counter({"stuck": int(bad.sum())})
        recording = replace(recording, mask=recording.mask & ~bad)
        findings += [
            *quality.saturated(recording),
            *quality.followed(recording),
            *quality.beyond_limits(recording, self.robot),
        ]
        if (self.options.angle_unit or self.log.angle_unit) == "deg":
            findings += units.tiny_angles(recording.q, recording.mask)
        order = orientation.check_order(recording)
        self.ledger.problems += [f.message for f in order if f.severity == "error"]
        self.ledger.add(self._too_much_masked(recording, masked))
        label = self.name if len(self.masked) == 1 else f"{self.name} part {number + 1}"
        findings = [f.of(label) for f in (*findings, *order)]
        self.ledger.findings += findings
        return replace(
            recording, provenance=self._provenance(number, masked, findings, delay, moved)
        )

    def _too_much_masked(self, recording: Recording, masked: Counter[str]) -> str | None:
        share = 1 - float(recording.mask[:, self.arranged.logged].mean())
        if share <= self.options.max_masked:
            return None
        reasons = ", ".join(f"{why} {count}" for why, count in masked.most_common() if count)
        return (
            f"{share:.0%} of the samples are unusable ({reasons}); the bound is "
            f"{self.options.max_masked:.0%} (--max-masked)"
        )

    def _provenance(
        self,
        number: int,
        masked: Counter[str],
        findings: list[Finding],
        delay: Delay,
        moved: int,
    ) -> dict[str, Any]:
        return {
            "source": PurePath(self.log.source).name,
            "native_rate": round(1.0 / clock.interval(self.log.streams["q"].time), 3),
            "masked": {why: count for why, count in masked.items() if count},
            "moved_steps": moved,
            "delay_s": round(delay.lag / self.rate, 6) if delay.known else None,
            "delay_std_s": round(delay.std / self.rate, 6) if delay.known else None,
            "dq": self.dq[number],
            "notes": [*self.log.notes, *(f.message for f in findings if f.severity != "error")],
            "flags": sorted({f.code for f in findings if f.severity == "error"}),
        }


def _place(builder: _Builder) -> tuple[list[Recording], Delay, int]:
    """Build, measure the delay, and build again if the data prove that commands are late."""
    ledger, known = builder.ledger, list(builder.ledger.findings)
    declared = placement.rows_to_move(builder.log.pairing, builder.options.command_acts)
    moved, told = declared or 0, []
    while True:
        ledger.findings = [*known]
        recordings = builder.build(moved)
        ledger.settle()
        for recording in recordings:
            ledger.add(
                units.speed_problem(
                    recording.q, recording.mask, recording.rate, builder.robot.joints
                )
            )
        ledger.settle()
        delay = estimate(recordings)
        verdict = placement.judge(recordings[0], delay, declared)
        told += verdict.findings
        if not verdict.move:
            break
        moved += verdict.move
        declared = moved
    ledger.findings += told
    ledger.problems += verdict.problems
    return recordings, delay, moved
