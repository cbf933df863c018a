"""Recovery: of a robot on its feet, a wrong start, a slippery floor and friction are told apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapless.measurement import Attribution, attribute
from gapless.recordings import Conditions, Recording
from gapless.robots import Robot
from gapless.robots.rotations import mul
from gapless.worlds import MujocoWorld
from gapless.worlds.imu_mounting import small_turn
from gapless.worlds.record import record
from small_biped import scissor, small_biped, squat

Motion = Callable[[int], np.ndarray]


@pytest.fixture(scope="module")
def biped(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """Six joints that pitch."""
    return small_biped(tmp_path_factory.mktemp("biped"))


def world_of(robot: Robot) -> MujocoWorld:
    """At the rate of the recordings."""
    return MujocoWorld(robot, 50, physics_step=0.004)


def logged(robot: Robot, motion: Motion, pitch: float = 0.0, base: str = "logged") -> list:
    """Two noisy recordings of a robot whose IMU is turned, with its base, its IMU or neither."""
    world, askew = world_of(robot), small_turn(np.array([0.0, np.deg2rad(pitch), 0.0]))
    clips: list[Recording] = []
    for seed in range(2):
        clip = record(world, motion(seed), f"m{seed}", start=world.home(), conditions=Conditions())
        seen = {k: v for k, v in clip.channels.items() if k.startswith("base") or k == "dq"}
        seen["base_quat_wxyz"] = mul(seen["base_quat_wxyz"], askew)
        shown = {"imu": {"imu_quat_wxyz": seen["base_quat_wxyz"]}, "none": {}}.get(base, seen)
        noise = np.random.default_rng(seed).normal(0, 2e-4, clip.q.shape)
        clips.append(replace(clip, q=clip.q + noise, channels=shown))
    return clips


def causes(clips: list[Recording], robot: Robot) -> Attribution:
    """Of the error in the nominal simulator, from few windows."""
    return attribute(clips, world_of(robot), max_windows=12)


def figures(found: Attribution) -> dict[str, float]:
    """Sizes by name."""
    return {size.what: size.mean for size in found.sizes}


@pytest.mark.parametrize("base", ["logged", "imu"])
def test_a_tilt_of_two_degrees_is_a_wrong_start(biped: Robot, base: str) -> None:
    """Motors that are a little weak and stiff beside it do not take the blame."""
    stiff = np.full(6, 0.02)
    true = biped.with_joints(kp=0.97 * biped.joints.kp, frictionloss=stiff)
    found = causes(logged(true, squat, 2.0, base), biped)
    assert found.ranking[0] == "start estimate"
    assert found.overall["start estimate"] > 0.8
    assert figures(found)["base pitch"] == pytest.approx(-2.0, abs=0.4)
    again = Attribution.from_dict(json.loads(json.dumps(found.to_dict())), found.joints)
    assert again.sizes == found.sizes and again.ranking == found.ranking


def test_a_slippery_floor_is_contact(biped: Robot) -> None:
    """Soles that slip on four tenths of the friction give it back."""
    slippery = biped.with_floor(replace(biped.floor, friction=0.4 * biped.floor.friction))
    found = causes(logged(slippery, scissor), biped)
    assert found.ranking[0] == "contact"
    assert found.overall["contact"] > 0.8
    assert figures(found)["floor friction"] == pytest.approx(0.4, rel=0.1)


@pytest.mark.parametrize(
    ("motion", "base"), [(squat, "logged"), (squat, "none"), (scissor, "logged")]
)
def test_friction_of_joints_is_neither(biped: Robot, motion: Motion, base: str) -> None:
    """It stays dry friction, as large as it is."""
    true = biped.with_joints(frictionloss=np.full(6, 0.25))
    found = causes(logged(true, motion, base=base), biped)
    assert found.ranking[0] == "dry friction"
    assert found.overall["dry friction"] > 0.8
    assert found.overall["start estimate"] + found.overall["contact"] < 0.05
    size = found.amplitude[:, found.causes.index("dry friction")]
    assert np.median(size) == pytest.approx(0.25, rel=0.15)


def test_no_start_is_moved_beyond_what_a_reading_errs_by(biped: Robot) -> None:
    """A base that is logged with fifteen degrees of tilt is not explained by fifteen degrees."""
    found = causes(logged(biped, squat, 15.0), biped)
    told = figures(found)
    assert abs(told.get("base pitch", 0.0)) <= 5.0 + 1e-9
    assert abs(told.get("base height", 0.0)) <= 10.0 + 1e-9


def test_a_fixed_arm_has_neither(so101: Robot) -> None:
    """Nothing is tried, and nothing told, of a floor it does not have."""
    world = MujocoWorld(so101, 50, physics_step=0.005)
    motion = np.tile(so101.joints.default, (60, 1))
    found = attribute([record(world, motion, "held", start=world.home())], world, max_windows=2)
    assert not {"start estimate", "contact"} & set(found.causes)
    assert "sizes" not in found.to_dict()
