"""Import: read logs of one format, prepare each, write a dataset, and account for everything."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.errors import DataError, GaplessError
from gapless.progress import Progress, Watch
from gapless.recordings.findings import Finding
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import native_rate, prepare
from gapless.recordings.rawlog import RawLog
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

NAMED = 5
"""Logs that a line names."""
LOOK_AHEAD = 16
"""Logs that are read before the rate of the dataset is decided."""


@dataclass
class ImportReport:
    """What became of every log of a source.

    Attributes:
        format: the format read.
        rate: samples a second of the dataset.
        logs: motions read.
        recordings: recordings written.
        motions: different commands among them; splits go by these.
        seconds: their total duration.
        elapsed: time the import took, s.
        samples: joint samples of logged joints.
        masked: unusable samples by reason.
        interpolated: usable frames where a few missing samples were bridged.
        torque_saturated: torque samples dropped because their channel is flat at its extreme.
        moved: recordings whose commands were moved one step earlier.
        dq: "logged" or "differentiated" -> recordings.
        refused: log -> why it could not be used.
        excluded: recordings left out because they were flagged (exclude_flagged).
        unread: parts of the source that could not be read.
        findings: everything noted.
    """

    format: str
    rate: int = 0
    logs: int = 0
    recordings: int = 0
    motions: int = 0
    seconds: float = 0.0
    elapsed: float = 0.0
    samples: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    interpolated: int = 0
    torque_saturated: int = 0
    moved: int = 0
    dq: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    excluded: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def flagged(self) -> list[str]:
        """Recordings with an error finding."""
        return sorted({f.recording for f in self.findings if f.severity == "error"})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        data = {k: v for k, v in asdict(self).items() if k != "findings"}
        data |= {"masked": dict(self.masked), "dq": dict(self.dq), "flagged": self.flagged}
        return {**data, "findings": [f.to_dict() for f in self.findings]}

    def count(self, recording: Recording) -> None:
        """Add one written recording."""
        logged = [j not in recording.conditions.held for j in recording.joints]
        self.recordings += 1
        self.seconds += recording.duration
        self.samples += recording.mask[:, logged].size
        facts = recording.provenance
        self.masked.update(facts["masked"])
        self.interpolated += facts["interpolated"]
        self.torque_saturated += facts["torque_saturated"]
        self.moved += facts["moved_steps"] > 0
        self.dq.update([facts["dq"]])


def import_dataset(
    format: str,
    source: Path | str,
    robot: Robot,
    out: Path | str,
    options: ImportOptions | None = None,
    watch: Watch | None = None,
    overwrite: bool = False,
) -> ImportReport:
    """Import every log of a source into a dataset.

    A log that cannot be used is listed with its reason; the others are imported. A watch is told
    the name of each log and how many are done.

    Raises:
        DataError: no log could be used; nothing is written.
    """
    from gapless.recordings.importers import ReadOptions, read

    options = options or ImportOptions()
    reading = ReadOptions(options.joint_order, options.mapping, options.trim)
    report = import_logs(
        read(format, source, reading), robot, out, options, watch, overwrite, format
    )
    report.unread += reading.problems
    return report


def import_logs(
    logs: Iterable[RawLog],
    robot: Robot,
    out: Path | str,
    options: ImportOptions,
    watch: Watch | None = None,
    overwrite: bool = False,
    format: str = "raw",
) -> ImportReport:
    """Prepare logs one at a time and write them as a dataset; see `import_dataset`."""
    from gapless.recordings.motion_identity import Asked, motions_asked
    from gapless.recordings.store.writer import DatasetWriter

    started, report, stream = time.perf_counter(), ImportReport(format), iter(logs)
    first = list(islice(stream, LOOK_AHEAD))
    report.rate = options.rate or common_rate(first, options)
    prepared = _prepared(chain(first, stream), robot, options, report, watch)
    ready = next(prepared, None)
    if ready is None:
        raise _nothing_left(report)
    names = tuple(robot.joints.names)
    facts, asked = {"robot_file": robot.source} if robot.source else {}, []
    with DatasetWriter(
        Path(out), robot.name, names, report.rate, provenance=facts, overwrite=overwrite
    ) as writer:
        for recording in chain([ready], prepared):
            writer.append(recording)
            report.count(recording)
            asked.append(Asked.by(recording))
    report.motions = len(set(motions_asked(asked)))
    report.elapsed = time.perf_counter() - started
    return report


def common_rate(logs: list[RawLog], options: ImportOptions) -> int:
    """The lowest native rate of some logs, rounded to an integer.

    Raises:
        DataError: no log has a rate.
    """
    rates, problems = [], []
    for log in logs:
        try:
            rates.append(native_rate(log, options))
        except GaplessError as error:
            problems.append(str(error))
    if not rates:
        raise DataError("no log can be used:\n" + "\n".join(problems or ["the source is empty"]))
    return max(round(min(rates)), 1)


def _prepared(
    logs: Iterable[RawLog],
    robot: Robot,
    options: ImportOptions,
    report: ImportReport,
    watch: Watch | None,
) -> Iterator[Recording]:
    for log in logs:
        report.logs += 1
        try:
            done = prepare(log, robot, options, report.rate)
        except DataError as error:
            report.refused[_unique(log.name, report.refused)] = str(error)
        else:
            report.findings += done.findings
            yield from _chosen(done.recordings, options, report)
        if watch is not None:
            watch(Progress(log.name, report.logs))


def _chosen(
    recordings: list[Recording], options: ImportOptions, report: ImportReport
) -> Iterator[Recording]:
    for recording in recordings:
        if options.exclude_flagged and recording.flags:
            report.excluded.append(recording.name)
        else:
            provenance = {**recording.provenance, "format": report.format}
            yield replace(recording, provenance=provenance)


def _unique(name: str, taken: dict[str, str]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def refusals(refused: Mapping[str, str]) -> list[str]:
    """Refused logs, those of one reason in one line: numbers and names aside, it is the same."""
    groups: dict[str, list[str]] = {}
    for name, why in refused.items():
        groups.setdefault(alike(why, name), []).append(name)
    return [
        refused[names[0]] if len(names) == 1 else _of_all(names, refused[names[0]])
        for names in groups.values()
    ]


def alike(message: str, name: str = "") -> str:
    """What messages of one kind have in common: no numbers, no brackets, no name of a log."""
    bare = message.replace(repr(name), "").replace(name, "") if name else message
    return re.sub(r"\([^)]*\)|\d+(\.\d+)?", "#", bare)


def _of_all(names: list[str], why: str) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    listed = f"{', '.join(names[:NAMED])}{more}"
    return f"{len(names)} logs ({listed}) are refused alike; the first: {why}"


def _nothing_left(report: ImportReport) -> DataError:
    reasons = refusals(report.refused)
    reasons += [f"recording {name!r} was flagged and excluded" for name in report.excluded]
    return DataError("no log can be used:\n" + "\n".join(reasons))
