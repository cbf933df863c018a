"""Recordings as a calibration counts them: the robot's signs, and loads that it found itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gapless.errors import DataError
from gapless.identification.sign_conventions import with_signs
from gapless.measurement.judge import without_loads
from gapless.recordings.command_print import TURNED
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from gapless.recordings.recording import Recording, Recordings

if TYPE_CHECKING:
    from gapless.identification.calibration import Calibration


def calibrated_recordings(
    calibration: Calibration, recordings: Recordings
) -> Dataset | list[Recording]:
    """See `Calibration.recordings`; a Dataset stays one, read when asked for."""
    if isinstance(recordings, Dataset):
        chosen = recordings.select(lambda e: _may_carry(e.conditions, calibration))
        found = chosen.map(lambda recording: _counted(recording, calibration))
    else:
        clips = (recordings[i] for i in range(len(recordings)))
        found = [_counted(r, calibration) for r in clips if _may_carry(r.conditions, calibration)]
    if len(recordings) and not len(found):
        raise DataError("no recording is loaded: all state that nothing was carried (--loaded)")
    return found


def _may_carry(conditions: Conditions, calibration: Calibration) -> bool:
    """Whether a recording can show the load, where the calibration is of the loaded robot."""
    return calibration.base is None or conditions.payloads != {}


def _counted(recording: Recording, calibration: Calibration) -> Recording:
    base = calibration.base or calibration
    recording = _turned(recording, base.signs)
    return without_loads([recording])[0] if calibration.finds_loads else recording


def _turned(recording: Recording, signs: Mapping[str, float]) -> Recording:
    """The recording with exactly the joints turned that have a sign of -1."""
    before = set(recording.provenance.get(TURNED, ()))
    after = {joint for joint, sign in signs.items() if sign < 0}
    if before == after:
        return recording
    turned = with_signs(recording, dict.fromkeys(before ^ after, -1.0))
    return replace(turned, provenance={**recording.provenance, TURNED: sorted(after)})
