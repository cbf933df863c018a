"""Stages: only allowed steps, only where the robot is fit for them, no jump; abort anywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.deployment.control_loop import ControlLoop
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.pilot import PolicyPilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck, SafetyLimits
from gapless.deployment.transitions import ALLOWED, DAMP, HoldPilot, PilotStage, StagedPilot, mixed
from gapless.errors import DataError, NameMismatchError, SafetyError
from gapless.policies import Policy
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from safe_arm import NAMES, FakeClock, FakeLink, limits, state
from still_policy import write_policy

TWO = np.ones(2)


class Walker(HoldPilot):
    """Counts how often it is begun, and what it sees."""

    def __init__(self, angle: float) -> None:
        super().__init__(angle * TWO, 30 * TWO, 2 * TWO)
        self.begun = self.seen = 0

    def begin(self) -> None:
        """Counted."""
        self.begun += 1

    def observe(self, state: LinkState) -> None:
        """Counted."""
        self.seen += 1


def staged(**changes: PilotStage) -> StagedPilot:
    """Ten steps of blend at 50 Hz."""
    stages = {
        "zero": PilotStage(HoldPilot(0 * TWO, 20 * TWO, TWO), 0.2),
        "stand": PilotStage(HoldPilot(0.3 * TWO, 40 * TWO, TWO), 0.2),
        "locomotion": PilotStage(Walker(0.35), 0.2, distance=0.2, speed=0.5, tilt=0.3),
        "tracking": PilotStage(Walker(0.4), 0.2, distance=0.2),
    }
    return StagedPilot(stages | changes, 3 * TWO, 50)


def go(pilot: StagedPilot, steps: int = 20, **shown: object) -> list[JointCommand]:
    """So many control steps of a robot that shows this."""
    sent = []
    for k in range(steps):
        pilot.observe(state(k, **shown))
        sent.append(pilot.decide())
    return sent


def reach(*names: str, q: float = 0.3) -> StagedPilot:
    """A pilot that was led through stages."""
    pilot = staged()
    for name in names:
        pilot.request(name)
        go(pilot, q=q * TWO)
        assert pilot.stage == name, pilot.refused
    return pilot


def test_the_whole_way_and_back() -> None:
    """Damp, zero, stand, locomotion, tracking, locomotion, stand, damp."""
    way = ("zero", "stand", "locomotion", "tracking", "locomotion", "stand", DAMP)
    assert reach(*way).stage == DAMP


@pytest.mark.parametrize("at", ALLOWED)
def test_only_what_the_table_allows(at: str) -> None:
    """Everything else is refused, and changes nothing."""
    ways = {DAMP: (), "zero": ("zero",), "stand": ("zero", "stand")}
    way = ways.get(at, ("zero", "stand", at))
    for other in ALLOWED:
        pilot = reach(*way)
        if other in ALLOWED[at] or other == DAMP:
            pilot.request(other)
            go(pilot, q=0.3 * TWO)
            assert pilot.stage == other
        else:
            with pytest.raises(SafetyError, match=f"{other} is not reached from {at}"):
                pilot.request(other)
            assert pilot.stage == at
    with pytest.raises(NameMismatchError):
        staged().request("dance")


def test_it_begins_damped_and_waits() -> None:
    """However long nobody asks for anything."""
    sent = go(staged(), 100)
    assert all(command.damps for command in sent)


def test_targets_and_gains_go_over_without_a_jump() -> None:
    """From where the robot is, to the pose; and on."""
    pilot = staged()
    pilot.request("zero")
    sent = go(pilot, 15, q=0.5 * TWO)
    q, kp = (np.array([getattr(c, f)[0] for c in sent]) for f in ("q", "kp"))
    assert (np.diff(q) <= 1e-12).all() and (np.diff(kp) >= -1e-12).all()
    assert np.abs(np.diff([0.5, *q])).max() < 0.08 and np.diff([0, *kp]).max() < 3.1
    assert (q[-1], kp[-1]) == (0, 20)
    pilot.request("stand")
    sent = go(pilot, 15, q=0.0 * TWO)
    assert np.abs(np.diff([0.0, *[c.q[0] for c in sent]])).max() < 0.05
    assert (sent[-1].q[0], sent[-1].kp[0]) == (0.3, 40)


def test_while_they_blend_both_policies_are_at_work() -> None:
    """A walking robot must not be frozen to change what it does; afterwards one is enough."""
    pilot = reach("zero", "stand", "locomotion")
    walker, tracker = (pilot._stages[n].pilot for n in ("locomotion", "tracking"))
    assert isinstance(walker, Walker) and isinstance(tracker, Walker)
    before = walker.seen
    pilot.request("tracking")
    go(pilot, 20, q=0.3 * TWO)
    assert walker.seen - before == 10 and tracker.seen == 20
    assert (walker.begun, tracker.begun) == (1, 1)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({"q": 0.0 * TWO}, "0.35 rad from where it begins"),
        ({"q": 0.3 * TWO, "dq": TWO}, "moves at 1.00"),
        ({"q": 0.3 * TWO, "base_quat_wxyz": np.array([0.9, 0.44, 0, 0])}, "leans by"),
        ({"q": 0.3 * TWO, "base_quat_wxyz": np.zeros(4)}, "leans by nan"),
    ],
)
def test_a_robot_that_is_not_fit_for_a_stage_stays(shown: dict, said: str) -> None:
    """And says why."""
    pilot = reach("zero", "stand")
    pilot.request("locomotion")
    sent = go(pilot, 5, **shown)
    assert pilot.stage == "stand" and said in pilot.refused
    np.testing.assert_array_equal(sent[-1].q, 0.3 * TWO)
    pilot.request("locomotion")
    go(pilot, 1, q=0.3 * TWO)
    assert pilot.stage == "locomotion" and pilot.refused == ""


@pytest.mark.parametrize("blended", [3, 20])
@pytest.mark.parametrize("way", [("zero",), ("zero", "stand"), ("zero", "stand", "locomotion")])
def test_abort_damps_from_anywhere_at_once(way: tuple[str, ...], blended: int) -> None:
    """In the middle of a blend too; nothing but a request ends it."""
    pilot = reach(*way[:-1])
    pilot.request(way[-1])
    go(pilot, blended, q=0.3 * TWO)
    pilot.request(DAMP if way[-1] == DAMP else ALLOWED[pilot.stage][0])
    pilot.abort()
    sent = go(pilot, 50, q=0.3 * TWO)
    assert all(command.damps for command in sent) and pilot.stage == DAMP
    np.testing.assert_array_equal(sent[0].kd, 3 * TWO)
    assert not pilot.decide().kp.any()


def test_a_motion_that_is_over_ends_standing() -> None:
    """After its seconds."""
    pilot = staged(tracking=PilotStage(Walker(0.4), 0.2, seconds=0.5))
    for name in ("zero", "stand", "tracking"):
        pilot.request(name)
        go(pilot, 20, q=0.3 * TWO)
    assert pilot.stage == "tracking"
    go(pilot, 6, q=0.3 * TWO)
    assert pilot.stage == "stand"


def test_stages_must_lead_somewhere() -> None:
    """Zero and stand are needed; others are unknown."""
    with pytest.raises(DataError, match="lack zero or stand"):
        StagedPilot({"zero": PilotStage(Walker(0))}, TWO, 50)
    other = Walker(0)
    other.rate = 100  # type: ignore[assignment]
    with pytest.raises(DataError, match="locomotion is for 100 steps per second, not 50"):
        staged(locomotion=PilotStage(other))
    with pytest.raises(NameMismatchError, match="unknown stage 'fly'"):
        staged(fly=PilotStage(Walker(0)))


def test_a_mixture_begins_and_ends_with_its_parts() -> None:
    """Every field."""
    a, b = Walker(0.0).first(), JointCommand.damping(5 * TWO, TWO)
    for share, expected in ((0.0, a), (1.0, b)):
        for name in ("q", "dq", "kp", "kd", "tau"):
            np.testing.assert_array_equal(
                getattr(mixed(a, b, share), name), getattr(expected, name)
            )


def test_a_damped_start_is_near_wherever_the_robot_is() -> None:
    """The loop begins with damping, and sends nothing else."""
    link, clock = FakeLink(), FakeClock()
    link.changes = {"q": 1.5 * TWO}
    loop = ControlLoop(link, staged(), SafetyFilter(limits(), NAMES), clock=clock)
    assert loop.run(20).damped is None
    assert all(sent.damps for sent in link.sent)


def test_a_robot_is_led_to_its_policy_and_back(tmp_path: Path) -> None:
    """A Go2 that hangs in the air, through the filter: nothing is clamped, nothing trips."""
    robot = Robot.load("go2", mount="fixed")
    own, link = robot.joints, WorldLink(MujocoWorld(robot, 50))
    policy = PolicyPilot(Policy.load(_blind(write_policy(tmp_path))), robot, link.joints)
    zero = np.clip(0.0, own.lower + 0.1, own.upper - 0.1)
    pilot = StagedPilot(
        {
            "zero": PilotStage(HoldPilot(zero, own.kp, own.kd), 1.0),
            "stand": PilotStage(HoldPilot(own.default, own.kp, own.kd), 1.0),
            "locomotion": PilotStage(policy, 0.4, distance=0.5, speed=2.0),
        },
        own.kd,
        50,
    )
    safety = SafetyLimits.of_robot(robot, link.channels, 50)
    open_ = {**safety.checks, "start_velocity": SafetyCheck(0, "off")}
    safety = SafetyLimits(safety.robot, 50, safety.joints, open_)
    loop = ControlLoop(link, pilot, SafetyFilter(safety, link.joints), clock=FakeClock())
    stages = []
    for k, name in enumerate(("zero", "stand", "locomotion", "stand", DAMP)):
        pilot.request(name)
        for step in range(80):
            loop._do(80 * k + step, loop.clock.now(), 0.02)
        stages.append(pilot.stage)
        if name == "locomotion":
            np.testing.assert_allclose(link.read().q, own.default, atol=0.2)
    report = loop.report()
    assert stages == ["zero", "stand", "locomotion", "stand", DAMP], pilot.refused
    assert report.damped is None and report.counts == {}, report.events


def _blind(file: Path) -> Path:
    """A robot that is held has no base to see."""
    text = file.read_text().replace(', "projected_gravity"', ', "still"')
    file.write_text(text + '[terms.still]\nkind = "constant"\nvalue = [0, 0, -1]\n')
    return file
