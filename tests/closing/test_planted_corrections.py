"""What close keeps: corrections of known worth are planted in the place of the trained one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapless.closing import CloseSettings, Run, close
from gapless.closing.stage import Stage
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.state_columns import state_outputs
from gapless.corrections.training.untrained import TARGET_BOUND
from gapless.motions.excitation import multisine
from gapless.recordings import Recording, split_recordings
from gapless.robots import Robot
from gapless.verdict import Verdict
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, nominal_pair

OFFSET = 0.1
"""By which the robot's drives miss their targets, rad."""

SETTINGS = CloseSettings(
    parameters=("damping",), horizon=0.4, windows=24, members=1, physics_step=STEP
)


class Planted:
    """A trainer that knows its answer: the same output at every step."""

    def __init__(self, output: float) -> None:
        self.output = output

    def train(self, task: Any, start: Correction, session: Any) -> Correction:
        """The start with an output that never changes, trusted everywhere."""
        fixed = ("mean", "deviation")
        weights = {k: v if k.endswith(fixed) else 0 * v for k, v in start.weights.items()}
        last = max(k for k in weights if k.endswith("bias"))
        weights[last] = weights[last] + np.float32(np.arctanh(self.output / TARGET_BOUND))
        return replace(start.with_weights(weights), envelope=None)


class Exploding(Planted):
    """The same, thrown far away at every step."""

    def train(self, task: Any, start: Correction, session: Any) -> Correction:
        """A change of state beyond any robot's."""
        found = super().train(task, start, session)
        joints = found.contract.joints
        names = state_outputs(joints, joints, False)[: len(joints)]
        contract = replace(found.contract, head="state", bound=(1e8,) * len(names), outputs=names)
        return replace(found, contract=contract)


class Faded(Planted):
    """The same, trusted nowhere."""

    def train(self, task: Any, start: Correction, session: Any) -> Correction:
        """The start's envelope, drawn to a point."""
        assert start.envelope is not None
        point = replace(start.envelope, radius=1e-6)
        return replace(super().train(task, start, session), envelope=point)


def answered(robot: Robot, name: str, seed: int, offset: float) -> Recording:
    """A motion of a robot whose drives add an offset to every target."""
    world = MujocoWorld(robot, physics_step=STEP)
    motion = multisine(robot, 4.0, 50, seed=seed)
    return replace(record(world, motion + offset, name, start=world.home()), target=motion)


def closed(
    path: Path, trainer: Planted, monkeypatch: pytest.MonkeyPatch, only_learned: bool = False
) -> Run:
    """A run whose correction is planted, on drives that miss by OFFSET (the learned ones only)."""
    robot = nominal_pair()
    clips = [answered(robot, f"m{i}", i, OFFSET) for i in range(6)]
    if only_learned:
        learned = split_recordings(clips).motions["learn"]
        clips = [
            c if c.name in learned else answered(robot, c.name, i, -OFFSET)
            for i, c in enumerate(clips)
        ]
    monkeypatch.setattr(
        "gapless.corrections.correction_training.trainer_of", lambda name, settings: trainer
    )
    return close(clips, robot, path / "run", settings=SETTINGS)


def test_a_correction_that_helps_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The choosing motions keep it, and the held-out ones, which decide nothing, agree."""
    run = closed(tmp_path, Planted(OFFSET), monkeypatch)
    rows = run.summary["rows"]
    assert rows["corrected"]["kept"] and run.correction is not None
    assert rows["corrected"]["error"] < 0.3 * rows["raw"]["error"]


def test_a_correction_that_helps_the_learning_motions_only_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What teaches does not decide."""
    run = closed(tmp_path, Planted(OFFSET), monkeypatch, only_learned=True)
    row = run.summary["rows"]["corrected"]
    assert not row["kept"] and run.correction is None
    assert row["choose"]["after"] > row["choose"]["before"]
    assert "choosing motions" in row["why"]


def test_a_correction_that_diverges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readings that are lost count against it, however good the few that are left may be."""
    run = closed(tmp_path, Exploding(OFFSET), monkeypatch)
    row = run.summary["rows"]["corrected"]
    assert not row["kept"] and run.correction is None
    assert row["choose"]["after"] > 0.9


def test_a_correction_that_always_fades_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so, and what to record, in its table too."""
    run = closed(tmp_path, Faded(OFFSET), monkeypatch)
    row = run.summary["rows"]["corrected"]
    assert not row["kept"] and run.correction is None
    assert row["why"].startswith("100% faded") and "Record motions like" in row["why"]
    assert "100% faded" in str(run)
    gap = run.stages["corrected"].gap
    assert gap is not None
    helpful = Verdict(0.02, 0.01, 1.0, ("wave",))
    assert Stage.judged(gap, helpful).kept and not Stage.judged(gap, helpful, row["why"]).kept
