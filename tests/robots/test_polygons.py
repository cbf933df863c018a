"""Convex polygons of fewer corners: what is lost, what is won, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.robots.polygons import AREA, OUTWARD, area, outline, outside, simplified

TOLERANCE = 0.003
AROUND = np.linspace(0, 2 * np.pi, 40, endpoint=False)
CIRCLE = np.stack([np.cos(AROUND), np.sin(AROUND)], axis=1)
BOX = np.array([[-0.1, -0.04], [0.1, -0.04], [0.1, 0.04], [-0.1, 0.04]])
ROUNDED = outline((BOX[:, None] * [0.95, 0.9] + 0.004 * CIRCLE).reshape(-1, 2))


def turned(points: np.ndarray, angle: float) -> np.ndarray:
    """About the origin, then moved away from it."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, s], [-s, c]]) + [0.2, -0.1]


def test_area_and_distance_from_a_polygon() -> None:
    """Of a square whose corners are known."""
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert area(square) == pytest.approx(1.0)
    points = np.array([[0.5, 0.5], [1.0, 0.3], [1.5, 0.5], [2.0, 2.0]])
    np.testing.assert_allclose(outside(points, square), [0, 0, 0.5, 2**0.5], atol=1e-12)
    assert outline(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])) is None
    assert outline(np.zeros((1, 2))) is None


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
@pytest.mark.parametrize(
    ("shape", "corners"), [(0.02 * CIRCLE, 5), (0.03 * CIRCLE, 6), (ROUNDED, 4)]
)
def test_few_corners_do_within_the_tolerance(shape: np.ndarray, corners: int, angle: float) -> None:
    """Nothing is lost by more than the tolerance, the area stays, wherever the polygon lies."""
    polygon = turned(shape, angle)
    found = simplified(polygon, TOLERANCE)
    assert found is not None and len(found) == corners
    assert outside(polygon, found).max() <= TOLERANCE
    assert outside(found, polygon).max() <= OUTWARD * TOLERANCE
    assert area(found) == pytest.approx(area(polygon), rel=AREA)


def test_a_mirror_stays_one() -> None:
    """A foot that is the same left and right is so afterwards."""
    half = np.array([[-0.05, 0.01], [-0.044, 0.018], [0.05, 0.026], [0.1, 0.026], [0.13, 0.01]])
    polygon = outline(np.concatenate([half, half * [1, -1]]))
    assert polygon is not None
    found = simplified(polygon, TOLERANCE)
    assert found is not None
    away = np.linalg.norm((found * [1, -1])[:, None] - found, axis=-1).min(axis=1)
    assert away.max() < 1e-4


def test_what_has_few_corners_stays_and_what_needs_many_is_not_forced() -> None:
    """A box is itself; a large disc cannot be six points."""
    np.testing.assert_array_equal(simplified(BOX, TOLERANCE), BOX)
    hexagon = 0.1 * CIRCLE[::7][:6]
    np.testing.assert_array_equal(simplified(hexagon, TOLERANCE), hexagon)
    assert simplified(0.2 * CIRCLE, TOLERANCE) is None


def test_what_was_found_once_is_nobodys_to_change() -> None:
    """The same polygon asked for again gives the same, whatever became of the first answer."""
    first = simplified(ROUNDED, TOLERANCE)
    assert first is not None
    kept = first.copy()
    first += 1.0
    np.testing.assert_array_equal(simplified(ROUNDED, TOLERANCE), kept)
