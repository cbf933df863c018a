"""What an importer hands over: a log as it was written, before anything is moved or resampled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gapless.recordings.conditions import Conditions

TimeUnit = Literal["s", "ms", "us", "ns"]
AngleUnit = Literal["rad", "deg"]
Trim = tuple[float, float]
"""Start and end of what is used of a log, s from its first sample; an end of 0 or less is counted
from its last one."""
Pairing = Literal["timestamps", "acts_after", "produced", "unknown"]
"""How commands relate to states in time.

timestamps: both streams carry their own clock readings (or one shared clock); times decide.
acts_after: row k holds the state and the command issued on it, which acts from k to k+1.
produced:   row k holds the command that produced state k (one step late; it is moved).
unknown:    the format does not say; the data must prove it or the user must declare it.
"""


@dataclass(frozen=True)
class Stream:
    """One channel as logged: its own times, and values with one row a time.

    Attributes:
        time: (T,) clock readings in the log's time unit.
        values: (T, k) float64; NaN where nothing was logged.
    """

    time: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class RawLog:
    """One motion of one log.

    Attributes:
        name: the motion.
        joints: joint names as the log spells them, in column order of the per-joint streams.
        streams: "q" and, where logged, "target" and the channels of `recording.py`.
            All angles, rates included, are in `angle_unit`.
        pairing: see `Pairing`.
        time_unit: None where the format does not fix it; it is then inferred and checked.
        angle_unit: None where the format does not fix it; radians are then assumed and checked.
        conditions: joint and link names as the log spells them; a gain that is NaN is the robot's.
        source: file or folder, for provenance.
        notes: what the importer already dropped, recovered or doubts, in words.
        trim: the stretch that is used; None is all of it.
    """

    name: str
    joints: tuple[str, ...]
    streams: dict[str, Stream]
    pairing: Pairing = "unknown"
    time_unit: TimeUnit | None = None
    angle_unit: AngleUnit | None = "rad"
    conditions: Conditions = field(default_factory=Conditions)
    source: str = ""
    notes: tuple[str, ...] = ()
    trim: Trim | None = None
