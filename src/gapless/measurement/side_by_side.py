"""One recording beside what simulators make of its commands, on one clock: what people look at."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gapless.artifact import write_bytes_atomic
from gapless.errors import DataError, FormatError
from gapless.measurement.replay import Replay, replay
from gapless.measurement.spans import FULL, Horizon
from gapless.recordings.recording import Recording
from gapless.worlds.world import State, World

REAL = "real"
FORMAT = "gapless side by side 1"
DAMAGED = (BadZipFile, zlib.error, EOFError, NotImplementedError)
"""What NumPy lets through of an archive that is not whole."""


@dataclass(frozen=True)
class Track:
    """Where a robot was.

    Attributes:
        q: (T, J) positions, rad; NaN where there is nothing to compare.
        base_pos: (T, 3) m, None where the root cannot move.
        base_quat_wxyz: (T, 4).
        distance: (T,) mean distance of its bodies from where they should be, mm; None where
            nothing says where that is.
    """

    q: np.ndarray
    base_pos: np.ndarray | None = None
    base_quat_wxyz: np.ndarray | None = None
    distance: np.ndarray | None = None

    def lasting(self, length: int) -> Track:
        """The same over so many samples: cut, or with nothing to see at its end."""
        return Track(*(None if v is None else _lasting(v, length) for v in vars(self).values()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class SideBySide:
    """A recording and its replays.

    Attributes:
        name: of the motion.
        unit: serial of the robot, or None.
        payload: what it carried, kg; None where the log does not say.
        joints: the order of every column.
        rate: samples per second.
        horizon: seconds after which the replays start anew from the recording, or "full".
        target: (T, J) commands, rad.
        tracks: "real" first, then one for each simulator.
        person: keypoint -> (T, 3) of the person whose motion it is, m; not stored in files.
    """

    name: str
    unit: str | None
    payload: float | None
    joints: tuple[str, ...]
    rate: float
    horizon: Horizon
    target: np.ndarray
    tracks: dict[str, Track]
    person: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def time(self) -> np.ndarray:
        """(T,) seconds since the first sample."""
        return np.arange(len(self.target)) / self.rate

    def error(self, simulator: str, against: str = REAL) -> np.ndarray:
        """(T, J) simulated minus real position (or that of another track), rad."""
        return self.tracks[simulator].q - self.tracks[against].q

    def mean_error(self, simulator: str, against: str = REAL) -> np.ndarray:
        """(J,) mean size of a joint's error, rad; 0 where there is nothing to compare."""
        error = np.abs(self.error(simulator, against))
        return np.nansum(error, axis=0) / np.maximum(np.isfinite(error).sum(axis=0), 1)

    @property
    def title(self) -> str:
        """Motion, unit and load, for people."""
        return clip_title(self.name, self.unit, self.payload)


def clip_title(name: str, unit: str | None, payload: float | None) -> str:
    """Motion, unit and load, as far as they are known."""
    parts = [name, "" if unit is None else f"unit {unit}"]
    return ", ".join(filter(None, [*parts, "" if payload is None else f"{payload:g} kg"]))


def _lasting(values: np.ndarray, length: int) -> np.ndarray:
    more = max(length - len(values), 0)
    ends = ((0, more), *[(0, 0)] * (values.ndim - 1))
    return np.pad(values[:length], ends, constant_values=np.nan)


def side_by_side(
    recordings: Sequence[Recording], worlds: Mapping[str, World], horizon: Horizon = FULL
) -> list[SideBySide]:
    """Replay recordings in several worlds of one robot and rate.

    Args:
        recordings: with commands.
        worlds: by the name that is shown.
        horizon: seconds after which a replay starts anew from the recording, or "full".

    Returns:
        One a recording that can be replayed.
    """
    if not worlds or REAL in worlds:
        raise DataError(f"give worlds names, and none of them {REAL!r}")
    played = {name: replay(recordings, world, horizon) for name, world in worlds.items()}
    joints = next(iter(worlds.values())).robot.joints.names
    return [
        _joined(dict(zip(played, same, strict=True)), joints)
        for same in zip(*played.values(), strict=True)
    ]


def _joined(played: dict[str, Replay], joints: tuple[str, ...]) -> SideBySide:
    first = next(iter(played.values()))
    recording, length = first.recording, len(first.recording)
    tracks = {REAL: _track(first, first.real, length)}
    tracks |= {name: _track(one, one.sim, length) for name, one in played.items()}
    return SideBySide(
        name=recording.name,
        unit=recording.conditions.unit,
        payload=recording.conditions.payload_mass,
        joints=joints,
        rate=first.rate,
        horizon=first.horizon,
        target=_laid(first, first.target, length),
        tracks=tracks,
    )


def _track(played: Replay, states: State, length: int) -> Track:
    q = _laid(played, np.where(played.usable, states.q, np.nan), length)
    base = [
        None if part is None else _laid(played, part, length)
        for part in (states.base_pos, states.base_quat_wxyz)
    ]
    return Track(q, *base)


def _laid(played: Replay, values: np.ndarray, length: int) -> np.ndarray:
    """Windows (W, T, ...) put one after the other on the recording's clock; NaN between."""
    out = np.full((length, *values.shape[2:]), np.nan)
    for window, (start, steps) in enumerate(zip(played.starts, played.steps, strict=True)):
        stop = min(steps + 1, values.shape[1])
        out[start : start + stop] = values[window, :stop]
    return out


def save_side_by_side(path: str | Path, clips: Sequence[SideBySide]) -> None:
    """Write clips to one NPZ of plain arrays; complete or absent."""
    arrays: dict[str, Any] = {}
    heads = []
    for k, clip in enumerate(clips):
        heads.append(
            {
                **{f: getattr(clip, f) for f in ("name", "unit", "payload", "rate", "horizon")},
                "joints": list(clip.joints),
                "tracks": list(clip.tracks),
            }
        )
        arrays[f"{k}/target"] = clip.target.astype(np.float32)
        for t, track in enumerate(clip.tracks.values()):
            for part, values in vars(track).items():
                if values is not None:
                    arrays[f"{k}/{t}/{part}"] = values.astype(np.float32)
    head = json.dumps({"format": FORMAT, "clips": heads})
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=np.array(head), **arrays)
    write_bytes_atomic(path, buffer.getvalue())


def load_side_by_side(path: str | Path) -> list[SideBySide]:
    """Read what `save_side_by_side` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        head = json.loads(str(arrays["head"]))
        if head["format"] != FORMAT:
            raise FormatError(f"{path} is of another version ({head['format']!r})")
        return [_read(arrays, k, told) for k, told in enumerate(head["clips"])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, *DAMAGED) as error:
        raise FormatError(f"{path} cannot be read: {error}; make it anew") from error


def _read(arrays: dict[str, np.ndarray], k: int, told: dict[str, Any]) -> SideBySide:
    known = [field.name for field in fields(Track)]
    tracks = {
        name: Track(*(arrays.get(f"{k}/{t}/{part}") for part in known))  # type: ignore
        for t, name in enumerate(told.pop("tracks"))
    }
    joints, target = tuple(told.pop("joints")), arrays[f"{k}/target"]
    parts = [
        ("target", target),
        *(pair for track in tracks.values() for pair in vars(track).items()),
    ]
    for part, values in parts:
        _refuse_misshapen(f"{part} of clip {k}", part, values, len(joints))
    return SideBySide(**told, joints=joints, target=target, tracks=tracks)


def _refuse_misshapen(whose: str, part: str, values: np.ndarray | None, joints: int) -> None:
    """Only positions must be there; whatever is there has its width."""
    width = {"base_pos": (3,), "base_quat_wxyz": (4,), "distance": ()}.get(part, (joints,))
    if values is None and part in ("target", "q"):
        raise ValueError(f"{whose} is missing")
    if values is not None and (values.dtype.kind != "f" or (len(values), *width) != values.shape):
        raise ValueError(f"{whose} holds {values.dtype} of shape {values.shape}")
