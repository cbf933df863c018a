"""Figures of a training in Weights & Biases, where it is installed and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gapless.errors import MissingExtraError
from gapless.learning.tensorboard import STEPS
from gapless.progress import Progress, Watch

FOLDER = "wandb"
"""Beside what is trained; WANDB_MODE=offline keeps everything there."""


@contextmanager
def wandb_logged(project: str | None, out: Path, settings: dict[str, Any]) -> Iterator[Watch]:
    """A watch that logs every figure it is told to a project; without one it logs nothing.

    Args:
        project: of Weights & Biases.
        out: what is trained; its name is the run's.
        settings: that the run is shown with.
    """
    if project is None:
        yield lambda now: None
        return
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise MissingExtraError("wandb", "wandb", "logging to Weights & Biases") from error
    folder = out.absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    told = {key: str(value) for key, value in settings.items()}
    run = wandb.init(project=project, name=out.name, dir=str(folder), config=told)
    ended = 1
    try:

        def watch(now: Progress) -> None:
            if now.figures:
                run.log({"progress": round(STEPS * now.share), **now.figures})

        yield watch
        ended = 0
    finally:
        run.finish(exit_code=ended)


def both(first: Watch, second: Watch) -> Watch:
    """A watch that tells two."""

    def watch(now: Progress) -> None:
        first(now)
        second(now)

    return watch
