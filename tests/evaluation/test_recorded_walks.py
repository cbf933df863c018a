"""Walks by which simulators are judged: nothing off in one's own, what was walked elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_walk_prediction import going, log, worlds  # noqa: F401

from gapless import MujocoWorld, Policy, Recording, Robot
from gapless.closing.loop import recorded_path
from gapless.errors import DataError
from gapless.evaluation.path_prediction import PathPrediction
from gapless.evaluation.recorded_walks import ARM, RecordedWalks
from gapless.verdict import LEAST_GAIN
from leaning_policy import takes_in, write_leaning_policy


def test_nothing_is_off_where_the_robot_is_the_simulator(
    still: Policy,
    worlds: dict[str, MujocoWorld],  # noqa: F811
    log: list[Recording],  # noqa: F811
) -> None:
    """Of every command."""
    walks = RecordedWalks(still, log)
    assert walks.error(worlds["raw"]) < 1e-4
    assert np.abs(walks.residuals(worlds["raw"])).max() < 1e-4


def test_what_the_robot_walked_more_is_off(
    still: Policy,
    worlds: dict[str, MujocoWorld],  # noqa: F811
    log: list[Recording],  # noqa: F811
) -> None:
    """By its own length in a second; a turn by that of an arm."""
    astray = [log[0], going(log[1], [(0.3, -0.1, 0.4)])]
    walks, off = RecordedWalks(still, astray), np.array([-0.3, 0.1, -0.4 * ARM])
    assert walks.error(worlds["raw"]) == pytest.approx(np.linalg.norm(off) / 2, rel=1e-3)
    found = walks.residuals(worlds["raw"]).reshape(2, 3)
    np.testing.assert_allclose(found[0], 0, atol=1e-4)
    np.testing.assert_allclose(found[1], off / np.sqrt(2), atol=1e-4)
    assert walks.fingerprint != RecordedWalks(still, log).fingerprint
    assert walks.chance > LEAST_GAIN  # no rung is worth so much


def test_the_policy_says_what_is_compared(
    still: Policy,
    log: list[Recording],  # noqa: F811
    go2: Robot,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Walks of one that is given commands, the path of one that follows a motion."""
    assert isinstance(recorded_path(still, log), RecordedWalks)
    leans = Policy.load(write_leaning_policy(tmp_path_factory.mktemp("leans")))
    takes = takes_in(MujocoWorld(go2), leans)
    assert isinstance(recorded_path(leans, takes), PathPrediction)
    with pytest.raises(DataError, match=r"do not say what 'still' was asked; .*velocity 0\.5 0 0"):
        recorded_path(still, [replace(log[0], name="take 3")])
