"""The whole loop: train, record on the robot, close the gap, fine-tune, evaluate, and again.

The robot is a World that stands for it; nothing but its recordings is learned from. Every step
is a folder or a file that is complete or absent: what is there is not done again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json, write_json
from gapless.closing import CloseSettings, Run, close
from gapless.errors import ArtifactError, DataError
from gapless.evaluation import Evaluation, Scenario
from gapless.evaluation.episode_recordings import LEAST, episode_recordings
from gapless.evaluation.evaluating import judge_episodes, play_worlds
from gapless.evaluation.policy_episodes import play
from gapless.evaluation.typical_episode import typical_episode
from gapless.measurement.side_by_side import save_side_by_side
from gapless.motions.motion import Motion
from gapless.motions.trackability import refuse_untrackable
from gapless.policies import Policy
from gapless.progress import Watch
from gapless.recordings import Dataset, Recording
from gapless.robots import Robot
from gapless.tracking.loop_folder import FACTS, SUMMARY, Scores, episode_file
from gapless.tracking.tracking_contract import require_trackable
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training import FINETUNED, finetune, train
from gapless.worlds.world import World

MADE = ("policy_*", ".policy_*", "data_*", "run_*", ".run_*", SUMMARY, "report.html")
"""Patterns of what a loop puts into its folder, beside the facts that make it one."""
SCORES = ("e_g_mpjpe", "e_mpjpe", "e_vel", "e_acc", "success")
"""ASAP's columns."""


@dataclass(frozen=True)
class LoopSettings:
    """How the loop is run.

    Attributes:
        rounds: of recording, closing and fine-tuning.
        takes: recordings of the robot in each round.
        push: speed given to the robot at once while it is recorded, m/s.
        episodes: that evaluate each policy on the robot.
        train: of the first policy.
        finetune: of those after it.
        close: of each round.
        seed: of everything drawn.
    """

    rounds: int = 1
    takes: int = 24
    push: float = 0.2
    episodes: int = 32
    train: TrainSettings = field(default_factory=TrainSettings)
    finetune: TrainSettings = field(default_factory=lambda: FINETUNED)
    close: CloseSettings = field(default_factory=CloseSettings)
    seed: int = 0

    def __post_init__(self) -> None:
        counts = {name: getattr(self, name) for name in ("rounds", "takes", "episodes")}
        if min(counts.values()) < 1 or self.seed < 0 or not 0 <= self.push < np.inf:
            told = {**counts, "push": self.push, "seed": self.seed}
            raise DataError(
                f"a loop of {', '.join(f'{v} {k}' for k, v in told.items())}; expected one or more "
                "rounds, takes and episodes, a push in m/s and a seed that are not below 0"
            )


class PolicyLoop:
    """One folder of the loop.

    Args:
        motion: that is followed.
        robot: the nominal one.
        target: the robot that is recorded and evaluated on.
        out: folder.
        settings: how.
        begun: a policy to begin with; one is trained where there is none.
        called: what people call the target.
        watch: told how far it is.

    Example:
        loop = PolicyLoop(motion, robot, world_of("physx:hard", robot), "out")
        scores = loop.run()["policies"]
    """

    def __init__(
        self,
        motion: Motion,
        robot: Robot,
        target: World,
        out: str | Path,
        settings: LoopSettings | None = None,
        *,
        begun: Policy | None = None,
        called: str = "the robot",
        watch: Watch | None = None,
    ) -> None:
        self.motion, self.robot, self.target = motion, robot, target
        self.path, self.settings = Path(out), settings or LoopSettings()
        self.begun, self.called, self._watch = begun, called, watch

    def run(self) -> dict[str, Any]:
        """Do what is not done yet; the scores of every policy on the robot, the first first."""
        policy = self.first()
        found = {"policy_0": self._scored("policy_0", policy)}
        for k in range(1, self.settings.rounds + 1):
            run = self.closed(k, policy)
            name, before = f"policy_{k}", policy
            policy = self._policy(name, lambda run=run, before=before: self._tune(run, before))
            found[name] = self._scored(name, policy)
        summary = {"policies": found, "motion": self.motion.name, "target": self.called}
        write_json(self.path / SUMMARY, summary)
        return summary

    def forget(self) -> None:
        """Delete what a loop made in the folder, and nothing else."""
        if not (self.path / FACTS).exists():
            return
        for made in (p for pattern in MADE for p in self.path.glob(pattern)):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        (self.path / FACTS).unlink()  # last: a folder without it is no loop's

    def first(self) -> Policy:
        """The policy to begin with; trained where none was given."""
        refuse_untrackable(self.motion, self.robot)
        if self.begun is not None:
            require_trackable(self.begun.contract, self.robot)
        self._begin()
        return self.begun or self._policy("policy_0", self._train)

    def _begin(self) -> None:
        """Refuse a folder of another question."""
        how = self.settings
        facts = {
            "motion": self.motion.name,
            "frames": float(np.abs(self.motion.q).sum()),
            "robot": self.robot.fingerprint(),
            "target": self.target.identity.key,
            "train": how.train.to_dict(),
            "finetune": how.finetune.to_dict(),
            "takes": how.takes,
            "push": how.push,
            "episodes": how.episodes,
            "seed": how.seed,
        }
        if self.begun is not None:
            facts["policy"] = hashlib.sha256(self.begun.network.path.read_bytes()).hexdigest()[:16]
        file = self.path / FACTS
        if file.exists() and read_json(file) != _plain(facts):
            raise ArtifactError(
                f"{self.path} is a loop of another motion, robot, policy or setting; "
                "choose another --out, or begin again with --restart (in Python: forget())"
            )
        if not file.exists() and self.path.exists() and any(self.path.glob("[!.]*")):
            raise ArtifactError(
                f"{self.path} is not empty and is no loop; choose another --out, or delete it"
            )
        if not file.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(file, _plain(facts))

    def _policy(self, name: str, make: Callable[[], Policy]) -> Policy:
        folder = self.path / name
        return Policy.load(folder) if folder.exists() else make()

    def _train(self) -> Policy:
        return train(
            *(self.motion, self.robot, self.path / "policy_0", self.settings.train),
            seed=self.settings.seed,
            checkpoint=self.path / ".policy_0.progress.safetensors",
            watch=self._told("train"),
        )

    def _tune(self, run: Run, policy: Policy) -> Policy:
        """Tune in the run's simulator, corrections inside; the policy then runs without them."""
        k = run.path.name.rsplit("_", 1)[-1]
        name = f"policy_{k}"
        return finetune(
            *(policy, run.world(), self.path / name, self.settings.finetune),
            motion=self.motion,
            takes=taught_takes(run, self.path / f"data_{k}"),
            seed=self.settings.seed,
            checkpoint=self.path / f".{name}.progress.safetensors",
            watch=self._told(f"tune {name}"),
        )

    def closed(self, k: int, policy: Policy) -> Run:
        """Record the robot under a policy in round k, and close the gap to its simulator."""
        data = self.path / f"data_{k}"
        if not data.exists():
            Dataset.from_recordings(self._recorded(k, policy), self.robot.name).save(data)
        how = replace(self.settings.close, seed=self.settings.seed)
        folder, watch = self.path / f"run_{k}", self._told(f"close run_{k}")
        told = None if policy.contract.commands else policy
        return close(Dataset.open(data), self.robot, folder, settings=how, policy=told, watch=watch)

    def _recorded(self, k: int, policy: Policy) -> list[Recording]:
        """Takes of the motion with other starts and pushes, as the robot's sensors saw them."""
        how = self.settings
        asked = Scenario(
            episodes=how.takes, push=how.push, push_every=1.5, seed=1000 * k + how.seed
        )
        played = play(policy, self.target, asked, self._told("record"), motion=self.motion)
        clips = episode_recordings(played, policy.contract, asked, unit="robot")
        if not clips:
            raise DataError(
                f"policy {policy.name!r} falls within {LEAST:g} s in all {how.takes} takes on the "
                "robot, so nothing was recorded; train it longer, or with --vary and --push"
            )
        return [replace(c, name=f"{c.name} take {i}") for i, c in enumerate(clips, 1)]

    def _scored(self, name: str, policy: Policy) -> Scores:
        """ASAP's columns on the robot, without any correction; the typical episode is kept."""
        file, clip = self.path / f"{name}.json", episode_file(self.path, name)
        if not (file.exists() and clip.exists()):
            asked = Scenario(episodes=self.settings.episodes, seed=77 + self.settings.seed)
            worlds, watch = {"robot": self.target}, self._told(f"evaluate {name}")
            played = play_worlds(policy, worlds, asked, watch, self.motion)
            found = judge_episodes(policy, worlds, played, asked, self.motion)
            errors = found["robot"].scores["e_g_mpjpe"]
            save_side_by_side(clip, [typical_episode(played["robot"], self.motion, errors)])
            found.save(file)
        return scores_of(Evaluation.load(file))

    def _told(self, stage: str) -> Watch | None:
        watch = self._watch
        return None if watch is None else lambda now: watch(now.within(stage))


def taught_takes(run: Run, data: Path) -> list[Recording]:
    """Takes of a run's dataset that are not held out."""
    held_out = set(run.facts["split"]["test"])
    return [take for take in Dataset.open(data) if take.name not in held_out]


def scores_of(found: Evaluation, world: int = 0) -> Scores:
    """ASAP's columns of an evaluation, and the share that stood; None where one says nothing."""
    scores = found.worlds[world]
    means = {name: scores.mean(name) for name in SCORES}
    known: Scores = {name: None if mean != mean else mean for name, mean in means.items()}
    return {"survival": scores.survival, **known}


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives it back: lists for tuples."""
    import json

    return json.loads(json.dumps(facts))
