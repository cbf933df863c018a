"""Real logs of an XL330 that swings a weight: gains by a mapping, against torques of the weight."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gapless.recordings import Dataset
from gapless.recordings.importing import import_dataset
from gapless.recordings.options import ImportOptions
from gapless.recordings.recording import Recording
from gapless.robots import Robot

PENDULUM = """<mujoco><worldbody><body name="arm"><joint name="pivot" axis="0 -1 0"/>
<inertial pos="0 0 -.1" mass=".49" diaginertia="1e-4 1e-4 1e-4"/></body></worldbody>
<actuator><position joint="pivot" kp="1" kv=".1" forcerange="-.76 .76"/></actuator></mujoco>"""
MAPPING = """time = "t"
joints = ["pivot"]
q = "position"
target = "goal_position"
pairing = "acts_after"
[gains]
kp = { scalar = "register" }
[servo]
kind = "dynamixel_xl330"
supply = { column = "input_volts" }
stall_torque = 0.52
no_load_speed = 10.79
voltage = 5.0
"""
GRAVITY, INERTIA = 0.49 * 9.81 * 0.1, 0.49 * 0.1**2
"""Of the weight on its rod: N·m, kg·m²."""


@pytest.fixture(scope="module")
def swings(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    """The sinusoids at four registers, converted and imported."""
    path = tmp_path_factory.mktemp("bam")
    (path / "logs").mkdir()
    for file in sorted((shared_data / "bam_xl330").glob("*.json")):
        log = json.loads(file.read_text())
        if (log.get("motor"), log["trajectory"]) == ("xl330", "sin_sin"):
            names = ("position", "goal_position", "input_volts")
            columns = {k: np.array([row[k] for row in log["entries"]]) for k in names}
            time = np.array([row["timestamp"] for row in log["entries"]])
            np.savez(path / "logs" / f"{log['kp']}.npz", t=time, register=log["kp"], **columns)
    (path / "pendulum.xml").write_text(PENDULUM)
    (path / "mapping.toml").write_text(MAPPING)
    robot = Robot.load(path / "pendulum.xml")
    how = ImportOptions(mapping=path / "mapping.toml")
    import_dataset("generic", path / "logs", robot, path / "data", how)
    return list(Dataset.open(path / "data"))


def weighed(clip: Recording, longest: float) -> np.ndarray:
    """kp, kd and friction with which the motor's torque carries and moves the weight."""
    assert clip.target is not None
    q, error = clip.q[:, 0], (clip.target - clip.q)[:, 0]
    dq = np.gradient(q) * clip.rate
    ddq = np.gradient(np.convolve(dq, np.ones(9) / 9, "same")) * clip.rate
    causes = np.stack([error, -dq, -np.tanh(dq / 0.05)], axis=1)
    free = np.abs(error) < longest  # the duty is not at its limit
    torque = GRAVITY * np.sin(q) + INERTIA * ddq
    return np.linalg.lstsq(causes[free], torque[free], rcond=None)[0]


def test_registers_give_the_torques_that_hold_the_weight(swings: list[Recording]) -> None:
    """Within a quarter, from registers that differ eightfold; the manual's constant is not."""
    assert [clip.name for clip in swings] == ["100", "200", "400", "800"]
    for clip in swings:
        kp, kd = clip.conditions.gains["pivot"]
        found = weighed(clip, 0.9 * 0.76 / kp)
        assert 0.75 < found[0] / kp < 1.05, clip.name
        assert 0.8 < found[1] / kd < 1.3, clip.name
        assert found[0] / (2 * kp) < 0.5, "register / 128 of the manual"
