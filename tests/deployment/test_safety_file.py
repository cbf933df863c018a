"""safety.toml: written from a robot's figures, read back to the digit, never half understood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.deployment.robot_link import CHANNELS
from gapless.deployment.safety_file import FIGURES, read_safety, write_safety
from gapless.deployment.safety_limits import KINDS, SafetyLimits
from gapless.deployment.start_checks import require_startable, start_problems
from gapless.errors import FormatError, SafetyError
from gapless.robots import Robot
from safe_arm import FakeLink, command, limits, state

UNITREE = ("torque", "temperature", "base_quat_wxyz", "base_ang_vel_b", "voltage", "motor_fault")


@pytest.mark.parametrize("name", ["g1", "go2", "so101"])
def test_limits_of_a_robot_are_read_as_they_were_written(name: str, tmp_path: Path) -> None:
    """Its own range, speed, torque and gains; every check with a line that says what it is."""
    robot, file = Robot.load(name), tmp_path / "safety.toml"
    written = SafetyLimits.of_robot(robot, UNITREE)
    write_safety(file, written)
    read = read_safety(file)
    for figure in FIGURES:
        np.testing.assert_array_equal(getattr(read.joints, figure), getattr(written.joints, figure))
    assert read.checks == written.checks and read.joints.names == robot.joints.names
    assert (read.robot, read.rate, read.signed_by) == (robot.name, robot.rate, "")
    np.testing.assert_array_equal(read.joints.torque, robot.joints.effort)
    text = file.read_text()
    assert all(kind.what in text for kind in KINDS.values())


def test_checks_that_a_link_cannot_serve_are_off_in_writing() -> None:
    """The person who signs sees that nobody looks at the height."""
    g1 = Robot.load("g1")
    real, simulated = (SafetyLimits.of_robot(g1, c) for c in (UNITREE, CHANNELS))
    assert not real.on("height") and real.on("tilt") and real.on("temperature")
    assert simulated.on("height") and 0.3 < simulated.limit("height") < 0.6
    assert not SafetyLimits.of_robot(g1.with_mount("fixed"), CHANNELS).on("tilt")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('signed_by = ""', "", "signed_by"),
        ('action = "damp" }', 'action = "ignore" }', "action is 'ignore'"),
        ("tilt  ", "tilted", "tilt"),
        ("limit = 0.8", "limit = nan", "limit is nan"),
        ("[joints]", "[joint]", "joint"),
        ("damping = 1", "damping = 0", "could not brake"),
        ("lower = ", "lowest = ", "lowest"),
        ("rate = 50", 'rate = "fast"', "does not read"),
        ("[checks]", "[checks", "no valid TOML"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Nothing is assumed in place of what is missing or misspelt."""
    file = tmp_path / "safety.toml"
    robot = Robot.load("so101").with_joints(kd=1.0)
    write_safety(file, SafetyLimits.of_robot(robot, CHANNELS))
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(FormatError, match=said):
        read_safety(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """There are no limits by default."""
    with pytest.raises(FormatError, match="does not exist"):
        read_safety(tmp_path / "safety.toml")


def test_a_real_robot_needs_a_signature() -> None:
    """A simulated one does not."""
    for is_real, name, starts in ((True, "", False), (True, "Ada", True), (False, "", True)):
        link = FakeLink(is_real)
        problems = list(start_problems(limits(name), link, link.read(), command()))
        assert (problems == []) == starts, problems
    with pytest.raises(SafetyError, match="nobody signed"):
        require_startable(limits(), FakeLink(True), state(), command())


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({"q": np.array([0.9, 0.0])}, "start_distance of hip"),
        ({"dq": np.array([0.0, 1.0])}, "start_velocity of knee"),
        ({"base_quat_wxyz": np.array([0.0, 1.0, 0, 0])}, "tilt"),
        ({"voltage": 10.0}, "voltage"),
        ({"q": np.array([np.nan, 0.0])}, "not finite"),
        ({"base_quat_wxyz": np.zeros(4)}, "tilt"),
    ],
)
def test_a_robot_in_doubt_is_not_started(shown: dict, said: str) -> None:
    """Far from the first target, moving, fallen, empty or unreadable."""
    with pytest.raises(SafetyError, match=said):
        require_startable(limits("Ada"), FakeLink(True), state(**shown), command())


def test_a_link_without_what_a_check_needs_is_not_started() -> None:
    """Nor one that is silent, or that leads to another robot."""
    blind = FakeLink(lacking=("voltage", "base_pos"))
    problems = list(start_problems(limits(), blind, state(), command()))
    assert len(problems) == 2 and "voltage" in problems[1] and "base_pos" in problems[0]
    assert "nothing was received" in next(start_problems(limits(), FakeLink(), None, command()))
    other = FakeLink()
    other.joints = ("hip", "elbow")  # type: ignore[assignment]
    assert "another robot" in next(start_problems(limits(), other, state(), command()))


def test_a_number_of_hundreds_of_digits_is_refused(tmp_path: Path) -> None:
    """TOML has 64 bits; it is no float either."""
    file = tmp_path / "safety.toml"
    write_safety(file, limits())
    file.write_text(file.read_text().replace("rate = 50 ", f"rate = {10**400} ", 1))
    with pytest.raises(FormatError, match="64 bits"):
        read_safety(file)
