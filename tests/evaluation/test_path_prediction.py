"""Where a policy takes a robot, predicted: right in its own simulator, wrong in another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import Policy, Robot
from gapless.errors import DataError
from gapless.evaluation.path_prediction import FELL, PathPrediction
from gapless.worlds import Effects, MujocoWorld
from leaning_policy import takes_in, write_leaning_policy
from still_policy import write_policy


@pytest.fixture(scope="module")
def go2() -> Robot:
    """On its feet."""
    return Robot.load("go2", mount="free")


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """Bends its front knees against what its IMU calls a pitch."""
    return Policy.load(write_leaning_policy(tmp_path_factory.mktemp("leans")))


def test_its_own_simulator_predicts_best(go2: Robot, policy: Policy) -> None:
    """One whose IMU is askew goes elsewhere, farther than the mean of unknown pushes."""
    own, askew = MujocoWorld(go2), MujocoWorld(go2, effects=Effects(imu_pitch=0.1))
    alone = PathPrediction(policy, takes_in(own, policy))
    pushed = PathPrediction(policy, takes_in(own, policy, push=0.1))
    assert alone.error(own) < 0.002
    assert pushed.error(own) < 0.5 * min(alone.error(askew), pushed.error(askew))


def test_the_tilt_of_an_imu_is_told_from_a_mass_centre(go2: Robot, policy: Policy) -> None:
    """Of a robot whose IMU is askew; its log starts with what the IMU showed."""
    askew = MujocoWorld(go2, effects=Effects(imu_pitch=0.08))
    path = PathPrediction(policy, takes_in(askew, policy))
    assert path.error(askew) < 0.6 * path.error(MujocoWorld(go2))


def test_what_a_simulator_misses_is_nothing_in_its_own(go2: Robot, policy: Policy) -> None:
    """In another it is as large as the error; where the robot fell, as large as just before."""
    own, askew = MujocoWorld(go2), MujocoWorld(go2, effects=Effects(imu_pitch=0.1))
    takes = takes_in(askew, policy)
    path = PathPrediction(policy, takes)
    missed = path.missed(own)
    assert missed.shape[0] == path.steps and missed.shape[2] == 3
    mean = float(np.linalg.norm(missed, axis=-1).mean())
    assert mean == pytest.approx(path.error(own), rel=0.01)
    assert float(np.linalg.norm(path.missed(askew), axis=-1).mean()) < 0.05 * mean
    short = [take.clip(0, len(take) // 2) if i else take for i, take in enumerate(takes)]
    limp = go2.with_joints(effort=np.full(len(go2.joints), 0.5))
    held = PathPrediction(policy, short).missed(MujocoWorld(limp))
    assert len(held) == path.steps
    np.testing.assert_array_equal(held[-1], held[-2])
    assert held[-1].any()


def test_who_falls_in_one_alone_counts(go2: Robot, policy: Policy) -> None:
    """As far away as a failure is."""
    path = PathPrediction(policy, takes_in(MujocoWorld(go2), policy))
    limp = go2.with_joints(effort=np.full(len(go2.joints), 0.5))
    assert 0.8 * FELL < path.error(MujocoWorld(limp)) < 1.1 * FELL


def test_a_prediction_is_of_its_takes(go2: Robot, policy: Policy) -> None:
    """Another take is another question."""
    takes = takes_in(MujocoWorld(go2), policy)
    both = PathPrediction(policy, takes).fingerprint, PathPrediction(policy, takes[:3]).fingerprint
    assert both[0] != both[1]


def test_what_no_path_is_known_of_is_refused(go2: Robot, policy: Policy, tmp_path: Path) -> None:
    """A walker, logs without a base, and nothing at all."""
    takes = takes_in(MujocoWorld(go2), policy)
    with pytest.raises(DataError, match="commands"):
        PathPrediction(Policy.load(write_policy(tmp_path)), takes)
    with pytest.raises(DataError, match="base_pos"):
        PathPrediction(policy, [replace(takes[0], channels={})])
    with pytest.raises(DataError, match="no takes"):
        PathPrediction(policy, [])
    other = replace(takes[0], joints=tuple(f"no_{name}" for name in takes[0].joints))
    with pytest.raises(DataError, match="FL_calf_joint"):
        PathPrediction(policy, [other]).error(MujocoWorld(go2))
