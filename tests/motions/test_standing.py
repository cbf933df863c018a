"""Standing motions: feet stay where they are."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.motions.limits import check_motion
from gapless.motions.standing import stand, sway
from gapless.robots import Kinematics, Robot
from gapless.robots.joints import TrackingPoint


@pytest.mark.parametrize("name", ["g1", "h1_2", "go2"])
def test_feet_stay_while_the_body_moves(name: str) -> None:
    """Every foot keeps its place against the others, and the body sinks as deep as asked."""
    robot = Robot.load(name, mount="free")
    motion = stand(robot, 4.0, depth=0.04)
    feet = robot.link_groups["feet"]
    ends = {p.body: p for p in robot.end_effectors}
    points = [ends.get(f, TrackingPoint(f, f)) for f in feet]
    hung = Kinematics.of(robot.with_mount("fixed"))
    places = hung.points(motion.targets(robot, robot.rate), points=points)
    apart = np.linalg.norm(places[:, 0] - places[:, 1], axis=1)
    assert np.ptp(apart) < 0.006
    assert np.ptp(places[:, 0, 2]) == pytest.approx(0.04, abs=0.012)


def test_a_standing_motion_passes_the_checks() -> None:
    """It neither tips, nor collides, nor breaks limits."""
    robot = Robot.load("g1", mount="free")
    assert check_motion(stand(robot, 4.0, seed=1), robot).ok


def test_seeds_give_other_motions() -> None:
    """The same seed gives the same motion."""
    robot = Robot.load("go2", mount="free")
    first, again, other = (stand(robot, 2.0, seed=s).q for s in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.allclose(first, other)


def test_a_robot_without_feet_cannot_stand(so101: Robot) -> None:
    """The message says what is missing."""
    with pytest.raises(DataError, match="feet"):
        stand(so101, 2.0)


def test_a_squat_too_deep_is_refused() -> None:
    """The foot that loses its place is named."""
    with pytest.raises(DataError, match=r"ankle_roll_link.*smaller depth"):
        stand(Robot.load("g1"), 2.0, depth=0.7)


@pytest.mark.parametrize("seconds", [0, 0.01, np.nan])
def test_too_short_a_motion_is_refused(seconds: float) -> None:
    """Fewer than two samples are none."""
    with pytest.raises(DataError, match=r"s at 50\.0 Hz is no motion"):
        stand(Robot.load("g1"), seconds, 50)


def test_a_sway_moves_sideways_only() -> None:
    """The arms hang, the body keeps its height, and it passes the checks."""
    robot = Robot.load("g1", mount="free")
    motion = sway(robot, 4.0, seed=2)
    arms = robot.joints.pick(robot.joint_groups["arms"])
    assert motion.name == "sway_2"
    assert np.allclose(motion.q[:, arms], robot.joints.default[arms])
    assert np.ptp(motion.q[:, robot.joints.index("left_hip_roll_joint")]) > 0.02
    assert check_motion(motion, robot).ok
