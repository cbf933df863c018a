"""One writer at a time: a lock that ends with the process that holds it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from gapless.errors import ArtifactError


class Lock:
    """A lock on a file that names its holder; a dead process holds nothing.

    Args:
        path: the lock file.
        what: what is locked, for messages.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock, or say which process has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = self.path.open("a+", encoding="utf-8")
        try:
            _lock(file)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise ArtifactError(
                f"{self.what} is being written by process {holder}; wait for it, "
                "or stop it and run this again: what it completed is kept"
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    def release(self, remove: bool = False) -> None:
        """Give the lock back; the empty file stays unless the work is finished."""
        if self._file is None:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()
        self._file = None


def _lock(file: IO[str]) -> None:
    """The system's own file lock, because it ends with the process however that dies."""
    try:
        import fcntl
    except ImportError:  # Windows refuses to rename or delete files that are open
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
