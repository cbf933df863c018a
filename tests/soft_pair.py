"""A two-joint arm whose truth is known, its recordings, and corrections with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP, recorded

Make = Callable[..., Correction]


@pytest.fixture(scope="session")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="session")
def soft(pair: Robot) -> Robot:
    """The same with motors that answer with 65 % of the gain."""
    return pair.with_joints(kp=0.65 * pair.joints.kp)


@pytest.fixture(scope="session")
def waves(soft: Robot) -> list[Recording]:
    """Four motions of the soft robot, as clean encoders saw them."""
    return recorded(soft, [f"wave_{i}" for i in range(4)], noise=0.0)


@pytest.fixture
def world(pair: Robot) -> MujocoWorld:
    """The nominal robot."""
    return MujocoWorld(pair, physics_step=STEP)


@pytest.fixture(scope="session")
def task(pair: Robot, waves: list[Recording]) -> Task:
    """Make the nominal robot behave like the soft one."""
    return Task(MujocoWorld(pair, 50, physics_step=STEP), waves[:3], waves[3:])


@pytest.fixture(scope="session")
def made(task: Task) -> Make:
    """A correction with weights that are not small, so that it does something."""

    def make(
        model: str = "mlp", *, on: MujocoWorld | None = None, rate: float = 50, **settings: Any
    ) -> Correction:
        chosen: dict[str, Any] = {k: settings.pop(k) for k in list(settings) if k in OF_CONTRACT}
        if chosen.get("head", "action") == "action":
            chosen = {"bound": 0.05} | chosen
        contract = contract_for(on or task.world, rate, model=model, settings=settings, **chosen)
        return shaken(untrained(contract, task, 0))

    return make


OF_CONTRACT = ("head", "joints", "bound", "rate_limit", "hold", "members")


def shaken(start: Correction, size: float = 0.1) -> Correction:
    """The correction with noise on the weights that learn."""
    rng = np.random.default_rng(7)
    weights = {
        k: v
        if k.endswith((".mean", ".deviation"))
        else (v + size * rng.standard_normal(v.shape)).astype(np.float32)
        for k, v in start.weights.items()
    }
    return replace(start, weights=weights)
