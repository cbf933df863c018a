"""A known world has a known answer: with kp x 0.65 and nothing else, Δ is -0.35 (target - q)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapless.corrections import Correction, correct
from gapless.corrections.correcting import CorrectSettings
from gapless.corrections.training.training_windows import drawn_windows, recorded_signals
from gapless.measurement.windows import Windows
from gapless.motions.excitation import multisine
from gapless.recordings import Split
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, recorded

LACKING = 0.35
WAYS: dict[str, dict[str, Any]] = {
    "gradient": {"horizons": (0.3,), "iterations": 80, "samples": 1500},
    "inverse": {"window": 0.5, "iterations": 100, "samples": 3000},
}


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="module")
def clips(pair: Robot) -> list[Recording]:
    """Noisy recordings of a robot with weak gains."""
    weak = pair.with_joints(kp=(1 - LACKING) * pair.joints.kp)
    return recorded(weak, [f"wave_{i}" for i in range(5)])


def answers(correction: Correction, windows: Windows) -> np.ndarray:
    """(n, T, J) what a correction gives along recorded windows."""
    seen, memory, found = recorded_signals(windows), None, []
    for t in range(seen["q"].shape[1]):
        now = {k: v[:, min(t, v.shape[1] - 1)] for k, v in seen.items()}
        acted = correction.act(now, memory or correction.begun(now))
        memory = acted.memory
        found.append(acted.output)
    return np.stack(found, axis=1)


@pytest.mark.parametrize("trainer", WAYS)
def test_a_weak_gain_is_a_proportional_change_of_target(
    pair: Robot, clips: list[Recording], trainer: str
) -> None:
    """The learned law is the known one within 10 %, joint by joint, and hardly anything else."""
    found = correct(
        clips,
        MujocoWorld(pair, 50, physics_step=STEP),
        settings=CorrectSettings(
            model="mlp", members=1, trainer=trainer, trainer_settings=WAYS[trainer]
        ),
    )
    given, want = laws(found, clips, pair)
    share = (given * want).sum(axis=(0, 1)) / (want**2).sum(axis=(0, 1))
    np.testing.assert_allclose(share, 1.0, atol=0.1)
    assert np.sqrt(((given - want) ** 2).sum() / (want**2).sum()) < 0.2
    for verdict in (found.choose, found.test):
        assert verdict is not None and verdict.after < 0.25 * verdict.before


def laws(found: Correction, clips: list[Recording], pair: Robot) -> tuple[np.ndarray, np.ndarray]:
    """(n, T, J) what a correction gives along recordings, and what it should."""
    windows = drawn_windows(clips, pair, 1.0, 60, 7)
    given = answers(found, windows)
    # A target is held for a step; the error that acts meanwhile is that of its middle.
    middle = (windows.states.q[:, 1:] + windows.states.q[:, :-1]) / 2
    return given, -LACKING * (windows.targets[:, windows.before :] - middle)


@pytest.mark.slow
def test_joints_of_one_motor_learn_one_law_from_little_data(pair: Robot) -> None:
    """Of 3 s, which are too few for two networks, one learns the law of both joints.

    The elbow moves a third as far as the shoulder: the same error means the same to both.
    """
    weak = MujocoWorld(pair.with_joints(kp=(1 - LACKING) * pair.joints.kp), physics_step=STEP)
    motions = [multisine(pair, 2.0, 50, seed=s) * [1.0, 0.33] for s in range(4)]
    clips = [record(weak, m, f"wave_{i}", start=weak.home()) for i, m in enumerate(motions)]
    world = MujocoWorld(pair, 50, physics_step=STEP)
    split = Split.of([clips[0].clip(0, 75), clips[1].clip(0, 75)], [clips[2]], [clips[3]])
    how = CorrectSettings(
        model="actuator",
        members=1,
        horizon=0.5,
        model_settings={"share": "few"},
        trainer_settings={"horizons": (0.6,), "iterations": 120, "samples": 1500},
    )
    found = correct(split, world, settings=how)
    assert found.contract.settings["share"] == (0, 0) and not found.made_by["left_out"]
    given, want = laws(found, clips[:2], pair)
    share = (given * want).sum(axis=(0, 1)) / (want**2).sum(axis=(0, 1))
    np.testing.assert_allclose(share, 1.0, atol=0.15)
    own = correct(split, world, settings=replace(how, model_settings={}), keep_anyway=True)
    assert len(own.made_by["left_out"]) == 1
    assert found.test is not None and own.test is not None
    assert found.test.after < 0.6 * found.test.before
    assert found.test.after < own.test.after


def test_six_joints_are_corrected_from_ten_seconds(so101: Robot) -> None:
    """A hidden arm of which twelve were asked until joints shared a network; it is kept."""
    friction = 2 * so101.joints.frictionloss + 0.05
    hidden = so101.with_joints(kp=(1 - LACKING) * so101.joints.kp, frictionloss=friction)
    clips = recorded(hidden, [f"wave_{i}" for i in range(7)], seconds=2.5)
    split = Split.of(clips[:4], clips[4:5], clips[5:])
    how = CorrectSettings(
        model="actuator",
        members=1,
        horizon=0.5,
        model_settings={"share": "few"},
        trainer_settings=WAYS["gradient"],
    )
    found = correct(split, MujocoWorld(so101, 50, physics_step=STEP), settings=how)
    assert found.contract.outputs == so101.joints.names
    assert found.test is not None and found.test.after < 0.4 * found.test.before
    assert max(found.faded.values()) < 0.2
