"""Every check trips, damping comes within one step, and nothing arms again by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.deployment.robot_link import JointCommand
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import KINDS, SafetyCheck
from safe_arm import DT, NAMES, command, limits, state

NAN, TWO = float("nan"), np.ones(2)
LEANING = np.array([np.cos(0.45), np.sin(0.45), 0.0, 0.0])
AT_ONCE: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "finite": ({"q": np.array([0.0, NAN])}, {}, DT),
    "position": ({"q": np.array([2.2, 0.0])}, {}, DT),
    "velocity": ({"dq": np.array([0.0, -12.5])}, {}, DT),
    "torque": ({"torque": np.array([31.0, 0.0])}, {}, DT),
    "tilt": ({"base_quat_wxyz": LEANING}, {}, DT),
    "height": ({"base_pos": np.array([0, 0, 0.29])}, {}, DT),
    "temperature": ({"temperature": np.array([30.0, 86.0])}, {}, DT),
    "voltage": ({"voltage": 39.0}, {}, DT),
    "motor_fault": ({"motor_fault": np.array([0, 4])}, {}, DT),
    "output": ({}, {"output": np.array([1.0, -101.0])}, DT),
    "deadline": ({}, {}, 7 * DT),
}
"""Check -> what makes it trip: a sample, a command, a time since the step before."""
COMMANDS = {
    "a target that is no number": {"q": np.array([NAN, 0.0])},
    "an infinite torque": {"tau": np.array([0.0, np.inf])},
    "a negative gain": {"kp": np.array([-1.0, 5.0])},
    "an output that is no number": {"output": np.array([NAN])},
    "three joints": {"q": np.zeros(3)},
}


def ready() -> SafetyFilter:
    """A filter whose robot has been all right for some steps."""
    filter_ = SafetyFilter(limits(), NAMES)
    for k in range(5):
        sent, events = filter_.step(state(k), command(), DT)
        assert not events and not sent.damps
    return filter_


def require_damping(sent: Any) -> None:
    """Neither towards anything nor with any torque: only against motion."""
    assert sent.damps and (sent.kp == 0).all() and (sent.tau == 0).all()
    np.testing.assert_array_equal(sent.kd, [3.0, 3.0])
    assert np.isfinite(sent.q).all()


@pytest.mark.parametrize("check", AT_ONCE)
def test_a_check_trips_and_damps_in_the_same_step(check: str) -> None:
    """The bad sample is never answered by anything but damping; and it stays damped."""
    shown, wanted, dt = AT_ONCE[check]
    filter_ = ready()
    sent, events = filter_.step(state(9, **shown), command(**wanted), dt)
    require_damping(sent)
    assert [e.check for e in events] == [check] and events[0].action == "damp"
    assert filter_.damped == events[0] and check in str(events[0])
    for k in range(10, 200):  # all is well again: it does not matter
        sent, events = filter_.step(state(k), command(), DT)
        require_damping(sent)
        assert events == ()


@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_that_no_clamp_can_mend_damps(what: str) -> None:
    """NaN is a fault, not the absence of a limit."""
    filter_ = ready()
    sent, events = filter_.step(state(9), replace(command(), **COMMANDS[what]), DT)
    require_damping(sent)
    assert events[0].check in ("finite", "output")


def test_old_samples_damp() -> None:
    """The same number, a smaller one and none at all are all no new sample."""
    for old in (state(4), state(3), None):
        filter_ = ready()
        told = [filter_.step(old, command(), DT) for _ in range(3)]
        require_damping(told[-1][0])
        assert filter_.damped is not None and filter_.damped.check == "stale"
    filter_ = ready()
    for k in (4, 4, 5, 5, 5, 6):  # two missing ones are a bad cable, not a fault
        assert not filter_.step(state(k), command(), DT)[0].damps


def test_nothing_is_sent_before_the_first_sample() -> None:
    """A robot that nobody heard of is not moved."""
    sent, events = SafetyFilter(limits(), NAMES).step(None, command(), DT)
    require_damping(sent)
    assert events[0].check == "stale"


def test_steps_that_come_late_again_and_again_damp() -> None:
    """Five in a row; four and one in time are not five."""
    filter_ = ready()
    for k, late in enumerate([2, 2, 2, 2, 1, 2, 2, 2, 2]):
        assert not filter_.step(state(10 + k), command(), late * DT)[0].damps
    sent, events = filter_.step(state(30), command(), 2 * DT)
    require_damping(sent)
    assert events[0].check == "deadline"


@pytest.mark.parametrize("dt", [0.0, -DT, NAN, float("inf")])
def test_a_clock_that_makes_no_sense_damps(dt: float) -> None:
    """Time goes forward, or nothing is known."""
    filter_ = ready()
    sent, _ = filter_.step(state(9), command(), dt)
    require_damping(sent)
    assert filter_.damped is not None


def test_a_blocked_joint_damps() -> None:
    """Ten steps far from its target; a joint without a position gain may be anywhere."""
    wide = limits(tracking=SafetyCheck(0.5, "damp"), clamped=SafetyCheck(0, "off"))
    for kp, damps in ((5.0, True), (0.0, False)):
        filter_ = SafetyFilter(wide, NAMES)
        sent = [filter_.step(state(k), command(1.0, kp), DT)[0] for k in range(30)]
        assert sent[-1].kp.any() == (not damps and kp > 0)
        assert (filter_.damped is not None) == damps
        assert not damps or filter_.damped.check == "tracking"  # type: ignore[union-attr]


def test_a_robot_in_the_air_damps() -> None:
    """Half a second of flight is a jump; more than a second is a robot that is lifted or fell."""
    filter_, air = ready(), {"contact": np.zeros(2)}
    for k in range(45):
        assert not filter_.step(state(10 + k, **air), command(), DT)[0].damps
    assert not filter_.step(state(60), command(), DT)[0].damps
    sent = [filter_.step(state(61 + k, **air), command(), DT)[0] for k in range(52)]
    require_damping(sent[-1])
    assert filter_.damped is not None and filter_.damped.check == "contact"


def test_targets_stay_within_the_range_of_joints() -> None:
    """And events say which joint, by how much."""
    at = state(9, q=1.95 * TWO)
    filter_ = SafetyFilter(limits(), NAMES)
    sent, events = filter_.step(at, command(np.array([2.1, 1.9])), DT)
    np.testing.assert_allclose(sent.q, [2.0, 1.9])
    assert [(e.check, e.joint, e.action) for e in events] == [("target_position", "hip", "clamp")]


def test_joints_that_only_brake_have_no_target_to_clamp() -> None:
    """A robot that rests on the end of its range may do so for as long as it likes."""
    filter_ = SafetyFilter(limits(), NAMES)
    for k in range(200):
        resting = state(k, q=2.05 * TWO)
        sent, events = filter_.step(resting, JointCommand.damping(TWO, resting.q), DT)
        assert events == () and filter_.damped is None
    np.testing.assert_array_equal(sent.kd, TWO)


def test_targets_move_no_faster_than_they_may() -> None:
    """From the robot at first, from the last target afterwards; a late step allows no leap."""
    filter_ = SafetyFilter(limits(), NAMES)
    first, events = filter_.step(state(1), command(1.0), DT)
    np.testing.assert_allclose(first.q, 0.2)
    second, _ = filter_.step(state(2), command(1.0), 3 * DT)
    np.testing.assert_allclose(second.q, 0.4)
    assert [e.check for e in events] == ["target_rate"]


def test_a_torque_beyond_the_motor_is_not_asked_for() -> None:
    """The target comes nearer; a braking motor keeps its brake."""
    filter_ = SafetyFilter(limits(target_rate=SafetyCheck(1.0, "off")), NAMES)
    sent, events = filter_.step(state(1), command(1.0, kp=50.0), DT)
    np.testing.assert_allclose(sent.torque(np.zeros(2), np.zeros(2)), 20.0)
    assert [e.check for e in events] == ["target_torque"]
    moving = state(2, dq=11 * TWO)
    braking = replace(command(0.0), kd=4 * TWO)
    sent, _ = filter_.step(moving, braking, DT)
    np.testing.assert_allclose(sent.kd, 4.0)
    sent, _ = filter_.step(state(3), command(0.0, tau=np.array([25.0, 0.0])), DT)
    np.testing.assert_allclose(sent.tau, [20.0, 0.0])


def test_a_speed_beyond_the_motor_is_not_asked_for() -> None:
    """Of a commanded velocity."""
    sent, events = SafetyFilter(limits(), NAMES).step(state(1), command(dq=15 * TWO), DT)
    np.testing.assert_allclose(sent.dq, 10.0)
    assert events[0].check == "target_velocity"


def test_all_motors_together_stay_within_a_power() -> None:
    """Joints that put energy into the motion share what there is."""
    moving = state(1, dq=np.array([8.0, 8.0]))
    wanted = command(0.0, kp=0.0, tau=18 * TWO)
    sent, events = SafetyFilter(limits(), NAMES).step(moving, wanted, DT)
    assert np.sum(sent.torque(moving.q, moving.dq) * moving.dq) == pytest.approx(100.0)
    assert [e.check for e in events] == ["power"]


def test_clamping_without_end_damps() -> None:
    """Fifty steps more of it than without it."""
    off = SafetyCheck(1.5, "off")  # this robot does nothing at all
    filter_ = SafetyFilter(limits(tracking=off, powerless=off), NAMES)
    clamped = 0
    for k in range(200):
        sent, _ = filter_.step(state(k), command(1.99, kp=100.0), DT)
        if filter_.damped is not None:
            break
        clamped += 1
    require_damping(sent)
    assert clamped == 50 and filter_.damped is not None and filter_.damped.check == "clamped"


def test_clamping_now_and_then_does_not() -> None:
    """A limit at work is no fault."""
    filter_ = SafetyFilter(limits(), NAMES)
    for k in range(400):
        want = 2.5 if k % 2 else 1.9
        sent, _ = filter_.step(state(k, q=1.9 * TWO), command(want), DT)
    assert filter_.damped is None and not sent.damps


@pytest.mark.parametrize("check", [n for n, k in KINDS.items() if k.actions[0] == "clamp"])
def test_a_clamp_can_be_told_to_damp(check: str) -> None:
    """The person who signs decides."""
    strict = limits(**{check: SafetyCheck(0.01, "damp")})
    filter_ = SafetyFilter(strict, NAMES)
    moving = state(1, dq=TWO, q=1.9 * TWO)
    sent, events = filter_.step(moving, command(2.05, dq=TWO, tau=5 * TWO), DT)
    require_damping(sent)
    assert events[-1].check == check and events[-1].action == "damp"


@pytest.mark.parametrize("channel", sorted({k.channel for k in KINDS.values() if k.channel}))
def test_a_sensor_that_falls_silent_damps(channel: str) -> None:
    """A check that cannot be made is a check that trips."""
    sent, events = ready().step(state(9, **{channel: None}), command(), DT)
    require_damping(sent)
    assert channel in events[0].why


def test_an_operator_always_wins() -> None:
    """And is told the first reason, if there was one before."""
    filter_ = ready()
    first = filter_.damp("operator", "stop was pressed")
    require_damping(filter_.step(state(9), command(), DT)[0])
    assert filter_.damp("policy", "it raised") == first


numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@settings(deadline=None)
@given(st.lists(numbers, min_size=10, max_size=10), st.lists(numbers, min_size=4, max_size=4))
def test_whatever_comes_what_is_sent_is_within_limits(wanted: list, seen: list) -> None:
    """Any numbers in commands and samples: what leaves is finite and within the motors' limits."""
    filter_ = SafetyFilter(limits(), NAMES)
    rows = np.array(wanted).reshape(5, 2)
    given_ = replace(command(), **dict(zip(("q", "dq", "kp", "kd", "tau"), rows, strict=True)))
    at = state(1, q=np.array(seen[:2]), dq=np.array(seen[2:]))
    with np.errstate(all="ignore"):
        sent, _ = filter_.step(at, given_, DT)
    for name in ("q", "dq", "kp", "kd", "tau"):
        assert np.isfinite(getattr(sent, name)).all()
    if not sent.damps:
        assert (np.abs(sent.q) <= 2.0 + 0.1 + 1e-6).all() and (np.abs(sent.dq) <= 10).all()
        drive = sent.kp * (sent.q - at.q) + sent.tau
        brake = sent.kd * (sent.dq - at.dq)
        assert (np.abs(drive) <= 20 + np.abs(brake) + 1e-6 * (1 + np.abs(brake))).all()


@pytest.mark.parametrize("given", [0.0, 0.5])
def test_a_robot_that_no_longer_obeys_is_damped(given: float) -> None:
    """Its own watchdog, or a hand on the switch: motors that do nothing of what is asked."""
    filter_, steps = ready(), 0
    off = np.array([0.2, 0.0])
    for k in range(5, 60):
        asked = 100.0 * (0.0 - off)
        sent, _ = filter_.step(
            state(k, q=off, torque=given * asked), replace(command(), kp=100 * TWO), DT
        )
        steps += not sent.damps
    if given:
        assert filter_.damped is None and steps == 55
        return
    assert filter_.damped is not None and filter_.damped.check == "powerless"
    assert 0.3 <= steps * DT <= 0.4
