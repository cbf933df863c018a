"""Windows of the training recordings, drawn anew when asked, and what a correction sees in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.signals import Signals
from gapless.measurement.windows import Windows, windows_of
from gapless.recordings.recording import Recording
from gapless.robots import Robot


def drawn_windows(
    recordings: Sequence[Recording], robot: Robot, seconds: float, limit: int, seed: int
) -> Windows:
    """Cut windows at random places, evenly spread over the recordings."""
    rng = np.random.default_rng(seed % 2**32)
    clips = [recordings[i] for i in rng.permutation(len(recordings))]
    steps = max(1, round(seconds * clips[0].rate))
    clips = [
        c.clip(int(rng.integers(0, min(steps, max(1, len(c) - steps - 1)))), len(c)) for c in clips
    ]
    found = windows_of(clips, robot, seconds, 10**9)
    if len(found) > limit:
        found = found[np.sort(rng.permutation(len(found))[:limit])]
    return found


def recorded_signals(windows: Windows) -> Signals:
    """(n, T, d) signals of the recorded states under the targets that followed them."""
    now = looked_at.of_state(windows.states)
    return {
        **{k: v[:, :-1] for k, v in now.items()},
        "target": windows.held,
        "payload": looked_at.payloads(windows.conditions)[:, None],
    }
