"""What the stages of a plan share."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import pytest

from gapless import Robot
from gapless.identification import IdentifySettings
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.plans.rung_fits import _hurried
from gapless.worlds import MujocoWorld


def fitter(robot: Robot) -> Fitter:
    """With the usual settings."""
    return Fitter(robot, IdentifySettings(), FitCheckpoint(None), None)


def contacts(world: MujocoWorld) -> int:
    """Of a robot that has stood for a while."""
    data = mujoco.MjData(world.model)
    mujoco.mj_resetDataKeyframe(world.model, data, 0)
    for _ in range(20):
        mujoco.mj_step(world.model, data)
    return data.ncon


def test_fits_on_a_floor_have_feet_of_few_contacts() -> None:
    """Verdicts do not: the fitter itself keeps the robot's own feet."""
    own = fitter(Robot.load("g1_23dof", mount="free"))
    quick = own.on_simple_feet()
    assert contacts(quick.world(50)) * 2 < contacts(own.world(50))
    assert own.robot.simple_feet == () and quick.settings is own.settings


def test_a_robot_that_is_held_stays_as_it_is() -> None:
    """It stands on nothing."""
    held = fitter(Robot.load("so101"))
    assert held.on_simple_feet() is held


def test_fits_in_a_row_share_the_windows_that_they_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in haste and those of folds too; another robot, or a longer horizon, cuts its own."""
    cut: list[object] = []

    def counted(*asked: object) -> object:
        cut.append(asked)
        return object()

    monkeypatch.setattr("gapless.identification.plans.fitter.windows_to_fit", counted)
    own = fitter(Robot.load("g1_23dof", mount="free"))
    world, clips = own.world(50), []
    first = own._windows(clips, world, [])
    for other in (_hurried(own), own.without("squat"), _hurried(own.without("squat"))):
        assert other._windows(clips, world, []) is first
    assert len(cut) == 1
    longer = replace(own, settings=replace(own.settings, horizon=2.0))
    assert longer._windows(clips, world, []) is not first
    assert own._windows(clips, replace(own, robot=Robot.load("so101")).world(50), []) is not first
