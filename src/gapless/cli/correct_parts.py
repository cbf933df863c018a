"""The trainings of a correction as tasks, made wherever --on says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.cli.correct_options import correct_settings
from gapless.cli.terminal import parse
from gapless.errors import GaplessError
from gapless.progress import Watch
from gapless.tasks import FileTask, require

if TYPE_CHECKING:
    from gapless.cli.correct_options import Correct
    from gapless.recordings.split import Split


def make_trainings(
    args: Correct, words: list[str], split: Split, progress: Path, watch: Watch
) -> Correct:
    """Make every training, and leave it where the command looks for its progress.

    Args:
        args: what was asked.
        words: as it was typed.
        split: of the recordings.
        progress: file of the final training; those of folds are beside it.
        watch: told how far it is.

    Returns:
        What is asked then: nothing is forgotten a second time.
    """
    from gapless.corrections.correction_training import trainings_of

    if args.transfer is not None:
        raise GaplessError("--on is of trainings, and --transfer trains nothing; leave out --on")
    if args.log is not None or args.wandb is not None:
        raise GaplessError(
            "--log and --wandb follow a training of this process; leave them out, or --on"
        )
    if args.restart:
        forget_trainings(progress)
    tasks = [_task(args, words, number, progress) for number in trainings_of(split)]
    require(args.workers().run(tasks, watch), "trainings")
    return replace(args, restart=False)


def forget_trainings(progress: Path) -> None:
    """Delete the progress of all trainings."""
    for file in progress.parent.iterdir():
        if file.name.startswith(progress.name):
            file.unlink()


def _task(args: Correct, words: list[str], number: int | None, progress: Path) -> FileTask:
    from gapless.corrections.correction_training import fold_name

    given = {name: getattr(args, name) for name in ("dataset", "calibration", "test_on")}
    files = {name: path for name, path in given.items() if path is not None}
    title = "" if number is None else fold_name(number)
    asked = {"words": words, "number": number}
    out = progress.with_name(progress.name + title)
    return FileTask(f"training{title}", f"{__name__}:make_training", asked, files, out)


def make_training(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of one training."""
    from gapless.cli.correct_command import job_of
    from gapless.cli.correct_options import Correct
    from gapless.corrections.correcting import train_part
    from gapless.corrections.correction_training import fold_name

    args, number = replace(parse(Correct, "correct", asked["words"]), **files), asked["number"]
    job, own = job_of(args), "" if number is None else fold_name(number)
    train_part(
        job.split,
        job.nominal,
        job.calibration,
        number,
        settings=correct_settings(args),
        seed=args.seed,
        checkpoint=out.with_name(out.name.removesuffix(own)),
        watch=watch,
    )
