"""Walking a source, and keeping what works when a part of it does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from gapless.errors import DataError, FormatError
from gapless.recordings.importers.checking import checked
from gapless.recordings.importers.size_limits import reading
from gapless.recordings.rawlog import RawLog

Item = TypeVar("Item")


def files(source: Path, *suffixes: str) -> list[Path]:
    """Files of a source with one of the suffixes, sorted; a file source is taken as it is.

    Raises:
        FormatError: a link leads out of the source.
    """
    if source.is_file():
        return [source] if source.suffix.lower() in suffixes else []
    return [p for p in walk(source) if p.suffix.lower() in suffixes]


def folders_with(source: Path, *names: str) -> list[Path]:
    """Folders of a source that hold at least one of the named files, sorted."""
    if source.is_file():
        return [source.parent] if source.name in names else []
    return sorted({p.parent for p in walk(source) if p.name in names})


def walk(root: Path) -> Iterator[Path]:
    """Every file below a folder in sorted order; links must stay inside it."""
    inside = root.resolve()
    for folder, subfolders, names in os.walk(root, followlinks=False):
        subfolders.sort()
        for name in sorted(subfolders + names):
            _check_link(Path(folder, name), inside)
        yield from (Path(folder, name) for name in sorted(names))


def _check_link(path: Path, inside: Path) -> None:
    if path.is_symlink() and not path.resolve().is_relative_to(inside):
        raise FormatError(
            f"{path} is a link out of the source, to {path.resolve()}; "
            "a source must contain its own files: copy them with cp -rL"
        )


def collect(
    items: Iterable[Item], load: Callable[[Item], Iterable[RawLog]], problems: list[str]
) -> Iterator[RawLog]:
    """Load and check each item, noting those that cannot be used instead of stopping."""
    for item in items:
        try:
            with reading(str(item), "a log of this format"):
                logs = [checked(log) for log in load(item)]
        except (FormatError, DataError) as error:
            named = str(item) in str(error) or not isinstance(item, Path)
            problems.append(str(error) if named else f"{item}: {error}")
            continue
        yield from logs
