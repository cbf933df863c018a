"""A saved robot is the same robot, whatever became of the files it was read from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import ArtifactError, FormatError
from gapless.robots import Payload, Robot
from gapless.robots.saved import load_robot, save_robot

ARM = """<mujoco model="arm"><compiler angle="radian" meshdir="parts"/>
<asset><mesh name="tip" file="tip.obj"/></asset>
<worldbody><body name="upper"><joint name="a" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.3"/>
<geom type="mesh" mesh="tip" mass="0.1"/></body></worldbody>
<actuator><position joint="a" kp="20" kv="1"/></actuator></mujoco>"""
TIP = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def same(first: Robot, second: Robot) -> bool:
    """Whether both compile to the same model and say the same."""
    assert first.fingerprint() == second.fingerprint()
    assert first.joints.names == second.joints.names and first.aliases == second.aliases
    assert (first.tracking, first.notes) == (second.tracking, second.notes)
    a, b = first.model(), second.model()
    return bool(np.array_equal(a.body_mass, b.body_mass) and np.array_equal(a.qpos0, b.qpos0))


@pytest.mark.parametrize("name", ["g1", "h1_2", "so101", "go2"])
def test_built_in_robots_come_back(name: str, tmp_path: Path) -> None:
    """With loads, locks and changed figures, infinite limits too."""
    robot = Robot.load(name)
    robot = robot.with_joints(kp=1.1 * robot.joints.kp).lock([robot.joints.names[0]])
    robot = robot.with_payloads({robot.links[-1]: Payload(0.3, (0.0, 0.1, 0.0))})
    save_robot(robot, tmp_path / "robot")
    assert same(robot, load_robot(tmp_path / "robot"))


def test_a_model_of_ones_own_needs_its_files_no_longer(tmp_path: Path) -> None:
    """XML and meshes are in the folder."""
    source = tmp_path / "mine"
    (source / "parts").mkdir(parents=True)
    (source / "arm.xml").write_text(ARM)
    (source / "parts" / "tip.obj").write_text(TIP)
    robot = Robot.from_mjcf(source / "arm.xml")
    save_robot(robot, tmp_path / "robot")
    for file in (source / "arm.xml", source / "parts" / "tip.obj"):
        file.unlink()
    assert same(robot, load_robot(tmp_path / "robot"))


def test_what_is_no_robot_is_refused(tmp_path: Path) -> None:
    """A file that names anything else than a robot's parts makes nothing."""
    folder = tmp_path / "robot"
    save_robot(Robot.load("so101"), folder)
    with pytest.raises(ArtifactError):
        save_robot(Robot.load("so101"), folder)
    data = json.loads((folder / "robot.json").read_text())
    for wrong in ({"format": "x"}, {**data, "robot": {"=": "Path", "x": 1}}, {**data, "robot": {}}):
        (folder / "robot.json").write_text(json.dumps(wrong))
        with pytest.raises(FormatError):
            load_robot(folder)
