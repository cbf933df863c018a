"""Readings of a sensor that is read more rarely than the joints: what lies between them."""

from __future__ import annotations

import numpy as np

from gapless.recordings.preparation.orientation import renewed
from gapless.robots.rotations import conj, mul, normalise, rotation_vector


def between_readings(quat: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(T, 4) orientations that turn evenly from each reading to the next.

    A log repeats the last reading until there is another. The one that is half a second old is no
    better than the one that comes half a second later. A robot none of whose encoders changed
    meanwhile rested: there was nothing new.

    Args:
        quat: (T, 4) unit quaternions, wxyz, repeated while there was no new one.
        q: (T, J) joint positions, read at every sample.
    """
    at = np.flatnonzero(renewed(quat))
    if len(at) in (1, len(quat)):
        return quat
    time = np.arange(len(quat))
    which = np.clip(np.searchsorted(at, time, side="right") - 1, 0, len(at) - 2)
    first, last = quat[at[which]], quat[at[which + 1]]
    share = np.clip((time - at[which]) / (at[which + 1] - at[which]), 0.0, 1.0)
    changes = np.cumsum(renewed(q))
    rested = changes[at[which + 1] - 1] == changes[at[which]]
    share = np.where(rested, np.floor(share), share)
    return mul(first, _turn(share[:, None] * rotation_vector(mul(conj(first), last))))


def _turn(vectors: np.ndarray) -> np.ndarray:
    """(T, 4) quaternions of (T, 3) rotation vectors."""
    angle = np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalise(np.hstack([np.cos(angle / 2), 0.5 * np.sinc(angle / 2 / np.pi) * vectors]))
