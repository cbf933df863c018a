"""Faults 48-53: on any doubt the robot damps, and nothing arms again by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import small_networks as nets
from gapless.deployment.control_loop import DAMPS, ControlLoop, LoopReport
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.pilot import PolicyPilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck, SafetyLimits
from gapless.errors import NameMismatchError, SafetyError
from gapless.policies import Policy
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from safe_arm import FakeClock
from still_policy import write_policy

STEPS = 40
Act = Callable[["WatchedLink"], None]


class WatchedLink(WorldLink):
    """A Go2 on its feet that keeps what it is told, and to which things happen."""

    def __init__(self) -> None:
        super().__init__(MujocoWorld(Robot.load("go2"), 50))
        self.sent: list[JointCommand] = []
        self.seen: list[LinkState] = []
        self.happens: dict[int, Act] = {}
        self.change: Callable[[LinkState], LinkState] = lambda state: state

    def read(self) -> LinkState:
        """As the robot is, or as its sensors say it is."""
        self.happens.get(len(self.seen), lambda link: None)(self)
        self.seen.append(self.change(super().read()))
        return self.seen[-1]

    def write(self, command: JointCommand) -> JointCommand:
        """Kept."""
        self.sent.append(command)
        return super().write(command)


def deployed(
    folder: Path, link: WatchedLink, output: float | np.ndarray = 0.0, **checks: SafetyCheck
) -> LoopReport:
    """A run of a policy with this output, within the limits of the robot's figures."""
    robot = Robot.load("go2")
    file = write_policy(folder)
    nets.linear(folder / "policy.onnx", np.zeros((18, 12)), output)
    limits = SafetyLimits.of_robot(robot, link.channels, 50)
    limits = replace(limits, checks={**limits.checks, **checks})
    pilot = PolicyPilot(Policy.load(file), robot, link.joints)
    safety = SafetyFilter(limits, link.joints)
    return ControlLoop(link, pilot, safety, clock=FakeClock()).run(STEPS)


def damped_at(link: WatchedLink) -> int:
    """The first step that was answered by damping; all later ones are, too."""
    damps = [command.damps for command in link.sent]
    first = damps.index(True)
    assert all(damps[first:]) and len(damps) == STEPS + DAMPS
    return first


def test_case_48_a_policy_that_gives_no_numbers(tmp_path: Path) -> None:
    """Not one of its commands leaves."""
    link = WatchedLink()
    report = deployed(tmp_path, link, np.nan)
    assert damped_at(link) == 0
    assert report.damped is not None and "not finite" in report.damped.why


def test_case_48_a_policy_that_gives_huge_numbers(tmp_path: Path) -> None:
    """They are numbers, and no policy's."""
    link = WatchedLink()
    report = deployed(tmp_path, link, 1e6)
    assert damped_at(link) == 0
    assert report.damped is not None and report.damped.check == "output"


def test_case_49_targets_beyond_what_joints_can_do(tmp_path: Path) -> None:
    """Clamped and counted; half a second of it damps. What is sent stays within the joints."""
    link, joints = WatchedLink(), Robot.load("go2").joints
    report = deployed(
        tmp_path, link, 16.0, tilt=SafetyCheck(9, "off"), height=SafetyCheck(0, "off")
    )
    assert report.damped is not None and 0 < damped_at(link) <= 26
    assert sum(report.counts.values()) > 1
    for command in link.sent[: damped_at(link)]:
        assert (command.q <= joints.upper + 1e-9).all() and (command.q >= joints.lower - 1e-9).all()
    moved = np.diff([c.q for c in link.sent[: damped_at(link)]], axis=0)
    assert np.abs(moved).max() <= 30.0 / 50 + 1e-9


def test_case_50_a_cable_that_is_out(tmp_path: Path) -> None:
    """The same sample again and again: three steps, then damping."""

    def cut(link: WatchedLink) -> None:
        old = link.seen[-1]
        link.change = lambda state: old

    link = WatchedLink()
    link.happens[11] = cut
    report = deployed(tmp_path, link)
    assert report.damped is not None and report.damped.check == "stale"
    assert damped_at(link) == 12  # read 0 was before the start; 11, 12 and 13 are old


def test_case_51_a_robot_that_falls(tmp_path: Path) -> None:
    """It is pushed over; the sample that shows it is answered by damping."""
    link = WatchedLink()
    link.happens[5] = lambda link: link.push(np.array([0.0, 6.0, 3.0]))
    report = deployed(tmp_path, link, tilt=SafetyCheck(0.3, "damp"))
    assert report.damped is not None
    assert report.damped.check in ("tilt", "height", "velocity", "torque", "position")
    assert damped_at(link) == report.damped.step - 1


@pytest.mark.parametrize(
    ("shown", "check"),
    [
        ({"temperature": np.full(12, 99.0)}, "temperature"),
        ({"voltage": 12.0}, "voltage"),
        ({"motor_fault": np.eye(12)[3]}, "motor_fault"),
    ],
)
def test_case_51_heat_an_empty_battery_and_a_motor_that_reports(
    shown: dict, check: str, tmp_path: Path
) -> None:
    """Each in the step in which it shows."""
    good = {"temperature": np.full(12, 30.0), "voltage": 30.0, "motor_fault": np.zeros(12)}

    def happen(link: WatchedLink) -> None:
        link.change = lambda state: replace(state, **good | shown)

    class Sensing(WatchedLink):
        channels = ("torque", "base_quat_wxyz", "base_ang_vel_b", "base_pos", *good)  # type: ignore[assignment]

    link = Sensing()
    link.change = lambda state: replace(state, **good)
    link.happens[9] = happen
    report = deployed(tmp_path, link, voltage=SafetyCheck(24.0, "damp"))
    assert report.damped is not None and report.damped.check == check
    assert damped_at(link) == 8


def test_case_52_what_raises_anywhere(tmp_path: Path) -> None:
    """The link breaks while it reads: damping is tried at every step that is left."""

    def broken(link: WatchedLink) -> None:
        raise OSError("the interface went down")

    link = WatchedLink()
    link.happens[7] = broken
    report = deployed(tmp_path, link)
    assert report.damped is not None and report.damped.check == "link"
    assert damped_at(link) == 6


def test_case_53_another_robot_and_a_start_far_away(tmp_path: Path) -> None:
    """Refused before anything is sent."""
    link = WatchedLink()
    link.change = lambda state: replace(state, q=state.q + 0.6)
    with pytest.raises(SafetyError, match="start_distance"):
        deployed(tmp_path, link)
    assert link.sent == []
    g1 = Robot.load("g1")
    with pytest.raises(NameMismatchError, match="is for a robot with"):
        PolicyPilot(Policy.load(tmp_path / "policy.toml"), g1, g1.joints.names)
    limits = SafetyLimits.of_robot(g1, (), 50)
    with pytest.raises(NameMismatchError, match="joint of the safety limits"):
        SafetyFilter(limits, link.joints)
