"""The contract of a correction: for which robot and rate, what it sees, what it gives, how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.corrections.models import Model, model_of
from gapless.corrections.runtime.signals import width
from gapless.corrections.runtime.state_columns import all_columns
from gapless.errors import FormatError, ModelError

if TYPE_CHECKING:
    from gapless.worlds.world import World

HEADS = ("action", "torque", "state")
"""What a correction adds to: the targets (rad), the joints' torques (N·m), or the state."""


@dataclass(frozen=True)
class Contract:
    """Everything a world must agree to.

    Attributes:
        robot: name of the robot.
        model_hash: of the world's model, which a calibration may have changed.
        effects_hash: of its actuator effects.
        joints: of the robot, in order: columns of every signal.
        rate: corrections a second.
        head: action, torque or state.
        outputs: joints that are corrected; for a state, names of its columns.
        model: name of the network.
        settings: of the network.
        bound: (K,) largest output, rad, N·m or the state's units.
        rate_limit: largest change of an output from one correction to the next, as a share of
            its bound; infinite where there is none.
        hold: control steps that an output is held.
        members: networks in the ensemble.
    """

    robot: str
    model_hash: str
    effects_hash: str
    joints: tuple[str, ...]
    rate: float
    head: str
    outputs: tuple[str, ...]
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    bound: tuple[float, ...] = ()
    rate_limit: float | None = None
    hold: int = 1
    members: int = 1

    @property
    def network(self) -> Model:
        """The network that it names."""
        return model_of(self.model, self.settings)

    @property
    def widths(self) -> dict[str, int]:
        """Columns of each input of the network."""
        joints, outputs = len(self.joints), len(self.outputs)
        found = {}
        for name, given in self.network.inputs.items():
            now = sum(width(s, joints, outputs) for s in given.now)
            past = sum(width(s, joints, outputs) for s in given.past)
            found[name] = now + given.history * past
        return found

    @property
    def history(self) -> int:
        """Earlier frames that the network sees."""
        return max(i.history for i in self.network.inputs.values())

    @property
    def signals(self) -> tuple[str, ...]:
        """Every signal that the network sees."""
        seen = self.network.inputs.values()
        return tuple(dict.fromkeys(name for given in seen for name in given.names))

    @property
    def frozen(self) -> tuple[str, ...]:
        """Beginnings of the names of weights that a trainer leaves alone."""
        return self.network.frozen

    @property
    def columns(self) -> np.ndarray:
        """Where the outputs are: among the robot's joints, or among the columns of its state."""
        known = self.every_output
        return np.array([known.index(name) for name in self.outputs])

    @property
    def every_output(self) -> tuple[str, ...]:
        """What a world takes from this head: a column a joint, or all of a state's."""
        return all_columns(self.joints, self.outputs) if self.head == "state" else self.joints

    def steps_of(self, rate: float) -> int:
        """Control steps of a world from one correction to the next."""
        return max(1, round(rate / self.rate))

    def require(self, world: World, effects_hash: str | None = None) -> None:
        """Refuse a world that it was not made for.

        Args:
            world: that is to be corrected.
            effects_hash: another one that will do: of the world with earlier corrections.
        """
        identity, wrong = world.identity, []
        if identity.robot != self.robot:
            wrong.append(f"it is of robot {self.robot!r}, the world's is {identity.robot!r}")
        elif world.robot.joints.names != self.joints:
            wrong.append(_joints_differ(self.joints, world.robot.joints.names))
        else:
            known = identity.effects_hash, effects_hash
            wrong += self._figures_differ(identity.model_hash, known)
        wrong += self._rates_differ(world.rate)
        if wrong:
            raise ModelError("this correction does not fit this world: " + "; ".join(wrong))

    def require_rate(self, rate: float) -> None:
        """Refuse a rate that is no multiple of its own."""
        if wrong := self._rates_differ(rate):
            raise ModelError("this correction does not fit this world: " + "; ".join(wrong))

    def _rates_differ(self, rate: float) -> list[str]:
        every = rate / self.rate
        if np.isclose(every, round(every)) and every > 0.99:
            return []
        return [
            f"it acts at {self.rate:g} Hz, the world at {rate:g} Hz: use a world whose rate is a "
            f"multiple of {self.rate:g} Hz"
        ]

    def _figures_differ(self, model_hash: str, effects_hashes: tuple[str | None, ...]) -> list[str]:
        if model_hash == self.model_hash and self.effects_hash in effects_hashes:
            return []
        return [
            "it was trained on top of other parameters of the robot (another calibration, payload "
            "or model file); use the --calibration it was trained with, or train it again"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Contract:
        """Inverse of `to_dict`."""
        listed = ("joints", "outputs", "bound")
        try:
            found = cls(**{**data, **{k: tuple(data[k]) for k in listed}})
            _ = found.network
        except (TypeError, KeyError) as error:
            raise FormatError(f"the contract of a correction is damaged: {error!r}") from error
        return found

    def on(self, world: World) -> Contract:
        """The same for another world of the same joints."""
        identity = world.identity
        return replace(
            self,
            robot=identity.robot,
            model_hash=identity.model_hash,
            effects_hash=identity.effects_hash,
            joints=world.robot.joints.names,
        )


def _joints_differ(mine: Sequence[str], theirs: Sequence[str]) -> str:
    missing = [j for j in mine if j not in theirs]
    added = [j for j in theirs if j not in mine]
    if not missing and not added:
        return "the joints are the same but in another order"
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has {', '.join(added)} beside"] if added else []
    return f"the world's robot {' and '.join(parts)}; lock the same joints"
