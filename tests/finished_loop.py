"""The folder of a policy loop as `gapless loop` leaves it, made in no time, with hostile names."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from closed_arm import HOSTILE
from gapless.artifact import write_json
from gapless.closing import Run
from gapless.evaluation import Evaluation, Scenario
from gapless.evaluation.evaluation import WorldScores
from gapless.evaluation.typical_episode import POLICY, REFERENCE
from gapless.measurement.side_by_side import SideBySide, Track, save_side_by_side
from gapless.tracking.loop_folder import FACTS, SUMMARY, LoopFolder, episode_file
from gapless.tracking.policy_loop import scores_of

LENGTH, RATE, FELL = 101, 50.0, 60
"""Samples of the motion, and after how many of them the first policy falls."""


def finished_loop(folder: Path, run: Run, policies: int = 2) -> LoopFolder:
    """Every policy is nearer to the motion than the one before; the first falls."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(1, policies):
        shutil.copytree(run.path, folder / f"run_{k}")
    facts = {"motion": HOSTILE, "robot": "0" * 16, "episodes": 4, "train": {"actor": [HOSTILE]}}
    write_json(folder / FACTS, facts)
    scores = {}
    for k in range(policies):
        found = evaluation(error=200.0 / (k + 1), fell=k == 0)
        found.save(folder / f"policy_{k}.json")
        clip = episode(run.robot.joints.names, 0.2 / (k + 1), FELL if k == 0 else LENGTH)
        save_side_by_side(episode_file(folder, f"policy_{k}"), [clip])
        scores[f"policy_{k}"] = scores_of(found)
    write_json(folder / SUMMARY, {"policies": scores, "motion": HOSTILE, "target": HOSTILE})
    return LoopFolder.open(folder)


def episode(joints: tuple[str, ...], off: float, length: int) -> SideBySide:
    """A robot that is `off` rad beside what it follows."""
    wave = np.sin(np.arange(length) / 10)[:, None] * np.linspace(0.5, 1.0, len(joints))
    distance = np.full(length, 1000 * off)
    tracks = {REFERENCE: Track(wave), POLICY: Track(wave + off, distance=distance)}
    name = f"{HOSTILE} episode 2 of 4"
    return SideBySide(name, None, None, joints, RATE, "full", wave + 2 * off, tracks)


def evaluation(error: float, fell: bool) -> Evaluation:
    """Four episodes on the robot; the last score says nothing."""
    survived = (True, True, True, not fell)
    told = {"e_g_mpjpe": error, "e_mpjpe": error / 2, "e_vel": 1.5, "e_acc": None}
    scores = WorldScores(
        world="robot",
        identity={"engine": HOSTILE},
        survived=survived,
        seconds=(2.0, 2.0, 2.0, 1.2 if fell else 2.0),
        commands=("",) * 4,
        scores={
            **{name: (value,) * 4 for name, value in told.items()},
            "success": tuple(map(float, survived)),
        },
        peaks={},
        falls=(),
    )
    return Evaluation(HOSTILE, "arm", Scenario(episodes=4), (scores,))
