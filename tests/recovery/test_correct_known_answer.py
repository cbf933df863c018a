"""A known world has a known answer: with kp x 0.65 and nothing else, Δ is -0.35 (target - q)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapless.corrections import Correction, correct
from gapless.corrections.correcting import CorrectSettings
from gapless.corrections.training.training_windows import drawn_windows, recorded_signals
from gapless.measurement.windows import Windows
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
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
    windows = drawn_windows(clips, pair, 1.0, 60, 7)
    given = answers(found, windows)
    # A target is held for a step; the error that acts meanwhile is that of its middle.
    middle = (windows.states.q[:, 1:] + windows.states.q[:, :-1]) / 2
    want = -LACKING * (windows.targets[:, windows.before :] - middle)
    share = (given * want).sum(axis=(0, 1)) / (want**2).sum(axis=(0, 1))
    np.testing.assert_allclose(share, 1.0, atol=0.1)
    assert np.sqrt(((given - want) ** 2).sum() / (want**2).sum()) < 0.2
    for verdict in (found.choose, found.test):
        assert verdict is not None and verdict.after < 0.25 * verdict.before
