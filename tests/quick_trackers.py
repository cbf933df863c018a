"""Trackers of a pendulum that are trained in seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gapless.learning.ppo_settings import PpoSettings
from gapless.policies import Policy
from gapless.tracking import TrainSettings, train
from pendulum import pendulum, swings

QUICK = TrainSettings(
    environments=128,
    actor=(32, 32),
    noise=0.4,
    ppo=PpoSettings(
        iterations=30,
        steps=16,
        gamma=0.8,
        kl=0.05,
        critic=(32, 32),
        rate=3e-3,
        minibatches=2,
        epochs=4,
    ),
)
"""Enough for a pendulum, in some seconds."""
TINY = replace(QUICK, environments=8).with_samples(2 * 8 * 16)
"""Two iterations: enough to write a policy."""


def trained_swinger(folder: Path) -> Policy:
    """A tracker that knows the weight of its pendulum."""
    return train(swings(), pendulum(folder), folder / "policy", QUICK)
