"""The options of `gapless correct`, and what they mean to the library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.cli.correction_option import settings_of
from gapless.cli.place_option import Placed
from gapless.cli.split_option import Learning

if TYPE_CHECKING:
    from gapless.corrections.correcting import CorrectSettings


@dataclass(frozen=True, kw_only=True)
class Correct(Learning, Placed):
    """Learn a correction of a simulator from recordings; motions it was not trained on decide.

    Stopped or killed, the same command resumes. With --on, the training is a task, and where
    motions choose in turn each of theirs is another.
    """

    out: Path
    """Folder for the correction: weights (safetensors) and contract (JSON)."""
    calibration: Path | None = None
    """File of gapless identify: learn what is left with the identified parameters."""
    loaded: bool = False
    """With the load that a two-stage calibration found, on the recordings that carry one."""
    model: str = "operator"
    """operator, actuator, mlp or gru."""
    head: str = "action"
    """What is corrected: action, torque or state."""
    trainer: str = "gradient"
    """gradient, inverse, autoregressive or ppo."""
    joints: tuple[str, ...] = ("all",)
    """Joints or joint groups that are corrected."""
    horizon: float = 1.0
    """Seconds of an episode, and of the replays it is judged by."""
    members: int = 2
    """Networks in the ensemble."""
    bound: float | None = None
    """Largest output: rad for an action, share of the motor's limit for a torque."""
    rate_limit: float | None = None
    """Largest change of an output a step, as a share of its bound."""
    hold: int = 1
    """Control steps that an output is held."""
    history: int | None = None
    """Earlier frames that an operator, actuator or mlp sees."""
    payload: bool = True
    """Look at the mass that is carried, where all recordings state it and some carry one."""
    model_set: tuple[str, ...] = ()
    """Other settings of the model, e.g. basis=8 or sizes=[256,256]."""
    trainer_set: tuple[str, ...] = ()
    """Other settings of the trainer, e.g. iterations=200."""
    minutes: float | None = None
    """Longest training of ppo."""
    transfer: Path | None = None
    """An operator correction of another unit or robot: fit only its sensors to this simulator."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    keep_anyway: bool = False
    """Write a correction even where the choosing motions do not improve."""
    overwrite: bool = False
    """Replace an existing correction."""
    restart: bool = False
    """Forget the progress of an earlier run."""
    log: Path | None = None
    """Folder for TensorBoard event files."""
    wandb: str | None = None
    """Project of Weights & Biases to log to; WANDB_MODE=offline keeps it on this machine."""
    onnx: Path | None = None
    """File for the network as ONNX."""
    plots: Path | None = None
    """Folder for pictures: outputs by joint, held-out replays before and after."""
    json: Path | None = None
    """File for the numbers."""


def correct_settings(args: Correct) -> CorrectSettings:
    """What is learned, and how."""
    from gapless.corrections.correcting import CorrectSettings

    named = {k: v for k, v in vars(args).items() if k in CorrectSettings.__dataclass_fields__}
    model, trainer = model_settings(args), trainer_settings(args)
    return CorrectSettings(**named, model_settings=model, trainer_settings=trainer)


def model_settings(args: Correct) -> dict[str, Any]:
    """Settings of the model that were asked for."""
    from gapless.corrections.models import model_of

    history = {} if args.history is None else {"history": args.history}
    return history | settings_of("model-set", args.model_set, model_of(args.model))


def trainer_settings(args: Correct) -> dict[str, Any]:
    """Settings of the trainer that were asked for."""
    from gapless.corrections.training import trainer_of

    limit = {} if args.minutes is None else {"seconds": 60 * args.minutes}
    return limit | settings_of("trainer-set", args.trainer_set, trainer_of(args.trainer))


def same_world(args: Correct) -> str:
    """The options with which another command means the same world."""
    named = {
        "robot": args.robot,
        "mount": args.mount,
        "lock": " ".join(args.lock),
        "calibration": args.calibration,
    }
    given = "".join(f" --{name} {value}" for name, value in named.items() if value)
    return given + (" --loaded" if args.loaded else "")
