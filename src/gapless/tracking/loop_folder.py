"""A LoopFolder: what a finished policy loop left behind, for its page and the viewer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json
from gapless.closing.run import FACTS as RUN_FACTS
from gapless.closing.run import Run
from gapless.errors import ArtifactError, FormatError
from gapless.evaluation.evaluation import Evaluation
from gapless.evaluation.typical_episode import POLICY, REFERENCE
from gapless.measurement.side_by_side import SideBySide, load_side_by_side
from gapless.robots import Robot

FACTS, SUMMARY = "loop.json", "summary.json"
BEFORE, AFTER = "before", "after"
COLUMNS = {
    **{"survival": ("survival, %", 100.0), "success": ("success, %", 100.0)},
    **{"e_g_mpjpe": ("E_g-mpjpe, mm", 1.0), "e_mpjpe": ("E_mpjpe, mm", 1.0)},
    **{"e_vel": ("E_vel, mm/frame", 1.0), "e_acc": ("E_acc, mm/frame²", 1.0)},
}
"""Score (ASAP's columns, and survival) -> its title and what it is multiplied by."""

Scores = dict[str, float | None]


@dataclass(frozen=True)
class LoopFolder:
    """The folder of a loop that came to its end.

    Attributes:
        path: of the folder.
        facts: what was asked.
        summary: motion, target, and the scores of every policy.
    """

    path: Path
    facts: dict[str, Any]
    summary: dict[str, Any]

    @staticmethod
    def is_at(path: str | Path) -> bool:
        """Whether a folder is that of a loop, finished or not."""
        return (Path(path) / FACTS).is_file()

    @classmethod
    def open(cls, path: str | Path) -> LoopFolder:
        """Open what `gapless loop` made.

        Raises:
            ArtifactError: it is no loop, or one that has not come to its end.
            FormatError: its summary is damaged.
        """
        path = Path(path)
        if not cls.is_at(path):
            raise ArtifactError(f"{path} is no loop: it has no {FACTS}; see gapless loop --help")
        if not (path / SUMMARY).is_file():
            raise ArtifactError(f"{path} is a loop that is not finished; {_meanwhile(path)}")
        summary = read_json(path / SUMMARY)
        _check(summary, path / SUMMARY)
        return cls(path, read_json(path / FACTS), summary)

    @property
    def policies(self) -> dict[str, Scores]:
        """Folder of a policy -> its scores on the robot, the first first."""
        return self.summary["policies"]

    @property
    def called(self) -> dict[str, str]:
        """Folder of a policy -> what people call it."""
        names = list(self.policies)
        rounds = {name: f"round {k}" for k, name in enumerate(names)}
        return rounds | {names[-1]: AFTER} | {names[0]: BEFORE}

    @property
    def motion(self) -> str:
        """What is followed."""
        return str(self.summary["motion"])

    @property
    def target(self) -> str:
        """What stands for the robot."""
        return str(self.summary.get("target", "the robot"))

    @property
    def answer(self) -> str:
        """What the loop was asked for, in a line."""
        first, *others = self.policies.values()
        ends = [first, *others[-1:]]
        error, success = (
            " -> ".join(shown_score(scores, name, ".0f") for scores in ends)
            for name in ("e_g_mpjpe", "success")
        )
        what = "Fine-tuned policy" if others else "Policy, not tuned"
        return f"{what}: E_g-mpjpe {error} mm on {self.target}, success {success} %"

    @property
    def runs(self) -> list[Run]:
        """The run of each round."""
        folders = [self.path / f"run_{k}" for k in range(1, len(self.policies))]
        return [Run.open(folder) for folder in folders if (folder / RUN_FACTS).is_file()]

    @property
    def first_run(self) -> Run:
        """Of which the nominal robot is known."""
        if not self.runs:
            raise ArtifactError(f"{self.path} has no run_1, and so no robot that could be shown")
        return self.runs[0]

    @property
    def robot(self) -> Robot:
        """The nominal one."""
        return self.first_run.robot

    def evaluation(self, policy: str) -> Evaluation:
        """All episodes of a policy on the robot."""
        return Evaluation.load(self.path / f"{policy}.json")

    def side_by_side(self) -> SideBySide:
        """The typical episode of every policy over the reference; the commands are the last's."""
        clips = {name: load_episode(self.path, policy) for policy, name in self.called.items()}
        longest = max(clips.values(), key=lambda clip: len(clip.target))
        length, last = len(longest.target), list(clips.values())[-1]
        target = np.full((length, len(last.joints)), np.nan)
        target[: len(last.target)] = last.target
        tracks = {REFERENCE: longest.tracks[REFERENCE]}
        tracks |= {name: clip.tracks[POLICY].lasting(length) for name, clip in clips.items()}
        return replace(longest, name=self.motion, target=target, tracks=tracks)


def episode_file(loop: Path, policy: str) -> Path:
    """Where a policy's typical episode is."""
    return loop / f"{policy}.npz"


def load_episode(loop: Path, policy: str) -> SideBySide:
    """The typical episode of a policy."""
    file = episode_file(loop, policy)
    if not file.is_file():
        raise ArtifactError(
            f"{file} is not there: the same gapless loop command plays the episodes again"
        )
    clips = load_side_by_side(file)
    if len(clips) != 1 or set(clips[0].tracks) != {REFERENCE, POLICY}:
        raise FormatError(f"{file} is no episode of a policy; delete it and resume the loop")
    return clips[0]


def _meanwhile(path: Path) -> str:
    """What to do with a loop that was stopped."""
    runs = sorted(file.parent for file in path.glob(f"run_*/{RUN_FACTS}"))
    more = f", and gapless report {runs[-1]} shows its last run" if runs else ""
    return f"the same gapless loop command resumes it{more}"


def _check(summary: Any, file: Path) -> None:
    policies = isinstance(summary, dict) and "motion" in summary and summary.get("policies")
    known = isinstance(policies, dict) and policies and all(map(_are_scores, policies.values()))
    if not known:
        raise FormatError(f"{file} is no summary of a loop; delete it and resume the loop")


def _are_scores(found: Any) -> bool:
    numbers = isinstance(found, dict) and [found.get(name, "") for name in COLUMNS]
    return bool(numbers) and all(v is None or isinstance(v, (int, float)) for v in numbers)


def shown_score(scores: Scores, name: str, form: str = ".3g") -> str:
    """A score as tables have it."""
    value = scores[name]
    return "-" if value is None else f"{COLUMNS[name][1] * value:{form}}"
