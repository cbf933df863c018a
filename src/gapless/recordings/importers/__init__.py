"""Importers: one module a format, each turning a path into raw logs without repairing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from gapless.errors import FormatError, unknown
from gapless.recordings.rawlog import RawLog, Trim


@dataclass(frozen=True)
class ReadOptions:
    """What a file may not say about itself, and where its problems are collected."""

    joint_order: tuple[str, ...] | None = None
    """Joint names in column order, for formats that carry none."""
    mapping: Path | None = None
    """TOML file that says which column is what (formats "generic" and "mcap")."""
    trim: Trim | None = None
    """The stretch of each log that will be used, for what must not change within it."""
    problems: list[str] = field(default_factory=list)
    """Filled while reading: one line for each part of the source that could not be used."""


@dataclass(frozen=True)
class Format:
    """A format by name; its module is imported when it is first read."""

    name: str
    summary: str
    module: str
    looks_for: str


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("sage", "SAGE motion folders of CSV files", "sage", "folders with state_motor.csv"),
        Format(
            "gaponet", "GAPONet/SAGE processed .npz", "gaponet", "*.npz with real_dof_positions"
        ),
        Format(
            "kscale",
            "K-Scale ktune actuator tests and KOS policy runs",
            "kscale",
            "*.json with config and data, or folders with inputs.csv and outputs.csv",
        ),
        Format(
            "asap", "ASAP motion pickles and robot logs", "asap", "*.pkl, or *.npz with joint_pos"
        ),
        Format("pace", "PACE .pt chirps", "pace", "*.pt with time, dof_pos, des_dof_pos"),
        Format(
            "walk_these_ways",
            "walk-these-ways runs (Go1, Go2) as .npz",
            "walk_these_ways",
            "*.npz with joint_pos and joint_pos_target",
        ),
        Format("mcap", "MCAP: ROS 2 JointState, Unitree LowState", "mcap", "*.mcap"),
        Format("lerobot", "LeRobot v3 datasets", "lerobot_dataset", "a folder with meta/info.json"),
        Format(
            "generic",
            "CSV, NPZ, HDF5 or Parquet with a mapping file",
            "text_tables",
            "*.csv, *.npz, *.h5, *.hdf5 or *.parquet",
        ),
    )
}


def read(format: str, source: Path | str, options: ReadOptions | None = None) -> Iterator[RawLog]:
    """Read every motion of a source.

    What cannot be used is listed in `options.problems`, and the rest is still read.

    Args:
        format: a key of FORMATS.
        source: a file, or a folder that is walked in sorted order.
        options: joint names, mapping file; see ReadOptions.

    Raises:
        NameMismatchError: the format does not exist.
        FormatError: the source does not exist, leads outside itself, or holds nothing usable.
    """
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    path = Path(source)
    if not path.exists():
        raise FormatError(f"{path} does not exist; give a file or folder of {format} logs")
    return _read_all(FORMATS[format], path, options or ReadOptions())


def _read_all(format: Format, source: Path, options: ReadOptions) -> Iterator[RawLog]:
    from gapless.recordings.importers.size_limits import reading

    module = import_module(f"{__name__}.{format.module}")
    count = 0
    with reading(str(source), f"a {format.name} source"):
        for log in module.read(source, options):
            count += 1
            yield log
    if count == 0:
        raise _nothing(format, source, options.problems)


def _nothing(format: Format, source: Path, problems: list[str]) -> FormatError:
    if problems:
        more = f"; and {len(problems) - 3} more like these" if len(problems) > 3 else ""
        return FormatError("; ".join(problems[:3]) + more)
    other = detect(source)
    hint = f" It looks like {other!r}: use that format." if other not in (None, format.name) else ""
    return FormatError(
        f"nothing to import from {source}: a {format.name} source is {format.looks_for}.{hint}"
    )


def detect(source: Path | str) -> str | None:
    """Guess the format of a source, or None; used for hints only."""
    from gapless.recordings.importers.detection import guess

    return guess(Path(source))
