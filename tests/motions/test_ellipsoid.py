"""The foot lies on the ellipsoid, starts at rest, and stays within the limits."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from gapless.errors import DataError, MissingExtraError, NameMismatchError
from gapless.motions import inverse_kinematics
from gapless.motions.ellipsoid import ellipsoid
from gapless.motions.limits import check_motion
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics

needs_mink = pytest.mark.skipif(find_spec("mink") is None, reason="needs gapless[motions]")

FEET = {
    "g1": TrackingPoint("left", "left_ankle_roll_link"),
    "h1_2": TrackingPoint("left", "left_ankle_roll_link"),
    "kbot_legs": TrackingPoint("left", "foot1"),
    "kbot": TrackingPoint("left", "KB_D_501L_L_LEG_FOOT"),
    "go2": TrackingPoint("FL_foot", "FL_calf", (-0.002, 0, -0.213)),
    "so101": TrackingPoint("tool", "gripper", (0.012, -0.000218, -0.098127)),
}


def path(robot: Robot, q: np.ndarray, point: TrackingPoint) -> np.ndarray:
    """(T, 3) where the point goes."""
    return Kinematics.of(robot).points(q, points=[point])[:, 0]


@needs_mink
@pytest.mark.parametrize("name", FEET)
def test_the_foot_is_on_the_ellipsoid(name: str) -> None:
    """Forward kinematics satisfies the ellipsoid's equation to 5 mm, within all limits."""
    robot = Robot.load(name, mount="fixed")
    radii = np.array([0.04, 0.03, 0.035])
    home = path(robot, robot.joints.default, FEET[name])[0]
    centre = home + ([0, 0, 0.06] if name != "so101" else [-0.06, 0, 0.03])
    motion = ellipsoid(robot, 4.0, foot=FEET[name].name, radii=tuple(radii), centre=tuple(centre))
    found = path(robot, motion.targets(robot), FEET[name])
    share = np.linalg.norm((found - centre) / radii, axis=1)
    assert np.abs(share - 1).max() * radii.max() < 0.005
    assert np.ptp(found, axis=0) == pytest.approx(2 * radii, rel=0.25)
    report = check_motion(motion, robot)
    assert report.ok, str(report)


@needs_mink
@pytest.mark.parametrize("name", ["g1", "kbot_legs", "h1_2"])
def test_defaults_are_reachable_and_start_at_rest(name: str) -> None:
    """Without options the limb's own size decides; the first steps are far smaller than later."""
    robot = Robot.load(name, mount="fixed")
    motion = ellipsoid(robot, 4.0)
    assert len(motion) == 200
    steps = np.abs(np.diff(motion.q, axis=0)).max(axis=1)
    assert steps[0] < 0.03 * steps.max()
    assert steps.max() < 0.1
    assert all("left" in joint for joint in motion.joints)
    assert check_motion(motion, robot, margin=0.02).ok


@needs_mink
def test_a_fast_clock_is_interpolated() -> None:
    """At the paper's 500 Hz the path is the same, and so is the right foot's to its own side."""
    robot = Robot.load("kbot_legs", mount="fixed")
    slow, fast = (ellipsoid(robot, 1.0, rate, foot="right", seed=3) for rate in (100, 500))
    assert len(fast) == 500
    np.testing.assert_allclose(fast.q[::5], slow.q, atol=1e-3)
    assert fast.name == "ellipsoid_foot3"
    assert all("right" in joint for joint in fast.joints)


@needs_mink
def test_one_seed_gives_one_motion(so101: Robot) -> None:
    """The seed decides where the path starts, and nothing else is random."""
    first, again, other = (ellipsoid(so101, 0.5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.q, again.q)
    assert np.abs(first.q - other.q).max() > 0.01


@needs_mink
def test_what_is_out_of_reach_says_where(so101: Robot) -> None:
    """An ellipsoid larger than the arm is refused with the distance and the time."""
    with pytest.raises(DataError, match=r"'tool' of so101 .* at \d\.\d\d s it is \d+ mm from"):
        ellipsoid(so101, 1.0, radii=(0.5, 0.5, 0.5))


def test_bad_input_is_refused(so101: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown foot, senseless sizes and a missing library say what to do."""
    with pytest.raises(NameMismatchError, match=r"unknown foot 'gripr'\. Did you mean 'gripper'"):
        ellipsoid(so101, 1.0, foot="gripr")
    with pytest.raises(DataError, match="does not move"):
        ellipsoid(so101, 1.0, foot="base")
    with pytest.raises(DataError, match="three numbers"):
        ellipsoid(so101, 1.0, radii=(0.1, 0.1))
    with pytest.raises(DataError, match="two rates"):
        ellipsoid(so101, 1.0, rates=(0.0, 1.0))
    with pytest.raises(DataError, match="no motion"):
        ellipsoid(so101, 0.0)
    monkeypatch.setattr(inverse_kinematics, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'gapless\[motions\]'"):
        ellipsoid(so101, 1.0)
