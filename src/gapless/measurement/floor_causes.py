"""Causes of a gap that only a robot on a floor has: where its replays start, and its contacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gapless.measurement.causes import Cause, CauseSize
from gapless.measurement.start_estimate import StartEstimate
from gapless.measurement.trials import Alteration, Trials
from gapless.parameters.kinds import KINDS
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

START, CONTACT = "start estimate", "contact"


def floor_causes(trials: Trials) -> tuple[Cause, ...]:
    """Candidates beside those of actuators; none for a robot whose base is held."""
    if trials.world.robot.mount != "free":
        return ()
    # PhysX has no softness, and an estimated base stands on the floor as the model has it.
    felt = isinstance(trials.world, MujocoWorld) and bool(trials.windows.base_weight.all())
    soft = (SOFT_FLOOR,) if felt else ()
    return (start_cause(StartEstimate(trials)), SLIPPERY_FLOOR, *soft)


def start_cause(estimate: StartEstimate) -> Cause:
    """Starts that are re-estimated; the amount is how many steps of that were taken."""
    return Cause(
        START,
        "deg",
        first=lambda robot, _: _all(robot, 1.0),
        lowest=lambda robot: _all(robot, estimate.at),
        highest=lambda robot: _all(robot, estimate.at + 1),
        apply=estimate.apply,
        shared=True,
        aim=estimate.aim,
        sizes=lambda _, steps: _start_sizes(estimate, steps),
    )


def _start_sizes(estimate: StartEstimate, steps: float) -> tuple[CauseSize, ...]:
    """Tilt first, which is the size that joints are told; then what it is made of."""
    roll, pitch, height, share = estimate.after(steps).T
    tilt = np.degrees(np.hypot(roll, pitch))
    faster = share * estimate.velocity_change()
    told = (
        ("base tilt", tilt, "deg"),
        ("base roll", np.degrees(roll), "deg"),
        ("base pitch", np.degrees(pitch), "deg"),
        ("base height", 1e3 * height, "mm"),
        ("joint velocities", faster, "rad/s"),
    )
    return tuple(
        CauseSize(START, what, float(values.mean()), float(values.std()), unit)
        for what, values, unit in told
    )


def _floor_cause(name: str, unit: str, sign: float, part: float) -> Cause:
    """One figure of the floor that is off: the amount is how far, towards `sign`.

    Args:
        name: the figure.
        unit: of the amount.
        sign: in which direction a robot is usually wrong.
        part: of the figure that the first probe moves it by.
    """
    kind = KINDS[f"floor_{name}"]

    def figure(robot: Robot, amount: float) -> float:
        own = getattr(robot.floor, name)
        low, high = kind.lower(robot, "", own), kind.upper(robot, "", own)
        return float(np.clip(own + sign * amount, min(low, own), max(high, own)))

    def apply(now: Alteration, amount: np.ndarray) -> Alteration:
        floor = replace(now.robot.floor, **{name: figure(now.robot, float(amount[0]))})
        return replace(now, robot=now.robot.with_floor(floor))

    def reach(direction: float) -> Callable[[Robot], np.ndarray]:
        """How far the amount may go that way."""
        return lambda robot: _all(
            robot, sign * (figure(robot, direction * np.inf) - getattr(robot.floor, name))
        )

    return Cause(
        CONTACT,
        unit,
        first=lambda robot, _: _all(robot, part * getattr(robot.floor, name)),
        lowest=reach(-1.0),
        highest=reach(1.0),
        apply=apply,
        shared=True,
        sizes=lambda robot, amount: (
            CauseSize(CONTACT, f"floor {name}", figure(robot, amount), 0.0, kind.unit),
        ),
    )


def _all(robot: Robot, value: float) -> np.ndarray:
    return np.full(len(robot.joints.names), value)


SLIPPERY_FLOOR = _floor_cause("friction", "of friction", -1.0, 0.5)
SOFT_FLOOR = _floor_cause("softness", "s", 1.0, 1.0)
