"""Windows: stretches of the training recordings as a world plays them, drawn anew when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.signals import Signals
from gapless.measurement.alignment import gains_of
from gapless.measurement.windows import Fragments, fragments_of
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds.world import State


@dataclass(frozen=True)
class Windows:
    """n windows of T control steps.

    Attributes:
        start: states at the first sample.
        targets: (n, H + T, J) positions to hold, velocity commands folded in.
        fragments: the recordings' side.
    """

    start: State
    targets: np.ndarray
    fragments: Fragments

    @classmethod
    def drawn(
        cls,
        recordings: Sequence[Recording],
        robot: Robot,
        seconds: float,
        limit: int,
        seed: int,
    ) -> Windows:
        """Cut windows at random places, evenly spread over the recordings."""
        rng = np.random.default_rng(seed % 2**32)
        clips = [recordings[i] for i in rng.permutation(len(recordings))]
        steps = max(1, round(seconds * clips[0].rate))
        clips = [
            c.clip(int(rng.integers(0, min(steps, max(1, len(c) - steps - 1)))), len(c))
            for c in clips
        ]
        found = fragments_of(clips, robot, seconds, 10**9)
        if len(found) > limit:
            found = found[np.sort(rng.permutation(len(found))[:limit])]
        return cls(found.start, _folded(found, robot), found)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def before(self) -> int:
        """H."""
        return self.fragments.before

    @property
    def real(self) -> State:
        """(n, T, ...) recorded states, each the result of a target."""
        return self.fragments.real

    @property
    def states(self) -> State:
        """(n, T+1, ...) recorded states, the start included."""
        return State.concatenate([self.start[:, None], self.real], axis=1)

    def recorded_signals(self) -> Signals:
        """(n, T, d) signals of the recorded states under the targets that followed them."""
        now = looked_at.of_state(self.states)
        payload = looked_at.payloads(self.fragments.conditions)[:, None]
        return {
            **{k: v[:, :-1] for k, v in now.items()},
            "target": self.targets[:, self.before :],
            "payload": payload,
        }


def _folded(found: Fragments, robot: Robot) -> np.ndarray:
    asked = found.commands
    if asked.target_dq is None and asked.torque_ff is None:
        return asked.target
    gains = [gains_of(c, robot) for c in found.conditions]
    return asked.folded(
        np.array([kp for kp, _ in gains])[:, None], np.array([kd for _, kd in gains])[:, None]
    )
