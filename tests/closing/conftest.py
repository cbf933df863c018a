"""An arm with weak motors, its recordings, and the run that closes its gap."""

from __future__ import annotations

import pytest

from closed_arm import QUICK
from gapless.closing import Run, close
from gapless.recordings import Recording
from gapless.robots import Robot
from hidden_pair import nominal_pair, recorded


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return nominal_pair()


@pytest.fixture(scope="module")
def waves(pair: Robot) -> list[Recording]:
    """Five motions of a robot with weak motors."""
    soft = pair.with_joints(kp=0.65 * pair.joints.kp)
    return recorded(soft, [f"wave_{i}" for i in range(5)], noise=0.0)


@pytest.fixture(scope="module")
def run(pair: Robot, waves: list[Recording], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run."""
    return close(waves, pair, tmp_path_factory.mktemp("runs") / "first", settings=QUICK)
