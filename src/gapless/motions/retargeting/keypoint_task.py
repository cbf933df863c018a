"""Keypoints and bones as one task of mink's inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mink
import mujoco
import numpy as np

from gapless.robots.joints import TrackingPoint
from gapless.robots.rotations import conj, mul, rotation_vector


class KeypointTask(mink.Task):
    """Brings points of links to places, and links to orientations, in the world.

    Args:
        model: the robot's.
        points: whose places are asked for.
        links: whose orientations are asked for.

    Attributes:
        places: (P, 3) wanted.
        turns: (L, 4) wanted, wxyz.
        weights: (P,) of the places; those of metres are near one.
        turn_weights: (L,) of the orientations, m/rad.
    """

    def __init__(
        self, model: mujoco.MjModel, points: Sequence[TrackingPoint], links: Sequence[str]
    ) -> None:
        super().__init__(cost=np.ones(3 * (len(points) + len(links))), lm_damping=0.0)
        self._model = model
        self._bodies = [model.body(point.body).id for point in points]
        self._offsets = np.array([point.offset for point in points])
        self._links = [model.body(link).id for link in links]
        self.places, self.turns = np.zeros((len(points), 3)), np.zeros((len(links), 4))
        self.turns[:, 0] = 1.0
        self.weights, self.turn_weights = np.ones(len(points)), np.zeros(len(links))

    def seen(self, data: mujoco.MjData) -> np.ndarray:
        """(P, 3) where the points are."""
        frames = data.xmat[self._bodies].reshape(-1, 3, 3)
        return data.xpos[self._bodies] + np.einsum("pij,pj->pi", frames, self._offsets)

    def compute_error(self, configuration: Any) -> np.ndarray:
        """(3 (P + L),) what is left, weighted."""
        data = configuration.data
        away = self.weights[:, None] * (self.seen(data) - self.places)
        turned = rotation_vector(mul(data.xquat[self._links], conj(self.turns)))
        return np.concatenate([away, self.turn_weights[:, None] * turned]).ravel()

    def compute_jacobian(self, configuration: Any) -> np.ndarray:
        """(3 (P + L), nv) how it changes."""
        data, model = configuration.data, self._model
        slopes = np.zeros((len(self.cost), model.nv))
        for i, (body, place) in enumerate(zip(self._bodies, self.seen(data), strict=True)):
            rows = slopes[3 * i : 3 * i + 3]
            mujoco.mj_jac(model, data, rows, None, place, body)
            rows *= self.weights[i]
        first = 3 * len(self._bodies)
        for i, body in enumerate(self._links):
            if self.turn_weights[i]:
                rows = slopes[first + 3 * i : first + 3 * i + 3]
                mujoco.mj_jacBody(model, data, None, rows, body)
                rows *= self.turn_weights[i]
        return slopes
