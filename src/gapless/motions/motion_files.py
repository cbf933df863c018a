"""Motions on disk: .npz with names and rate, or .csv with a header; nothing in them runs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_bytes_atomic, write_text_atomic
from gapless.errors import FormatError
from gapless.motions.motion import Motion
from gapless.recordings.importers.cells import numbers, read_csv
from gapless.recordings.importers.named_arrays import clock, matrix, positive
from gapless.recordings.importers.npz import load_npz

BASE_COLUMNS = {
    "base_pos": ("base_x", "base_y", "base_z"),
    "base_quat_wxyz": ("base_qw", "base_qx", "base_qy", "base_qz"),
}
"""Columns of a .csv beside `time` and the joints, where the motion has a base."""
SUFFIXES = (".npz", ".csv")
PERSON = "person_keypoints", "person_places"
"""Arrays of a .npz: names, and (T, K, 3) places of the person that a motion was taken from."""


def save(motion: Motion, path: Path) -> Path:
    """Write a motion by the suffix of its path."""
    kind = suffix(path)
    if kind == ".csv":
        write_text_atomic(path, _csv(motion))
    else:
        write_bytes_atomic(path, _npz(motion))
    return path


def load(path: Path) -> Motion:
    """Read a motion that `save` wrote."""
    kind = suffix(path)
    if not path.is_file():
        raise FormatError(f"{path} does not exist; give a motion saved as .npz or .csv")
    return _from_csv(path) if kind == ".csv" else from_arrays(path, load_npz(path))


def from_arrays(path: Path, arrays: dict[str, np.ndarray]) -> Motion:
    """A motion from the arrays of our own .npz."""
    missing = [key for key in ("joints", "rate", "q") if key not in arrays]
    if missing:
        raise FormatError(f"{path} lacks {missing}; it has {sorted(arrays)}. Is it a saved motion?")
    joints = tuple(str(name) for name in np.atleast_1d(arrays["joints"]))
    q = matrix(arrays["q"], f"{path}: q", columns=len(joints))
    base: dict[str, Any] = {
        key: matrix(arrays[key], f"{path}: {key}", len(q), len(columns))
        for key, columns in BASE_COLUMNS.items()
        if key in arrays
    }
    rate = positive(arrays["rate"], f"{path}: rate")
    name, source = (
        str(arrays.get(key, text)) for key, text in (("name", path.stem), ("source", ""))
    )
    return Motion(name, joints, rate, q, **base, source=source, person=_person(path, arrays))


def _person(path: Path, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Keypoints of the person, where the motion was retargeted."""
    if PERSON[0] not in arrays:
        return {}
    names, places = np.atleast_1d(arrays[PERSON[0]]), arrays.get(PERSON[1], np.zeros(0))
    if places.ndim != 3 or places.shape[1:] != (len(names), 3):
        raise FormatError(f"{path}: {PERSON[1]} has shape {places.shape}, expected (T, K, 3)")
    return {str(name): np.asarray(places[:, k], float) for k, name in enumerate(names)}


def is_header(cells: list[str]) -> bool:
    """Whether a first row is the header of our own .csv."""
    return cells[0].strip().lower() == "time"


def suffix(path: Path) -> str:
    """The suffix of a motion's file; others are refused."""
    if path.suffix.lower() not in SUFFIXES:
        raise FormatError(f"{path}: a motion is saved as .npz or .csv, not as {path.suffix!r}")
    return path.suffix.lower()


def _base(motion: Motion) -> dict[str, np.ndarray]:
    found = {key: getattr(motion, key) for key in BASE_COLUMNS}
    return {key: values for key, values in found.items() if values is not None}


def _npz(motion: Motion) -> bytes:
    buffer = io.BytesIO()
    facts = {k: np.array(getattr(motion, k)) for k in ("name", "joints", "rate", "q", "source")}
    if motion.person:
        facts[PERSON[0]] = np.array(list(motion.person))
        facts[PERSON[1]] = np.stack(list(motion.person.values()), axis=1).astype(np.float32)
    np.savez_compressed(buffer, allow_pickle=False, **facts, **_base(motion))
    return buffer.getvalue()


def _csv(motion: Motion) -> str:
    base = _base(motion)
    time = np.arange(len(motion)) / motion.rate
    header = ["time", *motion.joints, *(c for key in base for c in BASE_COLUMNS[key])]
    rows = np.column_stack([time, motion.q, *base.values()])
    lines = (",".join(f"{value:.12g}" for value in row) for row in rows)
    return "\n".join([",".join(header), *lines]) + "\n"


def _from_csv(path: Path) -> Motion:
    table = read_csv(path)
    names = table.column_names
    if not is_header(names):
        raise FormatError(
            f"{path}: the first column is {names[0]!r}; expected time,joint,joint,..."
        )
    columns = {name: numbers(table.column(name), f"{path}: column {name!r}") for name in names}
    extra = {c for group in BASE_COLUMNS.values() for c in group}
    joints = tuple(name for name in names[1:] if name not in extra)
    base: dict[str, Any] = {
        key: np.column_stack([columns[c] for c in _complete(group, names, path)])
        for key, group in BASE_COLUMNS.items()
        if set(group) & set(names)
    }
    rate = _rate(clock(columns[names[0]], f"{path}: time"), path)
    q = np.column_stack([columns[joint] for joint in joints])
    return Motion(path.stem, joints, rate, q, **base, source=str(path))


def _complete(group: tuple[str, ...], names: list[str], path: Path) -> tuple[str, ...]:
    missing = [c for c in group if c not in names]
    if missing:
        raise FormatError(f"{path} lacks the columns {missing}; of {', '.join(group)} all or none")
    return group


def _rate(time: np.ndarray, path: Path) -> float:
    steps = np.diff(time)
    mean = (time[-1] - time[0]) / len(steps)
    if not mean > 0 or np.abs(steps - mean).max() > 0.01 * mean:
        raise FormatError(
            f"{path}: time is not uniform (steps {steps.min():g} to {steps.max():g} s); "
            "resample the motion to a fixed rate"
        )
    return round(1 / mean, 6)
