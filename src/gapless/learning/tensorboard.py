"""Figures of a training as TensorBoard event files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gapless.errors import MissingExtraError
from gapless.progress import Progress, Watch

STEPS = 10_000
"""A whole training on TensorBoard's axis: the same place means the same progress after a resume."""


@contextmanager
def logged(folder: Path | None) -> Iterator[Watch]:
    """A watch that writes every figure it is told; without a folder it writes nothing."""
    if folder is None:
        yield lambda now: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtraError("tensorboard", "learn", "writing TensorBoard events") from error
    with SummaryWriter(str(folder)) as writer:

        def watch(now: Progress) -> None:
            for name, value in now.figures.items():
                writer.add_scalar(name, value, round(STEPS * now.share))

        yield watch
