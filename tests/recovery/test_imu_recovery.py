"""Recovery: how an IMU sits in its robot, and what its gyro shows at rest, come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.identification.optimisers.gauss_newton import gauss_newton
from gapless.identification.plans.rungs import rungs_for
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.parameters import parameters_of
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.effects import IMU
from gapless.worlds.record import record
from gapless.worlds.world import State

SLED = """
<mujoco model="sled"><worldbody>
  <body name="sled" pos="0 0 0.05"><freejoint/>
    <geom type="box" size="0.2 0.2 0.05" mass="2"/>
    <body name="mast" pos="0 0 0.05">
      <joint name="turn" axis="0 0 1" range="-1 1"/>
      <geom type="box" size="0.1 0.02 0.02" pos="0 0 0.02" mass="0.3"/>
    </body>
  </body>
</worldbody><actuator><position name="turn" joint="turn" kp="5" kv="0.3"/></actuator></mujoco>
"""
TRUE = Effects(imu_roll=0.03, imu_pitch=-0.02, gyro_x=0.04, gyro_y=-0.03, gyro_z=0.05)
NOISE = 3e-4
"""Of a tracked base, m, and of its orientation, rad."""


@pytest.fixture(scope="module")
def sled(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """A box that slides, with a mast that turns."""
    file = tmp_path_factory.mktemp("sled") / "sled.xml"
    file.write_text(SLED)
    return Robot.from_mjcf(file).with_mount("free")


def starts(home: State) -> list[State]:
    """On the floor, which knows what is level; and thrown, when nothing but the gyro turns it."""
    sliding = [
        replace(home, base_lin_vel_w=np.array([v])) for v in ([0.8, 0.0, 0.0], [0.0, 0.6, 0.0])
    ]
    up = home.base_pos + np.array([0.0, 0.0, 1.0])
    thrown = [
        replace(home, base_pos=up, base_lin_vel_w=np.array([v]))
        for v in ([0.0, 0.2, 2.0], [0.2, 0.0, 2.0])
    ]
    return sliding + thrown


def logged(robot: Robot) -> list[Recording]:
    """What the sensors of a robot whose IMU errs show."""
    world, rng = MujocoWorld(robot, physics_step=0.004, effects=TRUE), np.random.default_rng(0)
    clips = []
    for i, start in enumerate(starts(world.home())):
        clip = record(world, np.zeros((30, 1)), f"m{i}", start=start, conditions=Conditions())
        base = {k: v for k, v in clip.channels.items() if k.startswith("base")}
        base["base_pos"] = base["base_pos"] + rng.normal(0, NOISE, base["base_pos"].shape)
        clips.append(replace(clip, channels=base))
    return clips


def test_an_imu_that_errs_is_found(sled: Robot) -> None:
    """Its tilt from the floor, its gyro from free flight, to a twentieth."""
    world = MujocoWorld(sled, physics_step=0.004)
    parameters = parameters_of(sled, IMU)
    problem = Problem(world, parameters, windows_of(logged(sled), sled, 0.5), noise=NOISE)
    found = problem.values(gauss_newton(problem, np.zeros(len(problem))).z)
    for parameter, value in zip(parameters, found, strict=True):
        true = getattr(TRUE, parameter.name)
        assert value == pytest.approx(true, abs=0.05 * abs(true)), parameter.name


def test_the_ladder_asks_only_where_there_is_an_imu(sled: Robot) -> None:
    """A log without orientation says nothing of it, and a base that is fixed has none."""
    clips = logged(sled)
    bare = [replace(clip, channels={}) for clip in clips]
    assert "IMU" in [rung.name for rung in rungs_for(sled, clips)]
    assert "IMU" not in [rung.name for rung in rungs_for(sled, bare)]
    assert "IMU" not in [rung.name for rung in rungs_for(sled.with_mount("fixed"), clips)]


def test_a_calibration_with_an_imu_goes_through_files(sled: Robot, tmp_path: Path) -> None:
    """And the world that it makes shows the base askew."""
    from gapless.identification import Calibration, IdentifySettings, identify

    settings = IdentifySettings(horizon=0.1, physics_step=0.004)
    found = identify(
        logged(sled), sled, ["imu_roll", "imu_pitch"], settings=settings, keep_anyway=True
    )
    found.save(tmp_path / "cal.json")
    again = Calibration.load(tmp_path / "cal.json")
    assert again.world(sled).effects == found.world(sled).effects
    assert again.world(sled).effects.imu_roll > 0.01
    assert "imu_roll" in again.beyond_mjcf()
