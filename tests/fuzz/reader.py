"""A Reader: how a valid source is made, and everything that is done with one that was damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reader:
    """One kind of file.

    Attributes:
        name: of it.
        make: writes a valid source into a folder.
        use: reads the source in a folder and goes on; what it writes, it writes into `out`.
        files: patterns of the files that are damaged.
        slow: making the valid source takes seconds.
    """

    name: str
    make: Callable[[Path], object]
    use: Callable[[Path, Path], object]
    files: tuple[str, ...] = ("**/*",)
    slow: bool = False

    def targets(self, source: Path) -> list[Path]:
        """The files that are damaged."""
        found = {path for pattern in self.files for path in source.glob(pattern)}
        return sorted(path for path in found if path.is_file())
