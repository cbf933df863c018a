"""Whether a robot may be started at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState, RobotLink
from gapless.deployment.safety_events import Trip
from gapless.deployment.safety_limits import KINDS, SafetyLimits
from gapless.deployment.state_checks import command_trips, state_trips
from gapless.errors import SafetyError


def require_startable(
    limits: SafetyLimits, link: RobotLink, state: LinkState | None, first: JointCommand
) -> None:
    """Refuse to begin where anything is in doubt; every reason is told.

    Args:
        limits: of the robot.
        link: to it.
        state: newest sample of it.
        first: what it would be told first.
    """
    problems = list(start_problems(limits, link, state, first))
    if problems:
        raise SafetyError("the robot is not started: " + "; ".join(problems))


def start_problems(
    limits: SafetyLimits, link: RobotLink, state: LinkState | None, first: JointCommand
) -> Iterator[str]:
    """Everything that stands against a start."""
    if link.is_real and not limits.signed_by:
        yield "nobody signed the safety limits (signed_by in safety.toml is empty)"
    lacking = sorted(set(link.joints) - set(limits.joints.names))
    if lacking:
        yield f"the safety limits know no {', '.join(lacking)}: they are of another robot"
        return
    for name, kind in KINDS.items():
        if kind.channel and limits.on(name) and kind.channel not in link.channels:
            yield f"check {name!r} needs {kind.channel}, which this link has not (action = 'off'?)"
    if state is None:
        yield "nothing was received from the robot"
        return
    joints = limits.joints.in_order(link.joints)
    trips = [*state_trips(limits, joints, state), *command_trips(limits, joints, first)]
    yield from dict.fromkeys(_in_words(trip) for trip in trips)
    if not trips:
        yield from _far_from_start(limits, link, state, first)


def _in_words(trip: Trip) -> str:
    whose = f" of {trip.joint}" if trip.joint else ""
    return f"{trip.check}{whose}: " + (trip.why or f"{trip.value:.4g} passes {trip.limit:.4g}")


def _far_from_start(
    limits: SafetyLimits, link: RobotLink, state: LinkState, first: JointCommand
) -> Iterator[str]:
    """A robot that would jump, or that somebody is moving."""
    # A joint without a position gain is not drawn anywhere.
    away = np.where(first.kp > 0, np.abs(first.q - state.q), 0.0)
    values = {"start_distance": away, "start_velocity": np.abs(state.dq)}
    for check, value in values.items():
        worst = int(np.argmax(value))
        if value[worst] > limits.limit(check):
            yield (
                f"{check} of {link.joints[worst]}: {value[worst]:.3g} passes "
                f"{limits.limit(check):.3g}; bring the robot there slowly first"
            )
