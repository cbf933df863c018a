"""RowWriter: rows to disk beside the control loop, which never waits for a disk."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path

from gapless.deployment.flight_format import ROWS, FlightHeader
from gapless.errors import GaplessError

ROWS_A_FILE = 15_000
"""After so many rows another file begins: five minutes at 50 Hz."""
SYNC_SECONDS = 1.0
"""How often what was written is forced to the disk: what a power cut can cost."""
WAITING = 1000
"""Rows that may wait for a slow disk; more are lost, and counted."""
LOOK_SECONDS = 0.01
"""How often the thread looks for rows. Nobody wakes it: that could hold up the loop."""


class RowWriter:
    """Appends rows as they come, each by one write; a thread of its own does the waiting.

    Args:
        folder: to write to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: deque[bytes | FlightHeader] = deque()
        self._over = False
        self._header: FlightHeader | None = None
        self._file: int | None = None
        self._synced = 0.0
        self._dropped = self._failed = 0
        self.rows = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """Rows that the disk was too slow for, or refused."""
        return self._dropped + self._failed

    def put(self, row: bytes | FlightHeader) -> None:
        """Hand over a row, or the header before the first; takes no lock and never waits."""
        if len(self._waiting) < WAITING:
            self._waiting.append(row)
        else:
            self._dropped += 1

    def flush(self) -> None:
        """Wait until everything was written."""
        while self._waiting:
            time.sleep(LOOK_SECONDS)

    def close(self) -> None:
        """Write what waits, and end."""
        self._over = True
        self._thread.join()
        self._close_file()

    def _work(self) -> None:
        while not self._over or self._waiting:
            if not self._waiting:
                time.sleep(LOOK_SECONDS)
                continue
            try:
                self._write(self._waiting[0])
            except (OSError, GaplessError):
                self._failed += 1
            self._waiting.popleft()  # only now: who flushes waits for it

    def _write(self, row: bytes | FlightHeader) -> None:
        if isinstance(row, FlightHeader):
            self._header = row
            return
        if self._header is not None:  # until the disk takes it, rows are worth nothing
            self._header.write(self._folder)
            self._header = None
        self._append(row)
        self.rows += 1
        if self._file is not None and time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def _append(self, row: bytes) -> None:
        if self.rows % ROWS_A_FILE == 0 or self._file is None:
            self._close_file()
            name = self._folder / ROWS.format(self.rows // ROWS_A_FILE)
            self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        written = os.write(self._file, row)
        if written < len(row):
            # Half a row would shift all that follow: take it back.
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise OSError("the disk took only part of a row")

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
