"""Which recordings teach, choose and test: the options of every command that learns."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.robot_option import OfDataset
from gapless.errors import DataError, GaplessError
from gapless.recordings import Dataset, Split
from gapless.recordings.splitting import SHARE, split_recordings, unseen

if TYPE_CHECKING:
    from gapless.identification import Calibration
    from gapless.recordings.splitting import Stratum


@dataclass(frozen=True, kw_only=True)
class Learning(OfDataset):
    """Options of every command that learns from a dataset."""

    learn: tuple[str, ...] = ()
    """Patterns of the motions to learn from and choose by; all others are held out."""
    test: float = SHARE
    """Share of the motions that are held out and only reported, where --learn does not say."""
    test_on: Path | None = None
    """Another dataset to test on; motions that are learned from are left out."""
    choose: float = SHARE
    """Share of the other motions that decide; they teach nothing."""
    units: tuple[str, ...] = ()
    """Test only on these units, and learn only from the others."""
    seed: int = 0
    """Of the split, and of everything else that is drawn."""

    def split(
        self,
        dataset: Dataset,
        calibration: Calibration | None = None,
        stratum: Stratum | None = None,
    ) -> Split:
        """The recordings by their use; as those of a calibration were, where one is given."""
        pool, others = _by_name(dataset, self.learn)
        divide = partial(
            split_recordings, choose=self.choose, units=self.units, seed=self.seed, stratum=stratum
        )
        if self.test_on is not None:
            kept = divide(pool, test=0.0 if self.learn else self.test, units=())
            learned = [*kept.learn, *kept.choose]
            return divide(
                learned, test=_tested(Dataset.open(self.test_on), dataset, learned, self.test_on)
            )
        if self.learn:
            return divide(pool, test=others if len(others) else 0.0)
        like = calibration.split if calibration is not None and calibration.split else None
        return divide(pool, test=self.test, like=like)


def _by_name(dataset: Dataset, patterns: tuple[str, ...]) -> tuple[Dataset, Dataset]:
    """Recordings of motions that are named, and the others; without names, all and none."""

    def named(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    usable = dataset.select(lambda episode: not episode.flags)
    chosen = usable.select(lambda episode: named(episode.name))
    if patterns and not len(chosen):
        there = ", ".join(dict.fromkeys(e.name for e in dataset.episodes))
        raise GaplessError(f"no motion is named as {', '.join(patterns)}; there are: {there}")
    return chosen, usable.select(lambda episode: not named(episode.name))


def _tested(other: Dataset, pool: Dataset, learned: Dataset | list, where: Path) -> list:
    """Recordings of another dataset whose motions are not learned from."""
    if (other.robot, other.rate) != (pool.robot, pool.rate):
        raise DataError(
            f"{where} is of {other.robot!r} at {other.rate:g} Hz, the recordings to learn from are "
            f"of {pool.robot!r} at {pool.rate:g} Hz; both must be the same"
        )
    found = unseen(other, learned)
    if not found:
        raise DataError(
            f"every motion in {where} is learned from too, so nothing is left to test on; learn "
            "from fewer motions (--learn PATTERNS, or a larger --test)"
        )
    return found
