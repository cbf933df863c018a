"""Which parameters may be moved in one replay: those whose changes hardly overlap.

A gain of the left arm hardly moves the right one, so both slopes come from one replay. What moves
what is measured on a few windows, one parameter at a time; where two of a group move the same
joint after all, the change is shared out by how much each was seen to move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

OVERLAP = 0.003
"""Share of the smaller of two responses that may fall where the other acts."""

PROBES = 6
"""Windows on which what moves what is measured."""

Group = tuple[int, ...]


@dataclass(frozen=True)
class Grouping:
    """Parameters by the replay that they share.

    Attributes:
        groups: indices of parameters; each is in one group at most.
        response: (P, C) how much a step of each moves each column (a joint, a number of the base).
    """

    groups: tuple[Group, ...]
    response: np.ndarray

    @classmethod
    def single(cls, which: Sequence[int] | np.ndarray, parameters: int) -> Grouping:
        """Each of these, of so many parameters, has a replay of its own."""
        return cls(tuple((int(i),) for i in which), np.ones((parameters, 1)))

    @property
    def members(self) -> set[int]:
        """The parameters that are in a group."""
        return {i for group in self.groups for i in group}

    def shares(self, group: Group, columns: np.ndarray) -> np.ndarray:
        """(members, R) part of a group's change that is due to each member.

        Args:
            group: one of the groups.
            columns: (R,) which column each residual belongs to.
        """
        if len(group) == 1:
            return np.ones((1, len(columns)))
        own = self.response[list(group)]
        return (own / np.maximum(own.sum(axis=0), 1e-300))[:, columns]


def grouping_of(
    changes: np.ndarray, columns: np.ndarray, which: np.ndarray | None = None
) -> Grouping:
    """Put together what does not overlap: a greedy colouring, those that move most first.

    Args:
        changes: (P, n, R) what a step of each parameter does to the residuals of some windows.
        columns: (R,) which column each residual belongs to.
        which: the parameters to put into groups; all by default.
    """
    squared = (changes**2).sum(axis=1)
    response = np.stack([np.bincount(columns, weights=row) for row in squared])
    size = np.maximum(response.sum(axis=1), 1e-300)
    groups: list[list[int]] = []
    order = np.argsort(-size, kind="stable")
    order = order if which is None else order[np.isin(order, which)]
    for i in map(int, order):
        group = next((g for g in groups if not _overlaps(response, size, i, g)), None)
        if group is None:
            groups.append(group := [])
        group.append(i)
    return Grouping(tuple(tuple(g) for g in groups), response)


def _overlaps(response: np.ndarray, size: np.ndarray, i: int, members: list[int]) -> bool:
    """Whether a parameter and one of these act on the same columns."""
    common = np.minimum(response[i], response[members]).sum(axis=1)
    return bool((common > OVERLAP * np.minimum(size[i], size[members])).any())
