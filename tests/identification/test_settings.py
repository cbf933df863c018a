"""Settings: which stretches are fitted."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.identification import IdentifySettings
from gapless.identification.problem.posing import windows_to_fit
from gapless.identification.problem.simulator import Simulator
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld


def errors(settings: IdentifySettings, waves: list[Recording], robot: Robot) -> np.ndarray:
    """(n,) mean square error of the nominal robot in the windows that are chosen."""
    world = MujocoWorld(robot, physics_step=0.005)
    cut = windows_to_fit(settings, waves, world)
    played = Simulator(world, []).play(cut, np.zeros((1, 0)))
    return ((played.q[0] - cut.real.q) ** 2).mean(axis=(1, 2))


def test_the_hardest_stretches_can_be_preferred(pair: Robot, waves: list[Recording]) -> None:
    """As many are fitted, but they err more."""
    even = errors(IdentifySettings(windows=8, horizon=0.5), waves[:4], pair)
    hard = errors(IdentifySettings(windows=8, horizon=0.5, hardest=0.5), waves[:4], pair)
    assert len(even) == len(hard) == 8
    assert np.sort(hard)[4:].min() >= np.median(even)
    assert hard.mean() > even.mean()


def test_a_share_is_a_share(pair: Robot, waves: list[Recording]) -> None:
    """More than all of them cannot be the hardest."""
    with pytest.raises(DataError, match=r"hardest is 1\.5; expected a share from 0 to 1"):
        errors(IdentifySettings(hardest=1.5), waves, pair)
