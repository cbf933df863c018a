"""How a gap is closed: what `close` sets by itself from what was recorded, unless told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gapless.corrections.correcting import CorrectSettings
from gapless.corrections.models import model_of
from gapless.corrections.shared_motors import FEW
from gapless.errors import DataError, GaplessError, require_number
from gapless.identification import IdentifySettings
from gapless.identification.plans.ladder import AUTO
from gapless.identification.plans.rungs import stated_loads
from gapless.parameters import parameters_of
from gapless.recordings.recording import Recording
from gapless.recordings.splitting import SHARE
from gapless.robots import Robot

GENTLE = {"horizons": (0.3, 0.6), "iterations": 150, "samples": 6000, "rate": 1e-3}
"""Settings of the trainer: after identification little is left to learn."""

THOROUGH = {"horizons": (0.5, 1.0, 1.0), "samples": 16000, "noise": 0.05, "outlier": 0.1}
"""Where nobody says what is carried: identification cannot tell loads apart, and leaves much."""


@dataclass(frozen=True)
class CloseSettings:
    """How a gap is closed; None leaves a setting to what suits the recordings.

    Attributes:
        parameters: what is identified; "auto" is a ladder that finds out what helps.
        horizon: seconds of the replays that are fitted, learned from and judged by.
        windows: most that are fitted.
        model: of the correction.
        model_settings: of the model.
        members: networks of its ensemble.
        trainer_settings: of the gradient trainer.
        learn: patterns of the motions that teach and choose; all others are held out, or those
            that `test` names. None of them is as the shares say.
        test: share of the motions that are held out and only reported, or patterns of their names.
        choose: share of the others that decide what is kept.
        units: test only on these units, and learn only from the others.
        physics_step: longest physics step, s.
        seed: of the split and the training.
    """

    parameters: tuple[str, ...] | None = None
    horizon: float | None = None
    windows: int = 48
    model: str = "actuator"
    model_settings: dict[str, Any] | None = None
    members: int = 2
    trainer_settings: dict[str, Any] | None = None
    learn: tuple[str, ...] = ()
    test: float | tuple[str, ...] = SHARE
    choose: float = SHARE
    units: tuple[str, ...] = ()
    physics_step: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require_number("windows", self.windows, least=1)
        require_number("members", self.members, least=1)
        require_number("seed", self.seed, least=0)
        for name in ("horizon", "physics_step"):
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), above=0.0)
        for name, kind, such in (
            ("parameters", tuple, '["kp"]'),
            ("model_settings", dict, "{}"),
            ("trainer_settings", dict, '{"iterations": 50}'),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind | None):
                raise GaplessError(f"{name} is {value!r}; expected such as {such}")

    def suited_to(self, recordings: Sequence[Recording], robot: Robot) -> CloseSettings:
        """The same with everything set, for a robot and what was recorded of it."""
        usual = _usual(recordings, robot, self.model)
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        found = replace(self, **{k: usual[k] for k in usual if own[k] is None})
        found.refuse_unknown(robot)
        return found

    def refuse_unknown(self, robot: Robot) -> None:
        """Refuse, before the work starts, names that do not exist."""
        from gapless.corrections.training import trainer_of

        if self.parameters != (AUTO,):
            parameters_of(robot, self.parameters or ())
        model_of(self.model, self.model_settings)
        trainer_of("gradient", self.trainer_settings)

    @property
    def identification(self) -> IdentifySettings:
        """How parameters are fitted."""
        return IdentifySettings(
            horizon=self.horizon or 1.0,
            windows=self.windows,
            physics_step=self.physics_step or 0.002,
        )

    @property
    def correction(self) -> CorrectSettings:
        """How what is left is learned."""
        return CorrectSettings(
            model=self.model,
            model_settings=self.model_settings or {},
            members=self.members,
            horizon=self.horizon or 1.0,
            trainer_settings=self.trainer_settings or {},
        )


def _usual(recordings: Sequence[Recording], robot: Robot, model: str) -> dict[str, Any]:
    """What suits a robot and what was recorded of it."""
    free, loads = robot.mount == "free", _stated(recordings)
    horizon = _horizon(recordings)
    found: dict[str, Any] = {
        "parameters": (AUTO,),
        "horizon": min(horizon, 0.5) if free else horizon,
        "model_settings": {},
        "trainer_settings": dict(GENTLE),
        "physics_step": 0.004 if free else 0.002,
    }
    seen: tuple[str, ...] = ("payload",) if loads else ()
    if loads is None:
        # What a joint hangs below its target at the start tells what it carries.
        seen, found["trainer_settings"] = ("start_error",), dict(THOROUGH)
    if model == "operator":
        found["model_settings"] = {"payload": bool(loads)}
    elif seen:
        found["model_settings"] = {"now": ("q", "dq", "error", *seen)}
    if model == "actuator":
        # Joints with the same motor share a network where there is less than SECONDS_A_JOINT of
        # learning for each; where that is too little for every motor, `left_out` picks joints.
        found["model_settings"] |= {"share": FEW}
    return found


def _horizon(recordings: Sequence[Recording]) -> float:
    """One second, or most of what the recordings last."""
    lengths = [r.duration for r in recordings if r.target is not None]
    if not lengths:
        raise DataError("no recording has commands, so there is nothing to replay and learn from")
    return float(min(1.0, np.floor(9 * np.median(lengths)) / 10))


def _stated(recordings: Sequence[Recording]) -> list[str] | None:
    """Links that carry something; None where some recording does not say."""
    unknown = any(r.conditions.payloads is None for r in recordings)
    return None if unknown else stated_loads(recordings)
