"""The causes a gap is attributed to, each as a change to a simulated robot.

An amplitude is one number a joint; zero is the nominal robot, and the change grows with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless.measurement.start_estimate import Replayed
from gapless.measurement.trials import Alteration
from gapless.parameters.holding import heaviest_load
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds.engine_world import EngineWorld

LEAST_GAIN = 0.02
"""Share of a gain that always remains."""


@dataclass(frozen=True)
class Scale:
    """What sets the size of a first probe.

    Attributes:
        error: (J,) RMS replay error, rad.
        speed: (J,) RMS speed, rad/s.
        rate: control rate, Hz.
        mass: of the whole robot, kg.
    """

    error: np.ndarray
    speed: np.ndarray
    rate: float
    mass: float


@dataclass(frozen=True)
class CauseSize:
    """One figure of a cause that joints share.

    Attributes:
        cause: its name.
        what: the figure.
        mean: over windows where they differ, else the figure.
        spread: standard deviation over windows.
        unit: of both; "1" has none.
    """

    cause: str
    what: str
    mean: float
    spread: float
    unit: str

    def __str__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        beside = f" ± {self.spread:.2g}" if self.spread else ""
        return f"{self.what} {self.mean:.2g}{beside}{unit}"


@dataclass(frozen=True)
class Cause:
    """One candidate.

    Attributes:
        name: as reports show it.
        unit: of its amplitude.
        first: (J,) amplitude of the first probe.
        lowest: (J,) most negative amplitude that makes sense.
        apply: the simulated robot, or what its recordings state, with that amplitude.
        shared: True where one amplitude serves all joints.
        highest: (J,) largest amplitude that makes sense.
        link: where a load is carried.
        aim: where it is found window by window, what it promises to do to the (N, J) error left,
            from an amount on, with a replay of any amount to check that.
        sizes: figures it stands for at an amount, the one in its unit first.
    """

    name: str
    unit: str
    first: Callable[[Robot, Scale], np.ndarray]
    lowest: Callable[[Robot], np.ndarray]
    apply: Callable[[Alteration, np.ndarray], Alteration]
    shared: bool = False
    highest: Callable[[Robot], np.ndarray] = lambda robot: np.full(_joints(robot), np.inf)
    link: str | None = None
    aim: Callable[[np.ndarray, float, Replayed], np.ndarray] | None = None
    sizes: Callable[[Robot, float], tuple[CauseSize, ...]] = lambda robot, amount: ()


def _joints(robot: Robot) -> int:
    return len(robot.joints.names)


def _nothing_less(robot: Robot) -> np.ndarray:
    return np.zeros(_joints(robot))


def _at_most(amount: float) -> Callable[[Robot], np.ndarray]:
    return lambda robot: np.full(_joints(robot), amount)


def _half_the_effort(robot: Robot) -> np.ndarray:
    """A motor that friction takes more of could not be used; without a limit nobody knows."""
    effort = robot.joints.effort
    return np.where((effort > 0) & np.isfinite(effort), 0.5 * effort, np.inf)


def _friction_that_explains(robot: Robot, scale: Scale) -> np.ndarray:
    """The dry friction under which a PD loop would rest at the error seen."""
    limit = np.where(robot.joints.effort > 0, 0.3 * robot.joints.effort, np.inf)
    return np.clip(robot.joints.kp * scale.error, 1e-4, limit)


def _viscous_that_explains(robot: Robot, scale: Scale) -> np.ndarray:
    return _friction_that_explains(robot, scale) / np.maximum(scale.speed, 0.1)


def _with_damping(now: Alteration, amount: np.ndarray) -> Alteration:
    damping = now.robot.joints.damping + amount
    return replace(now, robot=now.robot.with_joints(damping=damping))


def _with_dry_friction(now: Alteration, amount: np.ndarray) -> Alteration:
    loss = now.robot.joints.frictionloss + amount
    return replace(now, robot=now.robot.with_joints(frictionloss=loss))


def _gain_left(loss: np.ndarray | float) -> Any:
    """Probes go beyond the highest loss by their own size; a gain is never negative."""
    return np.maximum(1 - loss, LEAST_GAIN)


def _with_weaker_gain(now: Alteration, loss: np.ndarray) -> Alteration:
    robot = now.robot.with_joints(kp=now.robot.joints.kp * _gain_left(loss))
    stated = tuple(_weakened(conditions, now.robot, loss) for conditions in now.conditions)
    return replace(now, robot=robot, conditions=stated)


def _weakened(conditions: Conditions, robot: Robot, loss: np.ndarray) -> Conditions:
    """Gains a log states replace the robot's own, so the loss must reach them too."""
    gains = {
        joint: (kp * float(_gain_left(loss[robot.joints.index(joint)])), kd)
        for joint, (kp, kd) in conditions.gains.items()
    }
    return replace(conditions, gains=gains)


def _with_delay(now: Alteration, seconds: np.ndarray) -> Alteration:
    return replace(now, effects=replace(now.effects, delay=now.effects.delay + seconds))


def _with_backlash(now: Alteration, width: np.ndarray) -> Alteration:
    return replace(now, effects=replace(now.effects, backlash=now.effects.backlash + width))


def load_links(world: EngineWorld) -> tuple[str, ...]:
    """Where an unknown load is looked for: hands, feet and tools, or the root of a free robot."""
    robot, model = world.robot, world.model
    if robot.mount == "free":
        return (robot.root,)
    ends = [point.body for point in robot.end_effectors]
    ends += [link for group in ("hands", "feet") for link in robot.link_groups.get(group, ())]
    # A link welded to the world feels no load.
    return tuple(k for k in dict.fromkeys(ends) if model.body_weldid[model.body(k).id])


def _carry(link: str, now: Alteration, mass: np.ndarray) -> Alteration:
    """Add a load to a link, on top of what the recording, or else the robot, says is carried."""
    loaded = []
    for conditions in now.conditions:
        stated = conditions.payloads
        loads = dict(now.robot.payloads if stated is None else stated)
        old = loads.get(link, Payload(0.0))
        loads[link] = Payload(old.mass + float(mass[0]), old.com)
        loaded.append(replace(conditions, payloads=loads))
    return replace(now, conditions=tuple(loaded))


def _load(link: str) -> Cause:
    return Cause(
        GRAVITY,
        "kg",
        first=lambda robot, scale: np.full(_joints(robot), 0.02 * scale.mass),
        lowest=_nothing_less,
        apply=lambda now, mass: _carry(link, now, mass),
        shared=True,
        highest=lambda robot: np.full(_joints(robot), heaviest_load(robot, link)),
        link=link,
    )


def causes_of(world: EngineWorld) -> tuple[Cause, ...]:
    """Every candidate for a world; a load is one candidate for each link that may carry it."""
    return (*(_load(link) for link in load_links(world)), *ACTUATOR_CAUSES)


GRAVITY = "gravity/payload"
ACTUATOR_CAUSES = (
    Cause(
        "viscous friction",
        "N·m·s/rad",
        first=_viscous_that_explains,
        lowest=lambda robot: -robot.joints.damping,
        apply=_with_damping,
        highest=_half_the_effort,  # at 1 rad/s
    ),
    Cause(
        "dry friction",
        "N·m",
        first=_friction_that_explains,
        lowest=lambda robot: -robot.joints.frictionloss,
        apply=_with_dry_friction,
        highest=_half_the_effort,
    ),
    Cause(
        "gain error",
        "part of kp",
        first=lambda robot, _: np.full(_joints(robot), 0.15),
        lowest=_at_most(-1.0),  # twice the gain
        apply=_with_weaker_gain,
        highest=_at_most(0.9),
    ),
    Cause(
        "delay",
        "s",
        first=lambda robot, scale: np.full(_joints(robot), 1 / scale.rate),
        lowest=_nothing_less,
        apply=_with_delay,
        highest=_at_most(0.2),
    ),
    Cause(
        "backlash",
        "rad",
        first=lambda _, scale: np.clip(2 * scale.error, 0.002, 0.1),
        lowest=_nothing_less,
        apply=_with_backlash,
        highest=_at_most(0.2),
    ),
)
