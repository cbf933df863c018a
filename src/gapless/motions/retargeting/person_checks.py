"""What is asked of a person before anything else: gaps, the axis that is up, the unit of length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from gapless.errors import DataError
from gapless.motions.retargeting.person import Person

BRIDGED = 0.25
"""Longest gap that is bridged, s: nobody begins and ends anything new in it."""
UNITS = {"metres": 1.0, "centimetres": 0.01, "millimetres": 0.001}
HEIGHTS = 0.5, 2.5
"""How tall people, and robots that stand for them, are, m."""
Y_UP = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Axes of a world whose y is up, in which people face z, as one whose z is up and they face x."""


def checked_person(
    person: Person, scale: float | None, start: float | None, stop: float | None
) -> Person:
    """The person in metres, z up, without gaps; notes tell what was done.

    Raises:
        DataError: what cannot be mended, with the times or figures and what to type.
    """
    whole = _without_gaps(person.part(start, stop))
    return _in_metres(_upright(whole), scale)


def _without_gaps(person: Person) -> Person:
    """Short gaps bridged, ends without data cut; longer ones are refused."""
    known = np.asarray(np.isfinite(person.positions).all(axis=(1, 2)))
    if known.sum() < 2:
        raise DataError(f"{person.source}: no two frames have all keypoints as numbers")
    first, last = np.flatnonzero(known)[[0, -1]]
    notes = [
        f"{abs(b - a) / person.rate:.2f} s without numbers were cut off at the {end}"
        for end, a, b in (("beginning", 0, first), ("end", last, len(person) - 1))
        if a != b
    ]
    person, known = person.rows(first, last + 1), known[first : last + 1]
    gaps = _gaps(known)
    told = [f"{a / person.rate:.2f} to {b / person.rate:.2f} s" for a, b in gaps]
    long = [t for t, (a, b) in zip(told, gaps, strict=True) if b - a > BRIDGED * person.rate]
    if long:
        raise DataError(
            f"{person.source}: keypoints are no numbers from {', '.join(long)}; up to {BRIDGED} s "
            "are bridged. Take a part without them: --start SECONDS --stop SECONDS"
        )
    notes += [f"frames without numbers were bridged: {t}" for t in told]
    return _bridged(person, known).noting(*notes)


def _gaps(known: np.ndarray) -> list[tuple[int, int]]:
    """First frame of each gap, and the first after it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[1], known.astype(int), [1]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _bridged(person: Person, known: np.ndarray) -> Person:
    if known.all():
        return person
    time, at = np.arange(len(person)), np.flatnonzero(known)
    flat = person.positions.reshape(len(person), -1)
    places = np.stack([np.interp(time, at, column[at]) for column in flat.T], axis=1)
    turns = person.turns
    if turns is not None:
        bones = [Rotation.from_quat(turns[at, k], scalar_first=True) for k in range(turns.shape[1])]
        turned = [Slerp(at, bone)(time).as_quat(scalar_first=True) for bone in bones]
        turns = np.stack(turned, axis=1)
    return replace(person, positions=places.reshape(person.positions.shape), turns=turns)


def _upright(person: Person) -> Person:
    """z up: where heads, or shoulders, are above feet on average."""
    shoulders, feet = ("left_shoulder", "right_shoulder"), ("left_ankle", "right_ankle")
    up = (person.at(*shoulders) - person.at(*feet)).mean(axis=0)
    if abs(up[2]) >= abs(up[1]):
        return person
    return with_turned_axes(person, Y_UP).noting("y is up in the file; it was turned to z")


def with_turned_axes(person: Person, turn: np.ndarray) -> Person:
    """The same seen in other axes; (3, 3) takes old ones to new ones."""
    turns = person.turns
    if turns is not None:
        own = Rotation.from_matrix(turn)
        bones = Rotation.from_quat(turns.reshape(-1, 4), scalar_first=True)
        turns = (own * bones * own.inv()).as_quat(scalar_first=True).reshape(turns.shape)
    rest = None if person.rest is None else person.rest @ turn.T
    return replace(person, positions=person.positions @ turn.T, turns=turns, rest=rest)


def _in_metres(person: Person, scale: float | None) -> Person:
    height = person.height
    if scale is not None:
        if not 0 < scale < np.inf:
            raise DataError(f"--scale is {scale}; give metres a unit, above 0")
        return _scaled(person, scale)
    for unit, metres in UNITS.items():
        if HEIGHTS[0] <= height * metres <= HEIGHTS[1]:
            if metres == 1.0:
                return person
            note = f"lengths are in {unit}: the person measures {height:.0f} of them"
            return _scaled(person, metres).noting(note)
    scale = 1.6 / height if height > 0 else np.nan
    raise DataError(
        f"{person.source}: the person measures {height:.4g} from ankle to head, which is nobody's "
        f"height in {', '.join(UNITS)}; give the metres of a unit: --scale {scale:.3g}"
    )


def _scaled(person: Person, scale: float) -> Person:
    rest = None if person.rest is None else person.rest * scale
    return replace(person, positions=person.positions * scale, rest=rest)
