"""Which recordings teach, choose and test: the options of every command that learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.robot_option import OfDataset
from gapless.cli.terminal import console
from gapless.errors import DataError
from gapless.recordings import Dataset, Split
from gapless.recordings.named_parts import is_patterns, named
from gapless.recordings.splitting import SHARE, split_recordings, unseen

if TYPE_CHECKING:
    from gapless.identification import Calibration
    from gapless.recordings.recording import Recordings
    from gapless.recordings.splitting import Stratum


def share_or_patterns(texts: Sequence[str]) -> float | tuple[str, ...]:
    """What --test says: one number is a share of the motions, anything else patterns of names."""
    try:
        (share,) = map(float, texts)
    except ValueError:
        return tuple(texts)
    return share


@dataclass(frozen=True, kw_only=True)
class Learning(OfDataset):
    """Options of every command that learns from a dataset."""

    learn: tuple[str, ...] = ()
    """Patterns of the motions to learn from and choose by; all others are held out, or those that
    --test names."""
    test: tuple[str, ...] = (str(SHARE),)
    """Motions that are held out and only reported: patterns of their names, or a share."""
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
        test = share_or_patterns(self.test)
        divide = partial(
            split_recordings, choose=self.choose, units=self.units, seed=self.seed, stratum=stratum
        )
        if self.test_on is not None:
            share = 0.0 if self.learn or isinstance(test, tuple) else test
            kept = divide(dataset, test=share, units=(), learn=self.learn)
            learned = [*kept.learn, *kept.choose]
            tested = unseen(_named(beside(self.test_on, dataset), test), learned)
            return divide(learned, test=tested)
        named_here = self.learn or is_patterns(test)
        like = None if calibration is None or named_here else calibration.split or None
        return divide(dataset, test=test, learn=self.learn, like=like)


def tell(split: Split) -> Split:
    """The split, after what people should know about it was said."""
    for note in split.notes:
        console(stderr=True).print(f"note: {note}", markup=False)
    return split


def beside(where: Path, pool: Dataset) -> Dataset:
    """Another dataset, of the same robot at the same rate."""
    other = Dataset.open(where)
    if (other.robot, other.rate) != (pool.robot, pool.rate):
        raise DataError(
            f"{where} is of {other.robot!r} at {other.rate:g} Hz, the recordings to learn from are "
            f"of {pool.robot!r} at {pool.rate:g} Hz; both must be the same"
        )
    return other


def _named(recordings: Dataset, test: float | tuple[str, ...]) -> Recordings:
    """Those that patterns name; without patterns all."""
    if not is_patterns(test):
        return recordings
    found = [r for r in recordings if named(r.name, test)]
    if not found:
        raise DataError(f"--test {' '.join(test)} names nothing in {recordings.path}")
    return found
