"""Whether a motion can be tracked: each check finds the fault that was planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import Robot
from gapless.cli.main import main
from gapless.motions.motion import Motion
from gapless.motions.trackability import Trackability, check_trackability


@pytest.fixture(scope="module")
def robot() -> Robot:
    """On its feet."""
    return Robot.load("go2", mount="free")


@pytest.fixture(scope="module")
def stands(robot: Robot) -> Motion:
    """Two seconds of standing still."""
    n = 101
    pos = np.tile([0.0, 0.0, robot.standing_height], (n, 1))
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
    q = np.tile(robot.joints.default, (n, 1))
    return Motion("stands", robot.joints.names, 50.0, q, pos, quat)


def worst(found: Trackability, name: str) -> float:
    """Value of a check."""
    return next(c.value for c in found.checks if c.name == name)


def test_standing_can_be_tracked(stands: Motion, robot: Robot) -> None:
    """Nothing is wrong with it."""
    found = check_trackability(stands, robot)
    assert found.ok and all(c.ok for c in found.checks)
    assert found.answer == "stands can be tracked by go2"


def test_feet_in_the_floor(stands: Motion, robot: Robot) -> None:
    """By how much, and at which foot; deeper than 5 cm is refused."""
    low = replace(stands, base_pos=stands.base_pos - np.array([0.0, 0.0, 0.08]))
    found = check_trackability(low, robot)
    assert not found.ok and "feet below the floor" in found.answer
    assert worst(found, "feet below the floor") == pytest.approx(0.08, abs=0.003)


def test_feet_that_slide(stands: Motion, robot: Robot) -> None:
    """A standing robot that moves at half a metre per second slides; that is a doubt."""
    along = np.linspace(0.0, 1.0, len(stands))[:, None] * [1.0, 0.0, 0.0]
    found = check_trackability(replace(stands, base_pos=stands.base_pos + along), robot)
    assert found.ok and "sliding of feet" in found.answer
    assert worst(found, "sliding of feet") == pytest.approx(0.5, rel=0.02)


def test_limits_of_joints(stands: Motion, robot: Robot) -> None:
    """Range and speed, by joint."""
    q = stands.q.copy()
    q[:, 2] = robot.joints.upper[2] + 0.3
    found = check_trackability(replace(stands, q=q), robot)
    check = found.checks[0]
    assert not found.ok and check.where == robot.joints.names[2]
    assert check.value == pytest.approx(0.3)
    q = stands.q.copy()
    q[50:, 0] += 0.5 * (robot.joints.upper[0] - robot.joints.default[0])
    jumped = check_trackability(replace(stands, q=np.repeat(q, 1, axis=0)), robot)
    speed = 0.25 * (robot.joints.upper[0] - robot.joints.default[0]) * 50
    assert jumped.checks[1].value == pytest.approx(speed / robot.joints.velocity[0], rel=1e-6)


def test_a_robot_that_flies(stands: Motion, robot: Robot) -> None:
    """Never on the floor: a doubt."""
    high = replace(stands, base_pos=stands.base_pos + np.array([0.0, 0.0, 0.2]))
    found = check_trackability(high, robot)
    assert worst(found, "feet above the floor") == pytest.approx(0.2, abs=0.003)
    assert "feet above the floor" in found.answer


def test_the_command(stands: Motion, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 for a sound motion, 1 for one that is refused."""
    good, bad = stands.save(tmp_path / "good.npz"), tmp_path / "bad.npz"
    replace(stands, base_pos=stands.base_pos - np.array([0.0, 0.0, 0.1])).save(bad)
    assert main(["motion", "check", str(good), "--robot", "go2"]) == 0
    assert main(["motion", "check", str(bad), "--robot", "go2"]) == 1
    assert "cannot be tracked" in capsys.readouterr().out
