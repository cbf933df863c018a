"""A robot's own URDF with what was identified, read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless import export
from gapless.closing import Run
from gapless.errors import ModelError
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from planted_run import planted_run

URDF = """<robot name="reacher"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 .1" rpy="0 .2 0"/><mass value="0.4"/>
<inertia ixx=".002" iyy=".0021" izz=".0003" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 .1"/><mass value="0.3"/>
<inertia ixx=".001" iyy=".0011" izz=".0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" effort="10" velocity="5"/><dynamics damping=".1"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 .2"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="8" velocity="6"/><dynamics damping=".1" friction=".05"/></joint>
</robot>"""
GAINS = {"*": (20.0, 1.0)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Of an arm that came from a URDF."""
    folder = tmp_path_factory.mktemp("urdf")
    (folder / "reacher.urdf").write_text(URDF)
    robot = Robot.from_urdf(folder / "reacher.urdf", gains=GAINS)
    found = {"mass/lower": 1.4, "frictionloss/elbow": 3.0, "damping": 2.0, "effort": 0.8}
    return planted_run(folder / "run", robot, found, model=None)


def test_it_moves_as_the_calibrated_robot(run: Run, tmp_path: Path) -> None:
    """Read by our own importer, with the same gains, for a second."""
    found = export(run, "urdf", tmp_path / "out")
    again = Robot.from_urdf(tmp_path / "out" / "robot.urdf", gains=GAINS)
    robot = run.world().robot
    for field in ("frictionloss", "damping", "effort", "velocity", "lower", "upper"):
        assert getattr(again.joints, field) == pytest.approx(getattr(robot.joints, field))
    assert again.inertia("lower").mass == pytest.approx(1.4 * 0.3)
    worlds = [MujocoWorld(r, 50, physics_step=0.005, threads=1) for r in (again, robot)]
    targets = 0.4 * np.sin(np.arange(50)[None, :, None] / 8 + np.arange(2))
    ours = [w.rollout(w.home(), targets).q for w in worlds]
    assert np.abs(ours[0] - ours[1]).max() < 1e-9
    assert any(line.startswith("gains") for line in found.left_out)


def test_other_robots_have_no_urdf(plain_run: Run, tmp_path: Path) -> None:
    """A built-in robot is a table of figures."""
    with pytest.raises(ModelError, match="did not come from a URDF"):
        export(plain_run, "urdf", tmp_path / "out")
