"""The queue of the closed-loop table: motions, their trackers and rows, by names of files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapless.artifact import write_text_atomic
from gapless.errors import FormatError, nearest, unknown

CONTRACT = Path(__file__).with_name("asap_tracker.toml")
"""Of networks that come without one."""
LEVELS = ("easy", "medium", "hard")
KEYS = ("file", "level", "policy", "rows")


@dataclass(frozen=True)
class QueuedMotion:
    """A motion whose cells are to be made.

    Attributes:
        file: name of its file.
        level: easy, medium or hard.
        rows: of the table.
        policy: name of a pretrained tracker's file; "" where one is trained.
    """

    file: str
    level: str
    rows: tuple[str, ...]
    policy: str = ""


def read_queue(path: Path, known: Iterable[str]) -> list[QueuedMotion]:
    """The motions of a queue, in its order; `known` are the rows that can be made."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        groups, listed = data["rows"], data["motions"]
        return [_motion(entry, groups, tuple(known), path) for entry in listed]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{path} is no queue: {error!r}; expected [rows], [[motions]]") from error


def _motion(
    entry: dict[str, Any], groups: dict[str, list[str]], known: tuple[str, ...], path: Path
) -> QueuedMotion:
    for key in entry:
        if key not in KEYS:
            raise FormatError(f"{path}: {key!r} is not known.{nearest(key, KEYS)}")
    rows = tuple(row for name in entry["rows"] for row in groups.get(name, [name]))
    for row in rows:
        if row not in known:
            raise unknown("row", row, known)
    if entry["level"] not in LEVELS:
        raise unknown("level", entry["level"], LEVELS)
    return QueuedMotion(entry["file"], entry["level"], rows, entry.get("policy", ""))


def file_of(name: str, folder: Path | None, option: str) -> Path:
    """The file of a name, anywhere in a folder that an option gave."""
    if folder is None or not folder.is_dir():
        raise FormatError(f"{name} is looked for in a folder, and {folder} is none: give {option}")
    files = sorted(folder.rglob(name))
    if not files:
        raise FormatError(f"{folder} has no {name}; give the folder that has it with {option}")
    return files[0]


def contract_beside(network: Path, seconds: float, folder: Path) -> Path:
    """A contract for a network of ASAP's that has none; any other file is its own."""
    if network.suffix != ".onnx" or network.with_suffix(".toml").exists():
        return network
    own = (
        f"network = {json.dumps(str(network.resolve()))}\nmotion = {{ seconds = {seconds:.2f} }}\n"
    )
    file = folder / f"{network.stem}.toml"
    write_text_atomic(file, own + CONTRACT.read_text(encoding="utf-8"))
    return file
