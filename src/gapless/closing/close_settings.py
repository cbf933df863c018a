"""What `close` chooses by itself, from what the recordings are of; all of it can be overruled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from gapless.corrections.models import model_of
from gapless.errors import DataError, unknown
from gapless.parameters import parameters_of
from gapless.recordings.recording import Recording
from gapless.robots import Robot

LOADED = ("strength", "damping", "armature", "frictionloss", "encoder_bias", "delay@all")
"""Identified where loads are stated: a motor's strength scales its limit too, which they reach."""

GENTLE = {"horizons": (0.3, 0.6), "iterations": 150, "samples": 6000, "rate": 1e-3}
"""Settings of the trainer: after identification little is left to learn."""

THOROUGH = {"horizons": (0.5, 1.0, 1.0), "samples": 16000, "noise": 0.05, "outlier": 0.1}
"""Where nobody says what is carried: identification cannot tell loads apart, and leaves much."""


@dataclass(frozen=True)
class CloseSettings:
    """How a gap is closed.

    Attributes:
        parameters: what is identified.
        horizon: seconds of the replays that are fitted, learned from and judged by.
        windows: stretches that are fitted.
        model: of the correction.
        model_settings: of the model.
        members: networks of its ensemble.
        trainer_settings: of the gradient trainer.
        held_out: share of the motions that judge.
        units: judge only by these units, and learn only from the others.
        physics_step: longest physics step, s.
        seed: of the split and the training.
    """

    parameters: tuple[str, ...] = ("actuators",)
    horizon: float = 1.0
    windows: int = 48
    model: str = "actuator"
    model_settings: dict[str, Any] = field(default_factory=dict)
    members: int = 2
    trainer_settings: dict[str, Any] = field(default_factory=lambda: dict(GENTLE))
    held_out: float = 0.25
    units: tuple[str, ...] = ()
    physics_step: float = 0.002
    seed: int = 0

    def with_others(self, others: dict[str, Any]) -> CloseSettings:
        """The same with some overruled; names that do not exist are refused."""
        known = [f.name for f in fields(self)]
        for name in others:
            if name not in known:
                raise unknown("choice", name, known)
        if others.get("model", self.model) != self.model:  # settings are those of a model
            seen = "payload" in self.model_settings.get("now", ())
            own = {"payload": seen} if others["model"] == "operator" else {}
            others = {"model_settings": own, **others}
        return replace(self, **others)

    def refuse_unknown(self, robot: Robot) -> None:
        """Refuse, before the work starts, names that do not exist."""
        from gapless.corrections.training import trainer_of

        parameters_of(robot, self.parameters)
        model_of(self.model, self.model_settings)
        trainer_of("gradient", self.trainer_settings)


def suited(recordings: Sequence[Recording], robot: Robot) -> CloseSettings:
    """Choices for a robot and what was recorded of it."""
    found = CloseSettings(horizon=_horizon(recordings))
    loads = _stated(recordings)
    if loads is None:
        # What a joint hangs below its target at the start tells what it carries.
        seen = {"now": ("q", "dq", "error", "start_error")}
        found = replace(found, model_settings=seen, trainer_settings=dict(THOROUGH))
    elif loads:
        # A load sits at the mass centre of the link that holds it.
        held = [f"{kind}/{link}" for link in loads for kind in ("mass", "com_x", "com_y", "com_z")]
        seen = {"now": ("q", "dq", "error", "payload")}
        found = replace(found, parameters=(*LOADED, *held), model_settings=seen)
    if robot.mount == "free":
        found = replace(found, horizon=min(found.horizon, 0.5), physics_step=0.004)
    return found


def _horizon(recordings: Sequence[Recording]) -> float:
    """One second, or most of what the recordings last."""
    lengths = [r.duration for r in recordings if r.target is not None]
    if not lengths:
        raise DataError("no recording has commands, so there is nothing to replay and learn from")
    return float(min(1.0, np.floor(9 * np.median(lengths)) / 10))


def _stated(recordings: Sequence[Recording]) -> list[str] | None:
    """Links that carry something; None where some recording does not say."""
    carried = [r.conditions.payloads for r in recordings]
    if any(p is None for p in carried):
        return None
    return list(dict.fromkeys(link for p in carried if p for link, load in p.items() if load.mass))
