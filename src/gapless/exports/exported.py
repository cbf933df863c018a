"""What an export wrote, and what the other format has no place for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapless.errors import ArtifactError
from gapless.printing import PrintsAsTables


@dataclass(frozen=True)
class Exported(PrintsAsTables):
    """One export.

    Attributes:
        path: the file or folder.
        to: name of the format.
        files: what was written, from the path on; empty where the path is the file.
        left_out: what of the simulator is not in it, and why, a sentence each.
    """

    path: Path
    to: str
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "path": str(self.path),
            "to": self.to,
            "files": list(self.files),
            "left_out": list(self.left_out),
        }

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        lines = [Text(f"{self.to:<9} {self.path}")]
        lines += [Text(f"          {name}", style="dim") for name in self.files]
        lines += [Text(f"not in it: {what}", style="yellow") for what in self.left_out]
        return Group(*lines)


def listed(left_out: tuple[str, ...]) -> str:
    """The same as Markdown, for the README of an export."""
    return "\n".join(f"- {what}" for what in left_out) or "- nothing: all of it is here"


def refuse_existing(path: Path, overwrite: bool) -> None:
    """A file that is there is replaced only where that was asked for."""
    if path.exists() and not overwrite:
        raise ArtifactError(f"{path} already exists; choose another --out or pass --overwrite")
