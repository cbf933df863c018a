"""Placing commands in time: target[t] acts from t to t+1, and q[t+1] is its result."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import median_filter

from gapless.recordings.findings import Finding
from gapless.recordings.preparation import resample
from gapless.recordings.preparation.delay import MOVING, Delay, distant_lag
from gapless.recordings.rawlog import Pairing, Stream
from gapless.recordings.recording import Recording

AROUND = 21
"""Rows whose usual distance in time is the pace of a log there."""
COMMANDS = ("target", "target_dq", "torque_ff")
"""Streams that were sent to the robot, and move together."""
EARLY = -0.15
"""A response this many steps before its command (beyond its uncertainty) proves a slip."""
LONGEST_DELAY = 0.25
"""s; a longer delay on every joint means two clocks, not a slow robot."""
LARGEST_DRIFT, NOTED_DRIFT = 0.25, 0.05
"""s of change of the delay within one recording: refused above, noted above."""
SEARCHABLE = 5.0
"""s of recording in which a distant offset of clocks can be told from chance."""
WELL_FITTED = 0.8
"""Share of the motion that a lagged command explains on a robot that follows."""
UNSAID = (
    "the log does not say whether row k's command acts after state k or produced it, and its "
    "motion does not tell"
)
DECLARE = (
    "say it for all logs: --command-acts after, or --command-acts produced (in a mapping, "
    'pairing = "acts_after" or "produced")'
)


@dataclass
class PlacementVerdict:
    """What the measured delay says about a recording.

    Attributes:
        move: log rows by which the commands still have to move earlier.
        findings: what to tell.
        problems: reasons to refuse.
    """

    move: int = 0
    findings: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def rows_to_move(pairing: Pairing, command_acts: str | None) -> int | None:
    """Rows the commands move earlier by declaration; None where neither log nor user says."""
    if command_acts is not None:
        return 1 if command_acts == "produced" else 0
    return {"timestamps": 0, "acts_after": 0, "produced": 1, "unknown": None}[pairing]


def move_commands(streams: dict[str, Stream], rows: int) -> dict[str, Stream]:
    """Streams in time order with target'[k] = target[k + rows].

    The last rows get no command, nor do rows before a gap: theirs was in a row that is lost.
    """
    if rows == 0:
        return streams
    moved = {name: _earlier(streams[name], rows) for name in COMMANDS if name in streams}
    return {**streams, **moved}


def _earlier(stream: Stream, rows: int) -> Stream:
    values = np.full_like(stream.values, np.nan)
    values[:-rows] = stream.values[rows:]
    # A logger may change its pace; what counts is the pace around a row.
    pace = median_filter(np.diff(stream.time), AROUND, mode="nearest")[: len(stream.time) - rows]
    longest = (rows - 1 + resample.MISSING) * pace
    values[:-rows][stream.time[rows:] - stream.time[:-rows] > longest] = np.nan
    return Stream(stream.time, values)


def judge(recording: Recording, delay: Delay, moved: int | None) -> PlacementVerdict:
    """Decide whether the commands are in place.

    Args:
        recording: on its grid, with the commands moved by `moved` rows (0 where None).
        delay: its measured delay.
        moved: rows already moved by declaration or proof; None where nobody declared anything.
    """
    verdict = PlacementVerdict()
    if recording.target is None:
        return verdict
    _judge_distance(recording, delay, verdict)
    if not delay.known:
        _judge_unmeasured(moved, verdict)
    elif _precedes(delay):
        _judge_early(delay, moved, verdict)
    elif moved is None:
        verdict.problems.append(
            f"{UNSAID} (the measured delay of {_steps(delay)} fits both); {DECLARE}"
        )
    _judge_clocks(recording, delay, verdict)
    return verdict


def _precedes(delay: Delay) -> bool:
    """Whether the response clearly comes before its command, on most joints and in most motion."""
    early = delay.joint_lag[delay.confident] < 0
    clear = delay.lag + 3 * delay.std < EARLY
    return bool(clear and early.mean() > 0.7 and np.median(delay.fit[delay.confident]) > 0.8)


def _judge_early(delay: Delay, moved: int | None, verdict: PlacementVerdict) -> None:
    if delay.lag < -1.5 or moved == 1:
        verdict.problems.append(
            f"the joints respond {_steps(delay)} before their commands"
            + (", even after the commands were moved by one step" if moved == 1 else "")
            + ": the two do not belong to one clock; re-record, or correct the time stamps"
        )
        return
    verdict.move = 1
    verdict.findings.append(
        Finding(
            "warning",
            "moved",
            f"the joints respond {_steps(delay)} before their commands, which proves that row k "
            "holds the command that produced it; commands were moved one step earlier",
            count=1,
        )
    )


def _judge_unmeasured(moved: int | None, verdict: PlacementVerdict) -> None:
    if moved is None:
        verdict.problems.append(f"{UNSAID} (there is too little motion to tell); {DECLARE}")
    verdict.findings.append(
        Finding(
            "info",
            "delay_not_verified",
            "the command delay could not be measured: too little motion, or a lag that changes "
            "with it",
        )
    )


def _judge_distance(recording: Recording, delay: Delay, verdict: PlacementVerdict) -> None:
    """Refuse commands that fit the response only far away from their own time."""
    if recording.target is None:
        return
    # A joint that was told to stay explains nothing, however many of them there are.
    fit = delay.fit[recording.target.std(axis=0) > MOVING]
    near = float(np.nanmedian(fit)) if np.isfinite(fit).any() else 0.0
    if near > WELL_FITTED or recording.duration < SEARCHABLE:
        return
    lag, score = distant_lag(recording)
    seconds = lag / recording.rate
    if score > WELL_FITTED**0.5 and not -0.05 < seconds < LONGEST_DELAY:
        verdict.problems.append(
            f"the response fits its commands only {seconds:+.2f} s away (correlation {score:.2f}): "
            "commands and states come from two clocks; correct the offset before importing"
        )


def _judge_clocks(recording: Recording, delay: Delay, verdict: PlacementVerdict) -> None:
    if recording.conditions.policy and recording.duration < SEARCHABLE:
        return  # Steps repeat: for so short a time one response fits the next command.
    # Friction lengthens the lag of slow joints; an offset of clocks lengthens all of them.
    lags = delay.joint_lag[delay.confident] / recording.rate
    least = float(lags.min()) if len(lags) else 0.0
    if least > LONGEST_DELAY:
        verdict.problems.append(
            f"every joint responds at least {least:.2f} s after its command (bound "
            f"{LONGEST_DELAY} s): commands and states come from two clocks; correct the offset"
        )
    drift, error = delay.drift / recording.rate, delay.drift_std / recording.rate
    words = f"the delay changes by {drift:+.3f} ± {error:.3f} s within the recording on all joints"
    if abs(drift) - 3 * error > LARGEST_DRIFT:
        verdict.problems.append(f"{words} (bound {LARGEST_DRIFT} s): two clocks drift apart")
    elif abs(drift) - 3 * error > NOTED_DRIFT:
        text = f"{words}: two clocks that drift, or a motion that changes speed"
        verdict.findings.append(Finding("info", "delay_changes", text))


def _steps(delay: Delay) -> str:
    return f"{abs(delay.lag):.2f} ± {delay.std:.2f} steps"
