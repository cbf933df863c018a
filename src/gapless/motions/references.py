"""Reference motions from the files other people write, by the names of their joints."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gapless.errors import FormatError, NameMismatchError
from gapless.motions import motion_files
from gapless.motions.motion import Motion
from gapless.recordings import Dataset, Recording, importers
from gapless.recordings.importers.named_arrays import matrix, positive
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.size_limits import MAX_TEXT_BYTES, check_file, reading
from gapless.recordings.importers.source_files import walk
from gapless.robots import Robot

TEXT_RATE, CSV_RATE = 50.0, 30.0
"""Samples per second of SAGE text and of LAFAN/BeyondMimic .csv, which do not say it."""
BASE_WIDTH = 7
"""Columns before the joints in a LAFAN/BeyondMimic .csv: x y z, and a quaternion xyzw."""
KINDS = {
    ".pkl": "ASAP motion pickle",
    ".txt": "SAGE text: a line of joint names, then rows of radians",
    ".npz": "saved motion, or mjlab/BeyondMimic with fps and joint_pos",
    ".csv": "saved motion, or LAFAN/BeyondMimic rows without a header",
}
"""Suffix -> what such a file holds."""


@dataclass(frozen=True)
class _Told:
    """What a file does not say about itself."""

    joints: tuple[str, ...] | None
    rate: float | None

    def names(self, count: int, path: Path) -> tuple[str, ...]:
        if self.joints is None:
            raise FormatError(
                f"{path} has {count} joint columns without names; give their order with "
                "--joint-order NAME NAME ..., or --joint-order robot if it is the robot's own"
            )
        if len(self.joints) != count:
            raise FormatError(
                f"{path} has {count} joint columns, but {len(self.joints)} names were given"
            )
        return self.joints


def read_motions(
    path: str | Path,
    robot: Robot,
    *,
    joint_order: Sequence[str] | None = None,
    rate: float | None = None,
) -> list[Motion]:
    """Read every motion of a file, of a folder of such files, or of a recorded dataset.

    Of a dataset the commands are read; the positions where nothing was commanded.

    Args:
        path: see KINDS for the files that are known.
        robot: must have, or have locked, every joint of the motions.
        joint_order: joint names of files that carry none, and in place of those in the first line
            of a text; ["robot"] says that the order is the robot's.
        rate: samples per second of files that do not say it.

    Raises:
        FormatError: a file is damaged, of another kind, or does not say enough.
        NameMismatchError: a motion moves a joint that the robot does not have.
    """
    source = Path(path)
    if rate is not None:
        positive(rate, "the rate of the file")
    if not source.exists():
        raise FormatError(f"{source} does not exist; give a motion file, a folder or a dataset")
    order = robot.joints.names if list(joint_order or ()) == ["robot"] else joint_order
    told = _Told(tuple(order) if order else None, rate)
    if source.is_dir() and (source / "meta" / "info.json").is_file():
        found = [_recorded(recording, source) for recording in Dataset.open(source)]
    else:
        found = [motion for file in _files(source) for motion in _read(file, told)]
    for motion in found:
        _refuse_unknown(motion, robot)
    return _unique(found)


def _files(source: Path) -> list[Path]:
    every = list(walk(source)) if source.is_dir() else [source]
    known = [p for p in every if p.suffix.lower() in KINDS]
    if not known:
        kinds = "; ".join(f"{suffix}: {what}" for suffix, what in KINDS.items())
        raise FormatError(f"{source} is no motion. Known are {kinds}; or the folder of a dataset")
    return known


def _read(path: Path, told: _Told) -> list[Motion]:
    reader = {".pkl": _pickle, ".txt": _text, ".npz": _npz, ".csv": _csv}[path.suffix.lower()]
    return reader(path, told)


def _refuse_unknown(motion: Motion, robot: Robot) -> None:
    try:
        motion.for_robot(robot)
    except NameMismatchError as error:
        raise NameMismatchError(f"{motion.source}: {error}") from None


def _unique(motions: list[Motion]) -> list[Motion]:
    """Number the motions that share a name."""
    seen: dict[str, int] = {}
    named = []
    for motion in motions:
        seen[motion.name] = seen.get(motion.name, 0) + 1
        again = seen[motion.name] > 1
        named.append(
            replace(motion, name=f"{motion.name}_{seen[motion.name]}") if again else motion
        )
    return named


def _recorded(recording: Recording, source: Path) -> Motion:
    values = recording.q if recording.target is None else recording.target
    base: dict[str, Any] = {
        name: recording.channels[name]
        for name in ("base_pos", "base_quat_wxyz")
        if name in recording.channels and np.isfinite(recording.channels[name]).all()
    }
    name, joints, rate = recording.name, recording.joints, recording.rate
    return Motion(name, joints, rate, values, **base, source=str(source))


def _pickle(path: Path, told: _Told) -> list[Motion]:
    options = importers.ReadOptions(joint_order=told.joints)
    motions = []
    for log in importers.read("asap", path, options):
        values = {name: stream.values for name, stream in log.streams.items()}
        base: dict[str, Any] = {k: values[k] for k in ("base_pos", "base_quat_wxyz") if k in values}
        time = log.streams["q"].time
        rate = round((len(time) - 1) / float(time[-1] - time[0]), 6)
        q = values.get("target", values["q"])
        motions.append(Motion(log.name, log.joints, rate, q, **base, source=str(path)))
    return motions


def _text(path: Path, told: _Told) -> list[Motion]:
    with reading(str(path), "SAGE text"):
        check_file(path, MAX_TEXT_BYTES, "a text file")
        with path.open(encoding="utf-8") as lines:
            header = next(lines)
            rows = _rows(lines, path)
    # Names may be paths in a USD stage: /h1_2/pelvis/left_hip_yaw_joint.
    written = tuple(name.strip().rsplit("/", 1)[-1] for name in header.split(","))
    q = matrix(rows, f"{path}: rows", columns=len(written))
    names = written if told.joints is None else told.names(len(written), path)
    return [Motion(path.stem, names, told.rate or TEXT_RATE, q, source=str(path))]


def _npz(path: Path, told: _Told) -> list[Motion]:
    arrays = load_npz(path)
    if "joints" in arrays and "q" in arrays:
        return [replace(motion_files.from_arrays(path, arrays), source=str(path))]
    if "fps" not in arrays or "joint_pos" not in arrays:
        raise FormatError(
            f"{path} has {sorted(arrays)}; expected fps and joint_pos (mjlab, BeyondMimic), or "
            "joints, rate and q. A robot's log is no motion: import it first, then give the dataset"
        )
    q = matrix(arrays["joint_pos"], f"{path}: joint_pos")
    # The first body is the root; quaternions of these files are wxyz.
    keys = {"base_pos": ("body_pos_w", 3), "base_quat_wxyz": ("body_quat_w", 4)}
    base: dict[str, Any] = {
        field: matrix(_root(arrays[key], f"{path}: {key}"), f"{path}: {key}", len(q), width)
        for field, (key, width) in keys.items()
        if key in arrays and np.ndim(arrays[key]) == 3
    }
    rate = positive(arrays["fps"], f"{path}: fps")
    joints = told.names(q.shape[1], path)
    return [Motion(path.stem, joints, rate, q, **base, source=str(path))]


def _root(values: np.ndarray, where: str) -> np.ndarray:
    if values.shape[1] == 0:
        raise FormatError(f"{where} has shape {values.shape}: no body, expected the root first")
    return values[:, 0]


def _rows(lines: TextIO, path: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of no data, which is refused below
        rows = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    if rows.size == 0:
        raise FormatError(f"{path} has no rows of numbers; a motion needs at least two")
    return rows


def _csv(path: Path, told: _Told) -> list[Motion]:
    with reading(str(path), "a .csv of numbers"):
        check_file(path, MAX_TEXT_BYTES, "a CSV file")
        with path.open(encoding="utf-8") as lines:
            header = lines.readline().split(",")
            if motion_files.is_header(header):
                return [motion_files.load(path)]
            lines.seek(0)
            rows = _rows(lines, path)
    if rows.shape[1] <= BASE_WIDTH:
        raise FormatError(f"{path} has {rows.shape[1]} columns; expected x y z qx qy qz qw, joints")
    joints = told.names(rows.shape[1] - BASE_WIDTH, path)
    quat = np.roll(rows[:, 3:BASE_WIDTH], 1, axis=1)
    rate = told.rate or CSV_RATE
    q = rows[:, BASE_WIDTH:]
    return [Motion(path.stem, joints, rate, q, rows[:, :3], quat, source=str(path))]
