"""FlightRecorder: every control step on disk as it happens; a Dataset when the run is over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.artifact import refuse_occupied
from gapless.deployment.flight_format import FlightHeader, columns_of, pack_row
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.row_writer import RowWriter
from gapless.errors import ArtifactError, DataError, GaplessError

if TYPE_CHECKING:
    from gapless.recordings.conditions import Conditions


class FlightRecorder:
    """Use it as a context manager: at the end, however it comes, there is a dataset.

    After kill -9 there is OUT.flight, which `recover_flight` makes a dataset of. A disk that is
    slow or full costs rows, never the robot: `lost` counts them. `asked` is what is asked of the
    robot from now on (see `flight_format.ASKED`): where it changes, another recording begins.

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
        _require_json(self._more)
        self._header: FlightHeader | None = None
        self._before = 0
        self.asked: np.ndarray | None = None

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
        self._writer = RowWriter(self.folder)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from gapless.deployment.flight_recovery import recover_flight

        self._writer.close()
        if not self.rows:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        # What went wrong in the run is told first; its flight can be recovered later.
        with suppress(*(() if error is None else (GaplessError,))):
            recover_flight(self.folder, self.out)

    def add(self, step: int, moment: float, state: LinkState | None, sent: JointCommand) -> None:
        """Hand over one control step; it never waits for the disk."""
        if self._header is None and state is not None:
            # The first sample says how wide each channel is.
            columns = columns_of(
                state, self._channels, 0 if self.asked is None else len(self.asked)
            )
            self._header = FlightHeader(*self._facts, columns, *self._more)
            self._writer.put(self._header)
        if self._header is None:
            self._before += 1
        else:
            row = pack_row(self._header.columns, step, moment, state, sent, self.asked)
            self._writer.put(row)

    def flush(self) -> None:
        """Wait until all steps so far were written; not for the control loop."""
        self._writer.flush()

    @property
    def rows(self) -> int:
        """Control steps that were written."""
        return self._writer.rows

    @property
    def lost(self) -> int:
        """Control steps before the first sample, and those that the disk did not take."""
        return self._before + self._writer.lost


def _require_json(facts: Any) -> None:
    """Refuse now what could not be written later."""
    try:
        json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"conditions and provenance must be plain JSON values: {error}") from error


def flight_folder(out: str | Path) -> Path:
    """Where the rows of a dataset to come are."""
    out = Path(out).resolve()
    return out.with_name(out.name + ".flight")
