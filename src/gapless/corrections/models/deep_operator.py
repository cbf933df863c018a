"""GAPONet's operator network: how the simulator would answer probes, times what is commanded.

The branch reads "sensors": how joints respond to fixed probe offsets of their targets. A predictor
that is fitted in the simulator alone gives them from the state and its history, so no probing is
needed in use. The trunk reads the command (and the payload). Their products, `basis` a joint, sum
to the correction. For another unit or robot only the predictor is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.models.model import (
    Inputs,
    Weights,
    columns_of_joints,
    dense,
    joint_layers,
    layers,
)
from gapless.corrections.runtime.array_ops import Array, elu


@dataclass(frozen=True)
class Operator:
    """Sensor predictor, branch and trunk.

    Attributes:
        basis: products a joint.
        probes: positions of the probes.
        predictor: hidden sizes of the sensor predictor.
        branch: hidden sizes of the branch (the paper: three of 256).
        trunk: hidden sizes of the trunk (the paper: three of 128).
        history: frames that the predictor sees.
        payload: whether the trunk sees the mass that is carried.
        trunk_inputs: what the trunk sees beside it: the command, here as target - q (the paper
            has the target, from which the same can be had less easily).
        absolute: sensors are the states after a probe, rather than their change.
        fitted: the predictor is fitted to probes of the simulator and then stays; otherwise it
            learns with the rest, and means nothing by itself.
        local: each joint has a branch and a trunk of its own, which read that joint's answers and
            command alone (the paper: those of all). What a drive does holds on motions that were
            never seen; what all joints do together is soon learned by heart.
    """

    basis: int = 16
    probes: int = 20
    predictor: tuple[int, ...] = (128, 128)
    branch: tuple[int, ...] = (32, 32)
    trunk: tuple[int, ...] = (32, 32)
    history: int = 4
    payload: bool = True
    trunk_inputs: tuple[str, ...] = ("error",)
    absolute: bool = False
    fitted: bool = True
    local: bool = True

    @property
    def inputs(self) -> dict[str, Inputs]:
        """What the predictor sees, and what the trunk sees."""
        loaded = (*self.trunk_inputs, *(("payload",) if self.payload else ()))
        return {
            "sensed": Inputs(("q",), ("q", "dq", "target"), self.history),
            "asked": Inputs(loaded),
        }

    @property
    def frozen(self) -> tuple[str, ...]:
        """The predictor, where it was fitted to the simulator."""
        return ("predictor.",) if self.fitted else ()

    @property
    def joint_by_joint(self) -> bool:
        """The predictor sees all joints at once."""
        return False

    def initial(
        self, widths: dict[str, int], outputs: int, members: int, rng: np.random.Generator
    ) -> Weights:
        """Weights to begin with."""
        joints = widths["sensed"] // (1 + 3 * self.history)
        sensors = self.probes * 2 * joints
        found = layers("predictor", [widths["sensed"], *self.predictor, sensors], members, rng)
        if self.local:
            asked = columns_of_joints(self.inputs["asked"], widths["asked"]).shape[1]
            shape = members, joints, rng
            branch = [2 * self.probes, *self.branch, self.basis]
            found |= joint_layers("branch", branch, *shape)
            return found | joint_layers(
                "trunk", [asked, *self.trunk, self.basis], *shape, silent=True
            )
        terms = self.basis * outputs
        found |= layers("branch", [sensors, *self.branch, terms], members, rng)
        sizes = [widths["asked"], *self.trunk, terms]
        return found | layers("trunk", sizes, members, rng, silent=True)

    def hidden(self, environments: int, members: int) -> None:
        """Nothing is remembered but the frames."""

    def __call__(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, None]:
        """Products of branch and trunk, summed over the basis."""
        sensors, asked = self.sensors(weights, given["sensed"]), given["asked"]
        if self.local:
            answers = sensors.reshape(*sensors.shape[:-1], 2 * self.probes, -1)
            branch = elu(dense(weights, "branch", _joints_first(answers.swapaxes(-1, -2))))
            own = asked[..., columns_of_joints(self.inputs["asked"], asked.shape[-1])]
            terms = branch * dense(weights, "trunk", _joints_first(own))
            return terms.sum(-1).swapaxes(-1, -2), None
        terms = elu(dense(weights, "branch", sensors)) * dense(weights, "trunk", asked)
        return terms.reshape(*terms.shape[:-1], self.basis, -1).sum(-2), None

    def sensors(self, weights: Weights, sensed: Array) -> Array:
        """(members, n, probes · 2J) the predicted answers to the probes, normalised."""
        return dense(weights, "predictor", sensed)


def _joints_first(x: Array) -> Array:
    """(..., J, n, d) of (..., n, J, d)."""
    return x.swapaxes(-2, -3)
