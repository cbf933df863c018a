"""Recovery: a table under an arm comes back from joints and commands alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.identification import Calibration, IdentifySettings, identify
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.resting_surface import resting_surface
from gapless.identification.plans.rung_fits import Foothold, fit_rung
from gapless.identification.plans.rungs import rungs_for
from gapless.recordings import Split
from table_arm import STEP, TABLE, arm, recorded

SETTINGS = IdentifySettings(windows=24, physics_step=STEP)


def assert_table(calibration: Calibration) -> None:
    """Height within 2 mm, tilt within half a degree."""
    floor = calibration.apply(arm())[0].floor
    assert floor.height == pytest.approx(TABLE.height, abs=0.002)
    assert floor.tilt == pytest.approx(TABLE.tilt, abs=np.radians(0.5))


def test_a_table_comes_back() -> None:
    """From where the arm was seen to rest."""
    clips = recorded(arm().with_floor(TABLE), ["a", "b", "c"])
    surface = resting_surface(arm(), clips)
    fitter = Fitter(arm(), SETTINGS, FitCheckpoint(None), None, surface=surface)
    (rung,) = [r for r in rungs_for(arm(), clips, surface) if r.name == "surface"]
    found = fit_rung(fitter, clips, rung, {}, Foothold()).calibration
    assert found is not None
    assert_table(found)
    assert found["floor_friction"].value == pytest.approx(TABLE.friction, abs=0.05)
    low, high = found["floor_height"].interval
    assert TABLE.height is not None and low < TABLE.height < high


@pytest.mark.slow
def test_the_ladder_finds_the_table() -> None:
    """Beside drives that differ; kept, because motions that chose touch it too."""
    hidden = arm().with_joints(kp=1.2 * arm().joints.kp, frictionloss=0.12).with_floor(TABLE)
    clips = recorded(hidden, [f"m{i}" for i in range(5)])
    found = identify(Split.of(clips[:3], clips[3:]), arm(), "auto", settings=SETTINGS)
    steps = {step["rung"]: step for step in found.ladder}
    assert steps["surface"]["kept"]
    assert any("rests on a surface" in note and "3 of 3" in note for note in found.notes)
    assert_table(found)
    assert "floor" in found.to_mjcf(arm())
    again = Calibration.from_dict(found.to_dict())
    assert again.apply(arm())[0].fingerprint() == found.apply(arm())[0].fingerprint()


@pytest.mark.slow
def test_motions_that_never_touch_do_not_keep_it() -> None:
    """The choosing motions decide, and say nothing of it."""
    robot = arm().with_floor(replace(TABLE, friction=0.4))
    learn = recorded(robot, ["a", "b"])
    choose = recorded(robot, ["c", "d"], raised=0.6, first=5)
    found = identify(Split.of(learn, choose), arm(), "auto", settings=SETTINGS, keep_anyway=True)
    steps = {step["rung"]: step for step in found.ladder}
    assert not steps["surface"]["kept"]
    assert not found.apply(arm())[0].meets_floor
