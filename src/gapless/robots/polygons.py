"""Convex polygons in a plane, and like ones of fewer corners.

How far a polygon reaches in every direction says all about it. What is fitted here is that reach:
the largest difference of two reaches is the largest distance by which one polygon leaves the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

FEWEST, MOST = 4, 6
"""Corners that are tried."""
OUTWARD = 1.25
"""A new corner may lie this many tolerances outside; a corner that is lost, one inside."""
AREA = 0.02
"""Share of the area by which the new polygon may differ."""
DIRECTIONS = 240
"""In which reaches are compared."""
AREA_COUNTS = 5.0
"""Weight of what the area differs by beyond half of that, against the mean of the differences."""
POWERS = 1, 2, 4, 8
"""Of the differences that are minimised one after the other: the last is nearly the largest."""


def outline(points: np.ndarray) -> np.ndarray | None:
    """(V, 2) corners of the hull of (N, 2) points, counter-clockwise; None if they are in line."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return None


def area(corners: np.ndarray) -> float:
    """Of a polygon whose (V, 2) corners are counter-clockwise."""
    x, y = corners.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def outside(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(N,) distances of (N, 2) points from a polygon; 0 inside."""
    edges = np.roll(corners, -1, axis=0) - corners
    arms = points[:, None] - corners
    along = (arms * edges).sum(axis=-1) / np.maximum((edges**2).sum(axis=-1), 1e-18)
    away = np.linalg.norm(arms - np.clip(along, 0, 1)[..., None] * edges, axis=-1).min(axis=1)
    left = edges[:, 0] * arms[..., 1] - edges[:, 1] * arms[..., 0]
    return np.where((left >= 0).all(axis=1), 0.0, away)


def simplified(corners: np.ndarray, tolerance: float) -> np.ndarray | None:
    """A polygon of as few corners as do: it loses no point by more than the tolerance.

    Args:
        corners: (V, 2) of a convex polygon, counter-clockwise, m.
        tolerance: m.

    Returns:
        4 to 6 corners, or those that were given where they are no more; None where more are needed.
    """
    if len(corners) <= FEWEST:
        return corners
    fewer = _fewer(tuple(map(tuple, corners.tolist())), tolerance)
    if fewer is not None:
        return np.array(fewer)
    return corners if len(corners) <= MOST else None


@lru_cache(maxsize=64)
def _fewer(given: tuple[tuple[float, ...], ...], tolerance: float) -> list[list[float]] | None:
    """Corners that do. A sole takes a second, and every training of a robot asks for its own."""
    corners = np.array(given)
    for count in range(FEWEST, min(MOST, len(corners) - 1) + 1):
        for fitted in _fits(corners, count, tolerance):
            if _alike(fitted, corners, tolerance):
                return fitted.tolist()
    return None


def _alike(fitted: np.ndarray, corners: np.ndarray, tolerance: float) -> bool:
    lost, won = outside(corners, fitted).max(), outside(fitted, corners).max()
    near = lost <= tolerance and won <= OUTWARD * tolerance
    return bool(near and abs(area(fitted) / area(corners) - 1) <= AREA)


def _fits(corners: np.ndarray, count: int, tolerance: float) -> Iterator[np.ndarray]:
    """Polygons of so many corners; first with an edge, then with a corner across the long axis."""
    middle = corners.mean(axis=0)
    around = np.arange(0.5, DIRECTIONS) / DIRECTIONS
    angles = 2 * np.pi * around + _long_axis(corners - middle)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for turn in (0.5, 0.0):
        # Of the directions around each of the corners, which is then where their reaches meet.
        of = np.round(around * count - turn).astype(int) % count
        fitted = _fit(corners - middle, directions, of, tolerance) + middle
        hull = outline(fitted)
        if hull is not None and len(hull) == count:
            yield hull


def _long_axis(centred: np.ndarray) -> float:
    """Angle of the longest axis of points, so that a polygon with a mirror has one afterwards."""
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    return float(np.arctan2(*(axis * np.sign(axis[np.abs(axis).argmax()]))[::-1]))


def _fit(
    corners: np.ndarray, directions: np.ndarray, of: np.ndarray, tolerance: float
) -> np.ndarray:
    """Corners whose reach is nearest, each begun by the directions that are its own."""
    from scipy.optimize import least_squares

    reach, size = (directions @ corners.T).max(axis=1), area(corners)
    groups = [of == k for k in range(of.max() + 1)]
    found = np.array([np.linalg.lstsq(directions[g], reach[g])[0] for g in groups])

    def differences(flat: np.ndarray, power: int) -> np.ndarray:
        fitted = flat.reshape(-1, 2)
        over = ((directions @ fitted.T).max(axis=1) - reach) / tolerance
        over = np.where(over > 0, over / OUTWARD, over)
        grown = area(fitted) / size - 1
        beyond = grown - np.clip(grown, -AREA / 2, AREA / 2)
        return np.append(
            np.sign(over) * np.abs(over) ** power / DIRECTIONS**0.5, AREA_COUNTS * beyond / AREA
        )

    for power in POWERS:
        best = least_squares(
            differences, found.ravel(), x_scale=tolerance, max_nfev=100, args=(power,)
        )
        found = best.x.reshape(-1, 2)
    return found
