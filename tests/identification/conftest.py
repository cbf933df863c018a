"""A small robot whose truth is known, and its recordings."""

from __future__ import annotations

import pytest

from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from hidden_pair import TRUTH, recorded


@pytest.fixture(scope="session")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="session")
def hidden(pair: Robot) -> Robot:
    """The robot that is recorded."""
    return pair.with_joints(**{k: f * getattr(pair.joints, k) for k, f in TRUTH.items()})


@pytest.fixture(scope="session")
def waves(hidden: Robot) -> list[Recording]:
    """Five motions of the hidden robot."""
    return recorded(hidden, [f"wave_{i}" for i in range(5)])


@pytest.fixture(scope="session")
def carried(hidden: Robot) -> list[Recording]:
    """The same with 0.3 kg in the gripper, which the log does not say."""
    full = hidden.with_payloads({"gripper": Payload(0.3)})
    return recorded(full, [f"load_{i}" for i in range(3)], payloads=None)
