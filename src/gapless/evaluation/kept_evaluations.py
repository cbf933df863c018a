"""Evaluations in a run's folder: for its page, and for the viewer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gapless.artifact import file_name, read_json, write_json
from gapless.evaluation.episode_recordings import asked, side_by_side_episode
from gapless.evaluation.evaluation import Evaluation
from gapless.evaluation.policy_episodes import Episodes
from gapless.measurement.side_by_side import SideBySide, load_side_by_side, save_side_by_side

FOLDER = "evaluations"


def keep_evaluation(
    run: Path, found: Evaluation, played: Mapping[str, Episodes], figures: dict[str, Any]
) -> Path:
    """Keep the numbers, and the worst episode of the last world beside the others.

    Args:
        run: folder of the run.
        found: the evaluation.
        played: its episodes.
        figures: what is kept: `found.to_dict()`, and what else was measured.
    """
    folder, name = run / FOLDER, file_name(found.policy)
    folder.mkdir(exist_ok=True)
    worst, last = found.worlds[-1].worst, list(played.values())[-1]
    title = f"{found.policy}: worst episode, {asked(last, worst)}"
    clip = side_by_side_episode(played, worst, title)
    save_side_by_side(folder / f"{name}.npz", [clip])
    write_json(folder / f"{name}.json", figures)
    return folder / f"{name}.json"


def kept_evaluations(run: Path) -> list[tuple[Evaluation, dict[str, Any]]]:
    """Every evaluation of a run, with all that was kept of it."""
    files = sorted((run / FOLDER).glob("*.json"))
    kept = [read_json(file) for file in files]
    return [(Evaluation.from_dict(d, str(f)), d) for f, d in zip(files, kept, strict=True)]


def worst_episodes(run: Path) -> list[SideBySide]:
    """The worst episode of every evaluation of a run."""
    files = sorted((run / FOLDER).glob("*.npz"))
    return [clip for file in files for clip in load_side_by_side(file)]
