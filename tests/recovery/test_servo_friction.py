"""Recovery: how a servo's friction depends on its load comes back from recordings of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.identification import IdentifySettings, identify
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.recordings.split import Split
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

SERVO = """
<mujoco model="servo"><compiler angle="radian"/><worldbody>
  <body name="arm"><joint name="swing" axis="0 1 0" armature="0.01" range="-3 3"/>
    <inertial pos="0 0 -0.15" mass="1.2" diaginertia="1e-4 1e-4 1e-4"/></body>
</worldbody><actuator><position name="swing" joint="swing" kp="6" kv="0.15"/></actuator></mujoco>
"""
NAMES = ["load_friction", "backdrive_friction", "quadratic_friction"]
TRUTH = Effects(load_friction=0.12, backdrive_friction=0.2, quadratic_friction=0.15)
NOISE = 2e-4


@pytest.fixture(scope="module")
def servo(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """A pendulum on a servo with a torque limit of 4 N·m."""
    path = tmp_path_factory.mktemp("servo") / "servo.xml"
    path.write_text(SERVO)
    return Robot.from_mjcf(path).with_joints(effort=4.0, frictionloss=0.02)


def swings(truth: MujocoWorld) -> list[Recording]:
    """Slow and quick swings, so that gravity is lifted, let down and thrown."""
    rng, time = np.random.default_rng(0), np.arange(300) / 50
    shapes = [(1.4, 0.3, 0.0), (0.9, 0.8, 0.6), (1.6, 0.5, -0.5), (0.7, 1.2, 1.0), (1.2, 0.4, 0.8)]
    found = []
    for i, (size, speed, middle) in enumerate(shapes):
        wave = size * np.sin(2 * np.pi * speed * time) + 0.2 * np.sin(9 * time)
        targets = (middle * np.minimum(time, 1.0) + wave)[:, None]
        clip = record(truth, targets, f"swing{i}", start=truth.home(), conditions=Conditions())
        noisy = clip.q + rng.normal(0, NOISE, clip.q.shape)
        speed = clip.channels["dq"] + rng.normal(0, 10 * NOISE, clip.q.shape)
        found.append(replace(clip, q=noisy, channels={"dq": speed}))
    return found


@pytest.mark.slow
def test_friction_under_load_comes_back(servo: Robot) -> None:
    """Load, direction and square, each within a tenth, found together; two of them lie two or
    three spreads from their priors, which therefore count little."""
    clips = swings(MujocoWorld(servo, effects=TRUTH, physics_step=0.004))
    settings = IdentifySettings(windows=24, physics_step=0.004, prior_weight=0.1)
    found = identify(Split.of(clips[:4], clips[4:]), servo, NAMES, settings=settings)
    values = {name.split("/")[0]: value for name, value in found.values.items()}
    for name in NAMES:
        assert values[name] == pytest.approx(getattr(TRUTH, name), rel=0.1), name


def test_the_damping_that_logs_state_comes_back_as_a_ratio(servo: Robot) -> None:
    """A model without damping gain, logs that state one: the drive makes 0.6 of what they say."""
    bare = servo.with_joints(kd=0 * servo.joints.kd)
    stated = Conditions(gains={"swing": (6.0, 0.5)})
    truth = MujocoWorld(bare.with_joints(kd=0.6 * 0.5), physics_step=0.004)
    clips = [replace(clip, conditions=stated) for clip in swings(truth)]
    settings = IdentifySettings(windows=24, physics_step=0.004)
    found = identify(Split.of(clips[:4], clips[4:]), bare, ["kd_ratio"], settings=settings)
    assert found.values["kd_ratio/swing"] == pytest.approx(0.6, rel=0.03)
