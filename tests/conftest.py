"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapless.motions.excitation import multisine
from gapless.policies import Policy
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

pytest_plugins = ("soft_pair",)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real recordings of other people's robots; they are not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real recordings (../shared/data) are not on this machine")
    return SHARED_DATA


@pytest.fixture(scope="session")
def arms() -> Robot:
    """The arms of a G1, pelvis fixed."""
    return Robot.load("g1", mount="fixed", lock=["legs", "waist"])


@pytest.fixture(scope="session")
def so101() -> Robot:
    """A six-joint arm."""
    return Robot.load("so101", mount="fixed")


@pytest.fixture(scope="session")
def clips(arms: Robot) -> list[Recording]:
    """Three short motions of the arms, recorded in its own nominal world."""
    world = MujocoWorld(arms)
    return [
        record(world, multisine(arms, 3.0, 50, seed=s), f"motion_{s}", start=world.home())
        for s in range(3)
    ]


@pytest.fixture(scope="session")
def swinger(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A tracker of a pendulum, trained in some seconds; nobody may change its folder."""
    from quick_trackers import trained_swinger  # brings torch, which most tests do without

    return trained_swinger(tmp_path_factory.mktemp("swinger"))
