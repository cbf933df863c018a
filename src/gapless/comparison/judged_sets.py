"""What methods are judged by: the held-out motions of a split, and other recordings beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gapless.comparison.comparison import BODIES, HELD_OUT, JOINT, Score
from gapless.comparison.methods import Bench, run
from gapless.errors import DataError
from gapless.measurement import measure
from gapless.measurement.spans import Horizon
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split
from gapless.recordings.splitting import unseen

Sets = dict[str, list[Recording]]
"""What a set is called in tables -> its recordings."""


def judged_sets(split: Split, others: Mapping[str, Recordings]) -> Sets:
    """The held-out motions, and of each of the others the motions that are not learned from."""
    found = {HELD_OUT: list(split.test)} if len(split.test) else {}
    learned = [*split.learn, *split.choose]
    for name, recordings in others.items():
        _require_rate(name, recordings, learned[0].rate)
        found[f"motions of {name}"] = unseen(recordings, learned)
    if not found:
        raise DataError("nothing is held out to test on; give a share, motions or recordings")
    return found


def _require_rate(name: str, recordings: Recordings, rate: float) -> None:
    strange = next((r.rate for r in recordings if r.rate != rate), None)
    if strange is not None:
        raise DataError(
            f"{name} has recordings at {strange:g} Hz, what is learned from {rate:g} Hz; both must "
            "be the same"
        )


@dataclass(frozen=True)
class JudgedSets:
    """The sets, and how their recordings are replayed.

    Attributes:
        sets: what is replayed.
        horizons: seconds, or "full".
        windows: at most this many of each recording; None takes all.
        free: whether the base moves.
    """

    sets: Sets
    horizons: tuple[Horizon, ...]
    windows: int | None
    free: bool

    @property
    def metrics(self) -> tuple[str, ...]:
        """That are measured; bodies first where the base moves."""
        return (*BODIES, *JOINT) if self.free else JOINT

    def scores(self, name: str, bench: Bench) -> dict[str, Score]:
        """Run a method once and measure its world on every set."""
        world, seconds = run(name, bench)
        found = {}
        for title, recordings in self.sets.items():
            gap = measure(recordings, world, horizons=self.horizons, windows=self.windows)
            found[title] = Score.of(gap, self.metrics, bench.seed, seconds)
        return found
