"""What the commands that train a tracker share: their options, and how they are stopped."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console
from gapless.cli.tracker_view import report_tracker, shown_tracker
from gapless.progress import Watch

if TYPE_CHECKING:
    from gapless.policies import Policy
    from gapless.robots import Robot


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Of any training."""

    out: Path
    """Folder for the policy."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    environments: int = 512
    """At once."""
    seed: int = 0
    """Of everything drawn."""
    log: Path | None = None
    """Folder for TensorBoard files."""
    wandb: str | None = None
    """Project of Weights & Biases to log to; WANDB_MODE=offline keeps it on this machine."""
    restart: bool = False
    """Forget what a stopped training of this name has done."""
    overwrite: bool = False
    """Replace a policy that is already there."""
    json: Path | None = None
    """File for the numbers."""


class Training(Protocol):
    """`train` or `finetune`, with what they are about filled in."""

    def __call__(
        self, *, seed: int, checkpoint: Path, restart: bool, overwrite: bool, watch: Watch
    ) -> Policy:
        """Train, and write the folder."""
        ...


def trained(args: TrainingOptions, training: Training, then: str) -> int:
    """Train, show it, and say what to type next; gives the exit code."""
    from gapless.learning.tensorboard import logged
    from gapless.learning.wandb_log import both, wandb_logged

    check_outputs(args.out, args.json)
    checkpoint = checkpoint_of(args.out)
    try:
        with (
            stoppable(),
            logged(args.log) as log,
            wandb_logged(args.wandb, args.out, vars(args)) as told,
            shown_tracker(both(log, told)) as watch,
        ):
            policy = training(
                seed=args.seed,
                checkpoint=checkpoint,
                restart=args.restart,
                overwrite=args.overwrite,
                watch=watch,
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, checkpoint.exists())
    report_tracker(policy, args.json)
    console(stderr=True).print(f"next: {then}", markup=False, soft_wrap=True)
    return 0


def evaluated(args: TrainingOptions, robot: Robot, *where: str) -> str:
    """The command after a training: only what stands on its feet is evaluated.

    Args:
        args: of the training.
        robot: that was trained.
        where: the run, which says its robot, or the world.
    """
    if robot.mount != "free":
        return shlex.join(["gapless", "policy", "show", str(args.out)])
    words = ["gapless", "evaluate", str(args.out), *where]
    if "--run" not in where:
        words += ["--robot", robot.source] if robot.source else []
        words += ["--lock", *args.lock] if args.lock else []
    return shlex.join(words)


def checkpoint_of(out: Path) -> Path:
    """The file beside a policy that its training keeps."""
    return out.with_name(f".{out.name}.progress.safetensors")
