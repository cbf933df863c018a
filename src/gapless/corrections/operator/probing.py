"""States that a sensor predictor is fitted to: random ones, and ones near recordings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.corrections.runtime.network import Network
from gapless.errors import DataError
from gapless.measurement.windows import Windows
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload
from gapless.worlds.world import State, World

POSITIONS, VELOCITIES = 0.8, 0.5
"""Shares of the limits that random states are drawn from."""

FREE_VELOCITY = 10.0
"""Limit of the speed of joints that have none, rad/s."""

TARGETS = 0.5
"""Random targets are this near to the state, rad: as near as a probe."""

NEAR = 0.25
"""States near recorded ones are off by this share of the recordings' deviation."""

FULL = 0.9
"""Share of the states whose history is full; the others were reset a few steps ago."""

HEAVIEST = 3.0
"""Load on each hand where nobody says, kg."""

LOADS = 16
"""Different loads that are drawn: each needs a model of its own."""


@dataclass(frozen=True)
class Probed:
    """n states to probe.

    Attributes:
        states: n of them.
        history: (n, H, J) targets in force before.
        sensed: (n, d) what the predictor sees of them.
        conditions: of each.
        recorded: (n,) whether it is near a recorded state.
    """

    states: State
    history: np.ndarray
    sensed: np.ndarray
    conditions: list[Conditions]
    recorded: np.ndarray


@dataclass(frozen=True)
class _Starts:
    """States and the targets that follow: (n, B + T, J), the B before the start included."""

    state: State
    targets: np.ndarray
    conditions: list[Conditions]


def probed(
    network: Network,
    world: World,
    windows: Windows | None,
    payload: float | None,
    count: int,
    rng: np.random.Generator,
) -> Probed:
    """States, half near recorded windows where there are any, after some steps of targets.

    Args:
        network: whose predictor is to see them.
        world: at the correction's rate.
        windows: of recordings, at least as long as the history; None draws random ones only.
        payload: heaviest load on each hand, kg; None is what the windows say.
        count: how many.
        rng: of everything drawn.
    """
    steps = network.contract.history
    free = world.robot.mount == "free"
    if windows is None and free:
        raise DataError(
            f"{world.robot.name!r} stands free, and a random state of it is no stance; give "
            "recordings, or use mount='fixed'"
        )
    heaviest = _heaviest(windows) if payload is None else payload
    parts = []
    if windows is not None:
        near = _near(windows, steps, count if free else count // 2, rng)
        parts.append(_played(network, world, _loaded(near, world, heaviest, rng), rng, True))
    if not free:
        far = _random(world, steps, count - sum(len(p.recorded) for p in parts), rng)
        parts.append(_played(network, world, _loaded(far, world, heaviest, rng), rng, False))
    return _joined(parts)


def _heaviest(windows: Windows | None) -> float:
    if windows is None:
        return HEAVIEST
    stated = [c.payloads for c in windows.conditions if c.payloads]
    return max((p.mass for loads in stated for p in loads.values()), default=0.0)


def _random(world: World, steps: int, count: int, rng: np.random.Generator) -> _Starts:
    joints = world.robot.joints
    low = np.where(np.isfinite(joints.lower), joints.lower, -np.pi)
    high = np.where(np.isfinite(joints.upper), joints.upper, np.pi)
    fastest = np.where(np.isfinite(joints.velocity), joints.velocity, FREE_VELOCITY)
    middle, reach = (low + high) / 2, POSITIONS * (high - low) / 2
    q = middle + reach * rng.uniform(-1, 1, (count, len(low)))
    dq = VELOCITIES * fastest * rng.uniform(-1, 1, q.shape)
    targets = q[:, None] + TARGETS * rng.uniform(-1, 1, (count, steps + 1, len(low)))
    targets = np.clip(targets, low, high)
    before = targets[:, :1]
    return _Starts(State(q, dq), np.concatenate([before, targets], axis=1), [Conditions()] * count)


def _near(windows: Windows, steps: int, count: int, rng: np.random.Generator) -> _Starts:
    rows = np.resize(rng.permutation(len(windows)), count)
    start, targets = windows.start[rows], windows.targets[rows, : windows.before + steps + 1]

    def off(values: np.ndarray) -> np.ndarray:
        return values + NEAR * values.std(axis=0) * rng.standard_normal(values.shape)

    moved = replace(start, q=off(start.q), dq=off(start.dq), torque=None, temperature=None)
    # The targets move along, or a stiff robot would see errors that no recording has.
    targets = targets + (moved.q - start.q)[:, None]
    return _Starts(moved, targets, [windows.conditions[i] for i in rows])


def _loaded(starts: _Starts, world: World, heaviest: float, rng: np.random.Generator) -> _Starts:
    """The starts with random loads on the hands, where the robot has any."""
    hands = world.robot.link_groups.get("hands", ())
    if not hands or not heaviest:
        return starts
    drawn = [
        {link: Payload(float(mass)) for link, mass in zip(hands, masses, strict=True)}
        for masses in rng.uniform(0, heaviest, (LOADS, len(hands)))
    ]
    which = rng.integers(0, LOADS, len(starts.conditions))
    told = [replace(c, payloads=drawn[i]) for c, i in zip(starts.conditions, which, strict=True)]
    return replace(starts, conditions=told)


def _played(
    network: Network, world: World, starts: _Starts, rng: np.random.Generator, recorded: bool
) -> Probed:
    """Where the starts are after their history was filled, and what the predictor then sees."""
    steps, count = network.contract.history, len(starts.state)
    before = starts.targets.shape[1] - steps - 1
    filled = np.where(rng.random(count) < FULL, steps, rng.integers(0, steps + 1, count))
    play = world.rollout(
        starts.state,
        starts.targets[:, before:],
        history=starts.targets[:, :before],
        conditions=starts.conditions,
    )
    rows = np.arange(count)
    reach = max(1, world.history_steps)
    index = np.maximum(before + filled[:, None] - np.arange(reach, 0, -1), 0)
    seen = _sensed(network, play, starts.targets[:, before:], steps)
    found = Probed(
        play.start()[rows, filled],
        starts.targets[rows[:, None], index],
        seen[filled, rows],
        starts.conditions,
        np.full(count, recorded),
    )
    return _chosen(found, play.valid[rows, filled])


def _sensed(network: Network, play: State, targets: np.ndarray, steps: int) -> np.ndarray:
    """(steps + 1, n, d) what the predictor sees after so many steps."""
    found, memory = [], None
    for t in range(steps + 1):
        now = {"q": play.q[:, t], "dq": play.dq[:, t], "target": targets[:, t]}
        full = network.completed(now, memory) | {"payload": np.zeros((len(play.q), 1))}
        memory = memory or network.begun(full, len(play.q))
        found.append(network.gathered(full, memory)["sensed"])
        memory = memory.after(full, memory.output, None)
    return np.stack(found)


def _chosen(found: Probed, which: np.ndarray) -> Probed:
    told = [c for c, kept in zip(found.conditions, which, strict=True) if kept]
    return Probed(
        found.states[which],
        found.history[which],
        found.sensed[which],
        told,
        found.recorded[which],
    )


def _joined(parts: list[Probed]) -> Probed:
    return Probed(
        State.concatenate([p.states for p in parts]),
        np.concatenate([p.history for p in parts]),
        np.concatenate([p.sensed for p in parts]),
        [c for p in parts for c in p.conditions],
        np.concatenate([p.recorded for p in parts]),
    )
