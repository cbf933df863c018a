"""GAPONet and SAGE processed data: .npz arrays of equally long rows, without time.

The pairing is measured, not documented: on the 949 H1-2 ramps the logged torque is explained best
by the command of the row before (residual 0.14-0.41 N·m, against 0.19-0.70 with the same row and
0.19-0.72 two rows before, on all ten joints), so command k acts after state k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.rawlog import RawLog, Stream

RATE = 50.0
CHANNELS = {
    "real_dof_positions": "q",
    "real_dof_positions_cmd": "target",
    "real_dof_velocities": "dq",
    "real_dof_torques": "torque",
}
NAMES = ("joint_names", "joint_sequence")
UNLOADED = "_0kg"
MAX_COMMAND_GAP = 0.25
"""rad rms between the commands of a sim/real pair, above which the row is not a pair."""
HUNG = Conditions(mount="fixed")
"""The pelvis was held while the arms moved, as the released environment fixes the root."""
EMPTY_HANDED = replace(HUNG, payloads={})

_LEVELS = (
    ("hip_yaw", "torso"),
    ("hip_pitch", "shoulder_pitch"),
    ("hip_roll", "shoulder_roll"),
    ("knee", "shoulder_yaw"),
    ("ankle_pitch", "elbow"),
    ("ankle_roll", "wrist_roll"),
    ("wrist_pitch",),
    ("wrist_yaw",),
)
H1_2_BREADTH_FIRST = tuple(
    f"{side}{part}_joint"
    for level in _LEVELS
    for part in level
    for side in (("",) if part == "torso" else ("left_", "right_"))
)
"""The column order Isaac Sim gives the 27-joint H1-2; whole-body files carry no names for it."""


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every row of every file; rows found again in a `_0kg` file are labelled unloaded."""
    paths = files(source, ".npz")
    twins = {p: p.with_name(p.name.replace(UNLOADED, "")) for p in paths if UNLOADED in p.stem}
    merged = {full: part for part, full in twins.items() if full in paths}
    skipped = set(merged.values())

    def load(path: Path) -> list[RawLog]:
        return _file(path, merged.get(path), options)

    return collect([p for p in paths if p not in skipped], load, options.problems)


def _file(path: Path, unloaded: Path | None, options: ReadOptions) -> list[RawLog]:
    data = load_npz(path, (*CHANNELS, *NAMES, "sim_dof_positions_cmd"))
    q = data.get("real_dof_positions")
    if q is None or q.ndim not in (2, 3) or 0 in q.shape:
        raise FormatError(
            f"{path}: real_dof_positions of shape (rows, samples) or (rows, samples, joints) "
            f"expected; it has { ({k: v.shape for k, v in data.items()}) }"
        )
    for key, array in data.items():
        _check(path, key, array, q.shape)
    logs = _single(path, data, options) if q.ndim == 2 else _whole_body(path, data, options)
    if unloaded is not None:
        return _label(logs, unloaded, options.problems)
    if UNLOADED in path.stem:
        return [replace(log, conditions=EMPTY_HANDED) for log in logs]
    return logs


def _check(path: Path, key: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if key in NAMES:
        if array.dtype.kind != "U" or array.ndim != 1:
            raise FormatError(f"{path}: {key} of shape {array.shape} is not a list of joint names")
    elif array.shape != shape or array.dtype.kind not in "fiub":
        raise FormatError(
            f"{path}: {key} has shape {array.shape} and type {array.dtype}; numbers of the shape "
            f"of real_dof_positions {shape} were expected"
        )


def _single(path: Path, data: dict[str, np.ndarray], options: ReadOptions) -> list[RawLog]:
    rows = len(data["real_dof_positions"])
    joint = path.stem.removesuffix(UNLOADED).removeprefix("motor_")
    names = data.get("joint_sequence", np.array([joint] * rows))
    if names.shape != (rows,):
        raise FormatError(f"{path}: {rows} rows, but joint_sequence has shape {names.shape}")
    # A file of many joints is a set of its own: its row numbers are not those of the others.
    prefix = f"{path.stem}/" if len(set(names)) > 1 else ""
    return [
        _row(f"{prefix}{names[row]}_ramp/{row:03d}", (str(names[row]),), path, data, row, [0])
        for row in _paired(path, data, options.problems)
    ]


def _paired(path: Path, data: dict[str, np.ndarray], problems: list[str]) -> list[int]:
    """Rows whose simulated and real side were given one command; all rows of one-sided files."""
    sim, real = data.get("sim_dof_positions_cmd"), data.get("real_dof_positions_cmd")
    if sim is None or real is None:
        return list(range(len(data["real_dof_positions"])))
    gap = np.sqrt(np.mean((sim - real) ** 2, axis=1))
    bad = np.flatnonzero(gap > MAX_COMMAND_GAP).tolist()
    if bad:
        problems.append(
            f"{path}: rows {bad} were left out: their real command differs from the simulated one "
            f"by more than {MAX_COMMAND_GAP} rad rms, so the joint named is not the one recorded"
        )
    return [row for row in range(len(gap)) if row not in bad]


def _whole_body(path: Path, data: dict[str, np.ndarray], options: ReadOptions) -> list[RawLog]:
    q = data["real_dof_positions"]
    order = _columns(path, data, options)
    wanted = [str(n) for n in data.get("joint_sequence", order)]
    absent = [n for n in wanted if n not in order]
    if absent:
        raise FormatError(f"{path}: joint_sequence names {absent}, not among the columns {order}")
    columns = [order.index(n) for n in wanted]
    others = np.delete(q, columns, axis=2)
    if "joint_names" not in data and options.joint_order is None and np.any(others):
        raise FormatError(f"{path}: columns are moving that joint_sequence does not name")
    stem = path.stem
    return [_row(f"{stem}/{r:03d}", tuple(wanted), path, data, r, columns) for r in range(len(q))]


def _columns(path: Path, data: dict[str, np.ndarray], options: ReadOptions) -> list[str]:
    count = data["real_dof_positions"].shape[2]
    named = [data[key] for key in NAMES if key in data and len(data[key]) == count]
    order = options.joint_order or (named[0] if named else None)
    if order is None and count == len(H1_2_BREADTH_FIRST):
        order = H1_2_BREADTH_FIRST
    if order is None or len(order) != count:
        raise FormatError(
            f"{path}: {count} columns and no joint_names of that length; give the joint order"
        )
    return [str(name) for name in order]


def _row(
    name: str,
    joints: tuple[str, ...],
    path: Path,
    data: dict[str, np.ndarray],
    row: int,
    columns: list[int],
) -> RawLog:
    streams, time = {}, np.arange(len(data["real_dof_positions"][row])) / RATE
    for key, channel in CHANNELS.items():
        if key in data:
            values = data[key][row].astype(float)
            values = values[:, None] if values.ndim == 1 else values[:, columns]
            streams[channel] = Stream(time, values)
    notes = (f"no clock in the file: {RATE:g} Hz assumed",)
    return RawLog(name, joints, streams, "acts_after", "s", "rad", HUNG, str(path), notes)


def _label(logs: list[RawLog], part: Path, problems: list[str]) -> list[RawLog]:
    """Mark the rows that the `_0kg` file repeats, instead of importing them twice."""
    rows = load_npz(part, ["real_dof_positions"]).get("real_dof_positions", np.empty((0, 0)))
    known = {row.astype(float).tobytes() for row in rows}
    found = {log.streams["q"].values.tobytes() for log in logs} & known
    if len(found) < len(known):
        problems.append(
            f"{part}: {len(known) - len(found)} of {len(known)} rows are not repeated in "
            f"{Path(logs[0].source).name} and were left out; import {part.name} alone to use them"
        )
    note = f"unloaded: the row is repeated in {part.name}, which was not imported again"
    return [
        replace(log, conditions=EMPTY_HANDED, notes=(*log.notes, note))
        if log.streams["q"].values.tobytes() in found
        else log
        for log in logs
    ]
