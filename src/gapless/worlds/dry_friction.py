"""Dry friction as a bound: how much a joint can hold at this moment, whatever the law.

A joint that stands is held by any torque up to the bound, a joint that moves loses the whole of it.
The engines enforce the bound in their own way; this module says how large it is. Under the motor's
torque τ it is

    stribeck_torque · exp(-(dq / stribeck_speed)²) + frictionloss
        + load_friction · |τ| + quadratic_friction · τ²

against motion the way the motor pulls, and `backdrive_friction` · |τ| more against motion the other
way, when the load drives the motor. Two bounds that differ are one bound about a torque that leans
to the side that holds more: nothing needs to know which way a standing joint would go.
"""

from __future__ import annotations

import numpy as np

from gapless.worlds.effects import Effects


class DryFriction:
    """The dry friction of the joints of n environments.

    Args:
        effects: resolved to (J,) or (n, J) arrays.
        frictionloss: (J,) or (n, J) Coulomb friction, N·m.
    """

    def __init__(self, effects: Effects, frictionloss: np.ndarray | float) -> None:
        self.frictionloss = np.asarray(frictionloss, float)
        self._excess, self._speed = effects.stribeck_torque, effects.stribeck_speed
        driving = effects.load_friction
        driven = np.maximum(driving + effects.backdrive_friction, 0.0)
        self._load, self._lean = (driven + driving) / 2, (driven - driving) / 2
        self._quadratic = effects.quadratic_friction
        self._sticks = bool(np.any(self._excess))
        self._loaded = bool(np.any(driven) or np.any(driving) or np.any(self._quadratic))
        self.leans = bool(np.any(self._lean))

    def bound(self, motor: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """(n, J) the torque that friction holds or takes away, N·m."""
        bound = self.frictionloss
        if self._sticks:
            bound = bound + self._excess * np.exp(-((dq / self._speed) ** 2))
        if self._loaded:
            load = np.abs(motor)
            bound = bound + (self._load + self._quadratic * load) * load
        return bound if bound.shape == dq.shape else np.broadcast_to(bound, dq.shape)

    def lean(self, motor: np.ndarray) -> np.ndarray:
        """(n, J) the torque about which the bound lies, N·m."""
        return self._lean * motor
