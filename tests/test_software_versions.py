"""Results of another MuJoCo are not used by accident."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gapless
from gapless.artifact import version
from gapless.corrections import CorrectedWorld
from gapless.errors import ArtifactError
from gapless.identification import IdentifySettings, identify
from gapless.software_versions import refuse_other_mujoco
from gapless.worlds import MujocoWorld
from hidden_pair import STEP, nominal_pair, recorded


@pytest.mark.parametrize("then", [None, "not installed", version("mujoco")])
def test_what_is_the_same_or_not_known_is_used(then: str | None) -> None:
    """Nothing is raised, and nothing is asked for."""
    made_by = {} if then is None else {"mujoco": then}
    assert refuse_other_mujoco(made_by, "this") is None


def test_another_is_refused_unless_it_may_differ() -> None:
    """Only within the permission."""
    for _ in range(2):
        with pytest.raises(ArtifactError, match=r"MuJoCo 3\.0\.0.*--allow-version-mismatch"):
            refuse_other_mujoco({"mujoco": "3.0.0"}, "this calibration")
        with gapless.allow_version_mismatch(), gapless.allow_version_mismatch(False):
            assert refuse_other_mujoco({"mujoco": "3.0.0"}, "this calibration") is None


def test_a_calibration_of_another_mujoco_patches_no_world() -> None:
    """It is read and shown, but not simulated."""
    pair = nominal_pair()
    clips = recorded(pair.with_joints(kp=0.7 * pair.joints.kp), ["a", "b", "c", "d"], seconds=4.0)
    how = IdentifySettings(physics_step=STEP, windows=4, horizon=0.5)
    found = identify(clips, pair, ["kp"], settings=how, keep_anyway=True)
    other = replace(found, made_by={**found.made_by, "mujoco": "3.0.0"})
    assert CorrectedWorld(MujocoWorld(pair), found).robot != pair
    with pytest.raises(ArtifactError, match="this calibration was made with MuJoCo"):
        CorrectedWorld(MujocoWorld(pair), other)
    with gapless.allow_version_mismatch():
        assert CorrectedWorld(MujocoWorld(pair), other).robot != pair
