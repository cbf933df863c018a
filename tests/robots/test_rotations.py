"""Quaternion helpers obey the axioms of rotations."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.robots import rotations as rot

ANGLES = st.floats(-3.0, 3.0)


def random_quats(seed: int, n: int = 20) -> np.ndarray:
    """Random orientations (n, 4)."""
    return rot.normalise(np.random.default_rng(seed).normal(size=(n, 4)))


def test_rotating_twice_equals_rotating_by_the_product():
    """mul(a, b) turns by b first, then by a."""
    a, b = random_quats(0), random_quats(1)
    v = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(
        rot.rotate(a, rot.rotate(b, v)), rot.rotate(rot.mul(a, b), v), atol=1e-12
    )


def test_conjugate_undoes_a_rotation():
    """A rotation followed by its conjugate changes nothing."""
    q = random_quats(3)
    np.testing.assert_allclose(rot.mul(rot.conj(q), q), np.tile([1, 0, 0, 0], (20, 1)), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(ANGLES)
def test_angle_between_returns_the_turn(angle):
    """The angle of a turn about an axis is the turn's size, whatever the sign of the quaternion."""
    q = random_quats(4, 1)[0]
    turned = rot.mul(q, rot.about(np.array([0.0, 0.6, 0.8]), angle))
    assert abs(rot.angle_between(q, -turned) - abs(angle)) < 1e-7
