"""One damaged input, by its reader and number: what was done to which file, and what came of it."""

from __future__ import annotations

import shutil
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz.containers import damage
from fuzz.log_readers import READERS as LOGS
from fuzz.model_readers import READERS as MODELS
from fuzz.motion_readers import READERS as MOTIONS
from fuzz.policy_readers import READERS as POLICIES
from fuzz.reader import Reader
from fuzz.result_readers import READERS as RESULTS
from gapless.errors import GaplessError

READERS = {r.name: r for r in (*LOGS, *MODELS, *MOTIONS, *POLICIES, *RESULTS)}
READ, REFUSED, BROKEN = "read", "refused", "broken"


@dataclass
class Bench:
    """A reader with its valid source in a folder, which is put right again after every case."""

    reader: Reader
    folder: Path
    good: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.source.mkdir(parents=True)
        self.reader.make(self.source)
        self.good = {path: path.read_bytes() for path in self.reader.targets(self.source)}

    @property
    def source(self) -> Path:
        """What is read."""
        return self.folder / "source"

    def attempt(self) -> tuple[str, str]:
        """Use what is there: how it ended, and the message or the trace."""
        out = self.folder / "out"
        out.mkdir()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.reader.use(self.source, out)
        except GaplessError as error:
            return REFUSED, str(error)
        except Exception:
            return BROKEN, traceback.format_exc()
        finally:
            shutil.rmtree(out, ignore_errors=True)
        return READ, ""

    def case(self, number: int) -> tuple[str, str]:
        """The damaged input of a number; the same number is the same damage on every machine."""
        with self.damaged(number):
            return self.attempt()

    @contextmanager
    def damaged(self, number: int) -> Iterator[Path]:
        """One file damaged, and put right at the end."""
        random = np.random.default_rng([zlib.crc32(self.reader.name.encode()), number])
        paths = list(self.good)
        path = paths[random.integers(len(paths))]
        try:
            damage(path, random)
            yield path
        finally:
            path.write_bytes(self.good[path])
