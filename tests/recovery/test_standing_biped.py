"""A biped on the floor, known by its joints alone: from its log to its gains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.closing import CloseSettings, close
from gapless.identification.plans.fitting import fit
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.parameters import apply, parameters_of
from gapless.recordings import Conditions, Recording
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record
from small_biped import small_biped, squat

GAIN, FRICTION = 0.6, 0.25


@pytest.fixture(scope="module")
def biped(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Six joints, cleats of cylinders."""
    return small_biped(tmp_path_factory.mktemp("biped"))


def logged(robot: Robot, seeds: range) -> list[Recording]:
    """What encoders of the true robot show, and nothing of its base."""
    true = robot.with_joints(kp=GAIN * robot.joints.kp, frictionloss=np.full(6, FRICTION))
    world = MujocoWorld(true, 50, physics_step=0.004)
    clips = []
    for seed in seeds:
        clip = record(world, squat(seed), f"squat_{seed}", start=world.home())
        noisy = clip.q + np.random.default_rng(seed).normal(0, 2e-4, clip.q.shape)
        clips.append(replace(clip, q=noisy, channels={}, conditions=Conditions(payloads={})))
    return clips


@pytest.mark.slow
def test_a_biped_is_closed_from_its_joints(biped: Robot, tmp_path: Path) -> None:
    """No IMU, no base: the ladder finds the weak motors, and held-out squats fall by half.

    Positions and commands tell torques in units of the robot's weight alone, so gains are compared
    with what the ladder takes it to weigh.
    """
    quick = {"iterations": 5}
    settings = CloseSettings(learn=("squat_[0-4]",), windows=24, trainer_settings=quick)
    run = close(logged(biped, range(7)), biped, tmp_path / "run", settings=settings)
    raw, identified = (run.summary["rows"][s]["error"] for s in ("raw", "identified"))
    assert run.calibration is not None and run.calibration.ladder[1]["kept"]
    assert identified < 0.5 * raw
    found, _ = run.calibration.apply(biped)
    weight = found.model().body_mass.sum() / biped.model().body_mass.sum()
    ratio = found.joints.kp / biped.joints.kp / weight
    assert np.median(ratio) == pytest.approx(GAIN, rel=0.15)


def rocked(robot: Robot, seeds: range) -> list[Recording]:
    """A robot that is dropped a little and rocks on its ankles until it falls; its base is logged.

    Rocking brings its weight onto toes and heels, which is where soles end.
    """
    world, clips = MujocoWorld(robot, 50, physics_step=0.004), []
    for seed in seeds:
        motion, time = squat(seed)[:150], np.arange(150) / 50
        motion[:, 2::3] += 0.1 * np.sin(2 * np.pi * (0.8 + 0.2 * seed) * time)[:, None]
        start = world.home()
        start = replace(start, base_pos=start.base_pos + np.array([[0.0, 0.0, 0.01 * seed]]))
        clip = record(world, motion, f"rock_{seed}", start=start, conditions=Conditions())
        rng = np.random.default_rng(seed)
        seen = {k: v for k, v in clip.channels.items() if k.startswith("base") or k == "dq"}
        seen["base_pos"] = seen["base_pos"] + rng.normal(0, 2e-4, seen["base_pos"].shape)
        noisy = clip.q + rng.normal(0, 2e-4, clip.q.shape)
        clips.append(replace(clip, q=noisy, channels=seen))
    return clips


def test_soft_floor_and_soles_come_back_together(biped: Robot) -> None:
    """Softness, and where the soles are, from a log that has the base."""
    nominal = replace(biped, link_groups={"feet": ("foot_l", "foot_r")})
    names = ["floor_softness", "sole_x/feet@all", "sole_height/feet@all"]
    parameters, true = parameters_of(nominal, names), [0.035, 0.008, -0.006]
    hidden, _ = apply(nominal, Effects(), parameters, true)
    windows = windows_of(rocked(hidden, range(1, 5)), nominal, 0.4, 40)
    problem = Problem(MujocoWorld(nominal, 50, physics_step=0.004), parameters, windows)
    found = fit(problem)
    assert found.uncertainty.identifiable.all()
    assert found.values[0] == pytest.approx(true[0], rel=0.05)
    assert found.values[1:] == pytest.approx(true[1:], abs=1e-3)
