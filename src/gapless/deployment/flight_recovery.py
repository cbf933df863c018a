"""A flight becomes a Dataset: at the end of a run, or after one that was killed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gapless.deployment.flight_format import ASKED, TIMES, FlightHeader, read_rows, row_files
from gapless.errors import DataError, FormatError

if TYPE_CHECKING:
    from gapless.recordings.recording import Recording

LONGEST_GAP = 10
"""Control steps that may be missing within a recording; they are masked. More is a cut."""
LEAST = 10
"""Control steps of the shortest recording that is kept."""
CHANNELS = ("dq", "torque", "temperature", "target_dq", "torque_ff", "contact")
BASE = {
    "base_quat_wxyz": "base_quat_wxyz",
    "base_ang_vel_b": "base_ang_vel_b",
    "base_pos": "base_pos",
    "base_lin_vel_w": "base_lin_vel_w",
    "acceleration": "imu_acc",
}
IMU = {
    "base_quat_wxyz": "imu_quat_wxyz",
    "base_ang_vel_b": "imu_gyro",
    "acceleration": "imu_acc",
}
"""Where nobody knows the base's position, its orientation is what an IMU says."""


class EmptyFlightError(DataError):
    """A flight in which nothing is long enough for a recording."""


def recover_flight(folder: str | Path, out: str | Path) -> Path:
    """Make the dataset of a flight; the flight is deleted once the dataset is whole.

    Raises:
        EmptyFlightError: there is nothing in it that is long enough for a recording.
    """
    from gapless.recordings.store.writer import DatasetWriter

    folder = Path(folder)
    if not folder.is_dir():
        raise FormatError(f"{folder} is no flight; expected OUT.flight of a run that was cut off")
    header = FlightHeader.read(folder)
    facts = (header.robot, header.joints, header.rate, header.provenance)
    with DatasetWriter(out, *facts) as writer:
        count = 0
        for recording in flight_recordings(folder, header):
            writer.append(recording)
            count += 1
        if not count:
            raise EmptyFlightError(
                f"{folder} has fewer than {LEAST} control steps in a row that were driven by the "
                "same gains; nothing was written"
            )
    shutil.rmtree(folder)
    return Path(out)


def flight_recordings(folder: Path, header: FlightHeader) -> Iterator[Recording]:
    """Stretches of constant gains and of one request; memory holds the rows of one file.

    Of a run with stages, what was braked is left out, and what came before the robot was lowered
    onto its feet, where somebody said when that was: nothing can be learned from either.
    """
    lowered = _is_lowered(folder, header)
    for path in row_files(folder):
        rows, bad = read_rows(path, header.width)
        for a, b in _stretches(rows, header):
            if b - a >= LEAST and _is_kept(rows[a], header, lowered):
                yield _recording(rows[a:b], header, bad)


def _is_lowered(folder: Path, header: FlightHeader) -> bool:
    """Whether somebody ever said that the robot was on its feet."""
    if ASKED not in header.columns:
        return False
    files = (read_rows(path, header.width)[0] for path in row_files(folder))
    return any(bool((_columns(rows, header)[ASKED][:, 1] > 0).any()) for rows in files)


def _is_kept(row: np.ndarray, header: FlightHeader, lowered: bool) -> bool:
    if ASKED not in header.columns:
        return True
    columns = _columns(row[None], header)
    braked = not (columns["kp"].any() or columns["torque_ff"].any())
    return not braked and (columns[ASKED][0, 1] > 0 or not lowered)


def _columns(rows: np.ndarray, header: FlightHeader) -> dict[str, np.ndarray]:
    found = {name: rows[:, k] for k, name in enumerate(TIMES)}
    start = len(TIMES)
    for name, size in header.columns.items():
        found[name] = rows[:, start : start + size]
        start += size
    return found


def _stretches(rows: np.ndarray, header: FlightHeader) -> Iterator[tuple[int, int]]:
    """Where gains change, or many steps are missing, another recording begins."""
    if not len(rows):
        return
    columns = _columns(rows, header)
    changed = np.zeros(len(rows), bool)
    for name in (n for n in ("kp", "kd", ASKED) if n in columns):
        changed[1:] |= (np.diff(columns[name], axis=0) != 0).any(axis=1)
    since = np.diff(columns["step"])
    changed[1:] |= (since > LONGEST_GAP) | (since <= 0)  # a counter that goes back began anew
    cuts = [0, *np.flatnonzero(changed).tolist(), len(rows)]
    yield from pairwise(cuts)


def _recording(rows: np.ndarray, header: FlightHeader, bad: int) -> Recording:
    from gapless.recordings.conditions import Conditions
    from gapless.recordings.recording import Recording

    columns = _columns(rows, header)
    steps = columns["step"].astype(int) - int(columns["step"][0])
    held, missing = _held(steps)
    filled = {name: np.array(array[held]) for name, array in columns.items()}
    fresh = _fresh(columns)[held] & ~missing
    usable = fresh[:, None] & np.isfinite(columns["q"][held])
    kp, kd = filled["kp"][0], filled["kd"][0]
    pairs = zip(header.joints, kp.tolist(), kd.tolist(), strict=True)
    try:
        told = Conditions.from_dict({**Conditions().to_dict(), **header.conditions})
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the conditions of the flight are damaged: {error!r}") from error
    damped = not kp.any() and not filled["torque_ff"].any()
    return Recording(
        name=_name(filled, header),
        joints=header.joints,
        rate=header.rate,
        q=np.nan_to_num(filled["q"]),
        target=filled["target"],
        mask=usable,
        channels=_channels(filled, header),
        conditions=replace(told, gains={j: (p, d) for j, p, d in pairs}),
        provenance={
            "source": "deployment",
            "steps_missing": int(missing.sum()),
            "samples_old": int((~fresh & ~missing).sum()),
            "rows_damaged": bad,
            **({"flags": ["damped"]} if damped else {}),
        },
    )


def _name(filled: dict[str, np.ndarray], header: FlightHeader) -> str:
    """What was asked of the robot, as a plan says it."""
    if ASKED not in filled:
        return header.motion
    from gapless.deployment.stage_plan import asked_in_words

    return asked_in_words(filled[ASKED][0])


def _held(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(T,) the row in force at every control step, and which steps have none of their own."""
    clock = np.arange(steps[-1] + 1)
    rows = np.searchsorted(steps, clock, side="right") - 1
    return rows, steps[rows] != clock


def _fresh(columns: dict[str, np.ndarray]) -> np.ndarray:
    """(n,) True where a row shows a sample that the row before did not."""
    fresh = columns["seen"] > 0
    fresh[1:] &= columns["sequence"][1:] != columns["sequence"][:-1]
    return fresh


def _channels(filled: dict[str, np.ndarray], header: FlightHeader) -> dict[str, np.ndarray]:
    names = {name: name for name in CHANNELS} | (BASE if "base_pos" in header.columns else IMU)
    found = {new: filled[old] for old, new in names.items() if old in filled}
    # A velocity or torque that was never commanded is no channel.
    for name in ("target_dq", "torque_ff"):
        if not found[name].any():
            del found[name]
    return found
