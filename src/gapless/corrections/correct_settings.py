"""The settings of a correction: what is learned, and how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from gapless.corrections.payload_input import payload_inputs
from gapless.corrections.shared_motors import with_numbers
from gapless.corrections.training.untrained import corrected_joints
from gapless.errors import require_number
from gapless.recordings.split import Split
from gapless.robots import Robot
from gapless.worlds.world import World


@dataclass(frozen=True)
class CorrectSettings:
    """What is learned, and how.

    Attributes:
        model: operator, actuator, mlp or gru.
        head: action, torque or state.
        trainer: gradient, inverse, autoregressive or ppo.
        joints: names or groups of the joints that are corrected; "all" is all.
        bound: largest output: rad for an action, share of the limit for a torque, deviations of
            the one-step error for a state.
        rate_limit: largest change of an output a step, as a share of its bound.
        hold: control steps that an output is held.
        members: networks in the ensemble.
        horizon: seconds of an episode, and of the replays it is judged by.
        payload: look at the mass that is carried, where recordings state it and some carry one.
        model_settings: of the model.
        trainer_settings: of the trainer.
    """

    model: str = "operator"
    head: str = "action"
    trainer: str = "gradient"
    joints: tuple[str, ...] = ("all",)
    bound: float | None = None
    rate_limit: float | None = None
    hold: int = 1
    members: int = 2
    horizon: float = 1.0
    payload: bool = True
    model_settings: dict[str, Any] = field(default_factory=dict)
    trainer_settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_number("members", self.members, least=1)
        require_number("hold", self.hold, least=1)
        require_number("horizon", self.horizon, above=0.0)

    def suited_to(self, split: Split, seconds: float, robot: Robot | World) -> CorrectSettings:
        """The same with a model that fits what the recordings state, and how many they are.

        Args:
            split: the recordings, of which those that teach and choose count; what was asked for
                comes before what they suggest.
            seconds: of data that every training has.
            robot: nominal: its motors say which joints may share a network.
        """
        seen = chain(split.learn, split.choose)
        model = payload_inputs(self.model, seen, self.payload) | self.model_settings
        nominal = robot if isinstance(robot, Robot) else robot.robot
        joints = corrected_joints(nominal, self.joints)
        return replace(self, model_settings=with_numbers(model, nominal, len(joints), seconds))
