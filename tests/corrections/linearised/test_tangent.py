"""Rotations as vectors."""

from __future__ import annotations

import numpy as np

from gapless.corrections.linearised.tangent import quaternion
from gapless.robots.rotations import rotation_vector


def test_vectors_and_quaternions_are_inverse() -> None:
    """From a vector to a quaternion and back, at all sizes below half a turn."""
    rng = np.random.default_rng(0)
    axis = rng.standard_normal((100, 3))
    size = np.concatenate([np.geomspace(1e-12, 3.1, 99), [0.0]])[:, None]
    vector = size * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    found = quaternion(vector)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(rotation_vector(found), vector, rtol=1e-7, atol=1e-15)


def test_a_rotation_goes_the_short_way() -> None:
    """Both signs of a quaternion are the same rotation, of less than half a turn."""
    turn = quaternion(np.array([0.3, -0.2, 0.1]))
    np.testing.assert_allclose(rotation_vector(-turn), [0.3, -0.2, 0.1], atol=1e-12)
