"""A comparison in parts: each training of each method is a task, made wherever --on says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.artifact import file_name
from gapless.cli.terminal import parse
from gapless.errors import GaplessError
from gapless.progress import Watch
from gapless.tasks import FileTask, require

if TYPE_CHECKING:
    from gapless.cli.compare_command import Compare


def make_parts(args: Compare, words: list[str], kept: Path | None, show: Watch) -> Compare:
    """Make every training, and put what they found where the comparison looks for it.

    Args:
        args: what was asked.
        words: as it was typed.
        kept: checkpoint of the comparison.
        show: told how far it is.

    Returns:
        What is asked then: nothing is forgotten a second time.
    """
    from gapless.comparison.comparing import merge_parts
    from gapless.comparison.methods import refuse_unknown

    if kept is None:
        raise GaplessError("--on needs --json FILE, beside which finished trainings are kept")
    if args.restart:
        forget_parts(kept)
        kept.unlink(missing_ok=True)
    tasks = _tasks(args, words, kept)
    refuse_unknown([task.arguments["method"] for task in tasks])
    args.opened()  # what cannot be read is told once, not by every task
    require(args.workers().run([t for t in tasks if not t.out.exists()], show), "trainings")
    merge_parts([task.out for task in tasks], kept)
    return replace(args, restart=False)


def forget_parts(kept: Path) -> None:
    """Delete the parts of a comparison."""
    shutil.rmtree(_folder(kept), ignore_errors=True)


def _folder(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.parts")


def _tasks(args: Compare, words: list[str], kept: Path) -> list[FileTask]:
    from gapless.cli.compare_command import asked_methods, told_apart
    from gapless.comparison.comparing import trainings

    files, title = {"dataset": args.dataset}, ""
    if args.test_on is not None:
        files["test_on"] = args.test_on
        title = told_apart(args.test_on.resolve().parts, args.dataset.resolve().parts)
    names = dict.fromkeys(("raw", *asked_methods(args)))
    return [
        FileTask(
            f"{name}, seed {seed}",
            f"{__name__}:make_part",
            {"words": words, "method": name, "seed": seed, "title": title},
            files,
            _folder(kept) / f"{file_name(name)}_{seed}.json",
        )
        for name in names
        for seed in trainings(name, args.seeds, args.seed)
    ]


def make_part(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of one training; a method that fails leaves nothing, and is shown by the whole."""
    from gapless.cli.compare_command import Compare, compared

    typed = parse(Compare, "compare", asked["words"])
    args = replace(typed, restart=False, **files)
    compared(args, out, watch, (asked["method"], asked["seed"]), asked["title"])
