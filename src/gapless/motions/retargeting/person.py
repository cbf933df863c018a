"""A Person: where the joints of a human body are over time, by common names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import DataError

SIDES = ("left", "right")
LIMBS = ("hip", "knee", "ankle", "shoulder", "elbow", "hand")
REQUIRED = ("pelvis", *(f"{side}_{part}" for side in SIDES for part in LIMBS))
"""Keypoints without which nobody can be retargeted."""
OPTIONAL = ("chest", "head", "left_toe", "right_toe")
PARENTS: dict[str, str] = {
    "chest": "pelvis",
    "head": "pelvis",
    **{f"{side}_{part}": "pelvis" for side in SIDES for part in ("hip", "shoulder")},
    **{f"{side}_knee": f"{side}_hip" for side in SIDES},
    **{f"{side}_ankle": f"{side}_knee" for side in SIDES},
    **{f"{side}_toe": f"{side}_ankle" for side in SIDES},
    **{f"{side}_elbow": f"{side}_shoulder" for side in SIDES},
    **{f"{side}_hand": f"{side}_elbow" for side in SIDES},
}
"""The keypoint that each hangs on: what is drawn as a bone, and what is made longer or shorter."""
ORDER = ("pelvis", *PARENTS)
"""All keypoints, each after the one it hangs on."""


@dataclass(frozen=True, eq=False)
class Person:
    """Keypoints of a person in a world whose z points up.

    Attributes:
        name: of the motion.
        rate: frames per second.
        keypoints: names, of REQUIRED and OPTIONAL.
        positions: (T, K, 3), m.
        turns: (T, K, 4) how far the bone that begins at each keypoint is turned from the rest
            pose, wxyz in the world; None where a file has positions alone.
        rest: (K, 3) keypoints of the rest pose; None where there are no turns.
        notes: what was found and done so far, for people.
        source: the file.
    """

    name: str
    rate: float
    keypoints: tuple[str, ...]
    positions: np.ndarray
    turns: np.ndarray | None = None
    rest: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        missing = [name for name in REQUIRED if name not in self.keypoints]
        if missing:
            raise DataError(f"{self.source or self.name} lacks the keypoints {', '.join(missing)}")
        if len(self.positions) < 2:
            raise DataError(f"{self.source or self.name} has {len(self)} frames; two are needed")

    def __len__(self) -> int:
        return len(self.positions)

    def at(self, *names: str) -> np.ndarray:
        """(T, 3) a keypoint, or the middle of several."""
        return self.positions[:, self.columns(names)].mean(axis=1)

    def columns(self, names: Iterable[str]) -> list[int]:
        """Columns of keypoints."""
        return [self.keypoints.index(name) for name in names]

    def noting(self, *notes: str) -> Person:
        """The same with more to tell."""
        return replace(self, notes=(*self.notes, *notes))

    def part(self, start: float | None, stop: float | None) -> Person:
        """The frames between two times, s."""
        if start is None and stop is None:
            return self
        length = (len(self) - 1) / self.rate
        first, last = start or 0.0, length if stop is None else stop
        if not 0 <= first < last <= length + 1e-6:
            raise DataError(
                f"{self.name} lasts {length:.2f} s; a part of it from {first:g} to {last:g} s "
                "cannot be taken, give --start and --stop within it"
            )
        return self.rows(round(first * self.rate), round(last * self.rate) + 1)

    def rows(self, start: int, stop: int) -> Person:
        """Some frames in a row."""
        turns = None if self.turns is None else self.turns[start:stop]
        return replace(self, positions=self.positions[start:stop], turns=turns)

    @property
    def height(self) -> float:
        """Length of leg, trunk and neck in a row: nearly how tall the person is, in any pose."""
        reach = "head" if "head" in self.keypoints else "left_shoulder"
        chain = ("left_ankle", "left_knee", "left_hip", "pelvis", reach)
        points = self.positions[:, self.columns(chain)]
        return float(np.nanmedian(np.linalg.norm(np.diff(points, axis=1), axis=2).sum(axis=1)))
