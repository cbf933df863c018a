"""The soak, for a short time: each fault once over each link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.deployment.command_watchdog import WatchedBody
from gapless.deployment.robot_link import JointCommand
from gapless.deployment.safety_limits import SafetyLimits
from gapless.robots import Robot
from gapless.worlds import MujocoWorld

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install gapless[deploy]")
SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
def test_every_fault_is_answered_and_nothing_beyond_limits_arrives(tmp_path: Path) -> None:
    """By its own check, within a control step of being visible; recordings are whole."""
    out = tmp_path / "soak.json"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(SOAK.parent)])}
    command = [sys.executable, str(SOAK), "--minutes", "0.1", "--json", str(out)]
    subprocess.run(command, check=True, env=env, timeout=600)
    for found in json.loads(out.read_text()):
        assert found["commands_heard"] > 100 and found["commands_beyond_limits"] == 0
        assert found["recordings_whole"] == found["flights"]
        for row in found["rows"]:
            assert row["answered"] == row["times"], (found["link"], row)
            assert row["worst_ticks"] <= 1, (found["link"], row)


def test_the_judge_counts_what_no_limit_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the range, leaps, more torque than there is, no numbers; not what is allowed."""
    monkeypatch.syspath_prepend(str(SOAK.parent))
    from soak_robot import Judge

    robot = Robot.load("go2", mount="fixed")
    body = WatchedBody(MujocoWorld(robot, 100, physics_step=0.005), None, patience=9.0)
    judge, own = Judge(body, SafetyLimits.of_robot(robot, ())), robot.joints
    ones = np.ones(len(own))

    def beyond(q: np.ndarray, kp: float, now: float) -> bool:
        before = judge.beyond
        body.hear(JointCommand.of_targets(q, kp * ones, ones), now)
        return judge.beyond > before

    assert not beyond(own.default, 20.0, 0.0) and not beyond(own.default + 0.01, 20.0, 0.02)
    assert beyond(own.upper + 0.1, 0.1, 9.0) and not beyond(own.upper + 0.1, 0.0, 9.02)
    assert not beyond(own.default, 0.1, 20.0) and beyond(own.upper, 0.1, 20.001)
    assert beyond(own.upper, 400.0, 40.0) and beyond(own.default * np.nan, 20.0, 50.0)
