"""A quadruped that leans as its IMU tells it: the smallest tracker whose path an IMU decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gapless import Policy, Robot
from gapless.evaluation import Scenario
from gapless.evaluation.episode_recordings import episode_recordings
from gapless.evaluation.policy_episodes import play
from gapless.recordings import Recording
from gapless.worlds.world import World
from small_networks import linear

CONTRACT = """
network = "policy.onnx"
name = "leans back"
robot = "go2"
rate = 50
kp = 60
kd = 2
[motion]
seconds = 2.0
[action]
scale = 1.0
[[observation]]
terms = ["projected_gravity"]
"""


def write_leaning_policy(folder: Path) -> Path:
    """Bends its front knees against what its IMU calls a pitch."""
    names = Robot.load("go2").joints.names
    gains = np.zeros((3, len(names)))
    gains[0, [names.index("FL_calf_joint"), names.index("FR_calf_joint")]] = -1.5
    linear(folder / "policy.onnx", gains, np.zeros(len(names)))
    (folder / "policy.toml").write_text(CONTRACT)
    return folder / "policy.toml"


def takes_in(world: World, policy: Policy, push: float = 0.0) -> list[Recording]:
    """Four, as its sensors saw them."""
    asked = Scenario(episodes=4, push=push, push_every=0.8)
    return episode_recordings(play(policy, world, asked), policy.contract, asked)
