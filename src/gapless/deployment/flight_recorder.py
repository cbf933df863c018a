"""FlightRecorder: every control step on disk as it happens; a Dataset when the run is over."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gapless.artifact import refuse_occupied
from gapless.deployment.flight_format import ROWS, FlightHeader, columns_of, pack_row
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.errors import ArtifactError, DataError, GaplessError

if TYPE_CHECKING:
    from gapless.recordings.conditions import Conditions

ROWS_A_FILE = 15_000
"""After so many control steps another file begins: five minutes at 50 Hz."""
SYNC_SECONDS = 1.0
"""How often what was written is forced to the disk: what a power cut can cost."""


class FlightRecorder:
    """Use it as a context manager: at the end, however it comes, there is a dataset.

    After kill -9 there is OUT.flight, which `recover_flight` makes a dataset of. A disk that
    refuses a row costs that row, never the robot: `lost` counts them.

    Args:
        out: the dataset to make.
        robot: its name.
        joints: in the order of the link.
        rate: control steps per second.
        channels: of the link.
        motion: what the robot is asked to do.
        conditions: unit, mount, policy; gains are taken from what was sent.
        provenance: where it comes from.
    """

    def __init__(
        self,
        out: str | Path,
        robot: str,
        joints: Sequence[str],
        rate: float,
        channels: Sequence[str],
        motion: str,
        conditions: Conditions | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        if rate != int(rate):
            raise DataError(f"recordings need a whole number of samples per second, not {rate}")
        self.out, self.folder = Path(out), flight_folder(out)
        self._facts = (robot, tuple(joints), float(rate), motion)
        self._channels = tuple(channels)
        told = {} if conditions is None else conditions.to_dict()
        self._more = told, dict(provenance or {})
        self._header: FlightHeader | None = None
        self._file: int | None = None
        self._over = threading.Event()
        self.rows = self.lost = 0

    def __enter__(self) -> FlightRecorder:
        refuse_occupied(self.out.resolve(), overwrite=False)
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError:
            raise ArtifactError(
                f"{self.folder} is a flight that was cut off; recover it, or delete it yourself"
            ) from None
        except OSError as error:
            raise ArtifactError(f"cannot write {self.folder}: {error.strerror}") from error
        self._syncing = threading.Thread(target=self._sync, daemon=True)
        self._syncing.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from gapless.deployment.flight_recovery import recover_flight

        self._over.set()
        self._syncing.join()
        self._close_file()
        if not self.rows:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        # What went wrong in the run is told first; its flight can be recovered later.
        with suppress(*(() if error is None else (GaplessError,))):
            recover_flight(self.folder, self.out)

    def add(self, step: int, moment: float, state: LinkState | None, sent: JointCommand) -> None:
        """Append one control step; nothing of it stays in memory."""
        try:
            if self._header is None:
                self._begin(state)
            if self._header is None:
                self.lost += 1
                return
            self._append(pack_row(self._header.columns, step, moment, state, sent))
            self.rows += 1
        except OSError:
            self.lost += 1

    def _begin(self, state: LinkState | None) -> None:
        """The first sample says how wide each channel is."""
        if state is None:
            return
        header = FlightHeader(*self._facts, columns_of(state, self._channels), *self._more)
        header.write(self.folder)
        self._header = header

    def _append(self, row: bytes) -> None:
        if self.rows % ROWS_A_FILE == 0 or self._file is None:
            self._close_file()
            name = self.folder / ROWS.format(self.rows // ROWS_A_FILE)
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

    def _sync(self) -> None:
        """Beside the loop: a disk may take longer than a control step."""
        while not self._over.wait(SYNC_SECONDS):
            file = self._file
            if file is not None:
                try:
                    os.fsync(file)
                except OSError:  # it was closed meanwhile: the next one is synced
                    continue


def flight_folder(out: str | Path) -> Path:
    """Where the rows of a dataset to come are."""
    out = Path(out).resolve()
    return out.with_name(out.name + ".flight")
