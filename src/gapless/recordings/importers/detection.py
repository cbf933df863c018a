"""Guessing the format of a source from its names and keys; only error hints rely on it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from gapless.errors import FormatError
from gapless.recordings.importers.npz import npz_keys
from gapless.recordings.importers.source_files import walk

BY_NAME = {
    "state_motor.csv": "sage",
    "outputs.csv": "kscale",
    "inputs.csv": "kscale",
    "info.json": "lerobot",
}
BY_SUFFIX = {
    ".mcap": "mcap",
    ".pkl": "asap",
    ".pt": "pace",
    ".json": "kscale",
    ".csv": "generic",
    ".h5": "generic",
    ".hdf5": "generic",
    ".parquet": "generic",
}
BY_KEY = {
    "real_dof_positions": "gaponet",
    "joint_pos_target": "walk_these_ways",
    "joint_pos_cmd": "asap",
}
SCANNED = 200


def guess(source: Path) -> str | None:
    """The format that the first telling file of a source belongs to."""
    paths = list(islice(_paths(source), SCANNED))
    named = (BY_NAME.get(p.name) for p in paths)
    suffixed = (_by_content(p) for p in paths)
    return next(filter(None, named), None) or next(filter(None, suffixed), None)


def _paths(source: Path) -> Iterator[Path]:
    try:
        yield from [source] if source.is_file() else walk(source)
    except FormatError:
        return


def _by_content(path: Path) -> str | None:
    if path.suffix.lower() != ".npz":
        return BY_SUFFIX.get(path.suffix.lower())
    try:
        keys = npz_keys(path)
    except FormatError:
        return None
    return next((name for key, name in BY_KEY.items() if key in keys), "generic")
