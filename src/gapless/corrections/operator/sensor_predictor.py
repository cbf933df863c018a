"""GAPONet's sensors: how the simulator answers fixed probes, and a predictor of that.

A probe is an offset of the targets. Each is held for one control step in its own copy of a state;
the change of positions, and of velocities times the step, is what the sensor reads. The predictor
learns it in the simulator alone, so it can be fitted again for another robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from gapless.corrections.models.deep_operator import Operator
from gapless.corrections.models.model import Weights, dense, layers
from gapless.corrections.operator.probing import Probed, probed
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.errors import GaplessError, MissingExtraError, SimulationError
from gapless.measurement.windows import Windows
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.world import State, World

AMPLITUDE = 0.5
"""Offset of a probe, rad."""

STATES = 2000
"""States that the predictor is fitted to."""

ITERATIONS, BATCH, RATE = 1500, 128, 2e-3
"""Steps of Adam, states of each, and their size, which falls to nothing."""

LEAST = 1e-6
"""Least deviation of a sensor: some never move."""


def probes(robot: Robot, count: int) -> np.ndarray:
    """(count, J) offsets, rad: pairs of joints of both sides, single ones, then mixed ones."""
    joints = len(robot.joints.names)
    rng, rows = np.random.default_rng(0), []
    for j in range(joints):
        pair = np.zeros(joints)
        pair[[j, (j + joints // 2) % joints]] = 1.0 if j < joints // 2 else -1.0
        rows.append(pair)
    rows += list(np.eye(joints))
    while len(rows) < count:
        rows.append(rng.choice([-1.0, 0.0, 1.0], joints))
    return AMPLITUDE * np.array(rows[:count])


def answers(
    world: World,
    states: State,
    history: np.ndarray,
    model: Operator,
    conditions: Sequence[Conditions],
) -> np.ndarray:
    """(n, probes · 2J) what the sensors read in some states; NaN where the simulator diverged.

    Args:
        world: that is probed.
        states: n of them.
        history: (n, H, J) targets in force before.
        model: says how many probes, and whether states or changes are read.
        conditions: of each state.
    """
    low, high = world.robot.joints.lower, world.robot.joints.upper
    read = []
    for probe in probes(world.robot, model.probes):
        target = np.clip(history[:, -1] + probe, low, high)
        after = world.rollout(states, target[:, None], history=history, conditions=conditions)
        q, dq = after.q[:, -1], after.dq[:, -1]
        if not model.absolute:
            q, dq = q - states.q, dq - states.dq
        sensed = np.concatenate([q, dq / world.rate], axis=1)
        read.append(np.where(after.valid[:, -1:], sensed, np.nan))
    return np.concatenate(read, axis=1)


def has_sensors(correction: Correction) -> bool:
    """Whether its network reads sensors that are fitted in a simulator."""
    model = correction.contract.network
    return isinstance(model, Operator) and model.fitted


def _operator(correction: Correction) -> Operator:
    model = correction.contract.network
    assert isinstance(model, Operator)
    return model


def with_sensors(start: Correction, task: Task) -> Correction:
    """A start whose sensors, where it has any, are fitted in the task's world."""
    if not has_sensors(start):
        return start
    seconds = (start.contract.history + 1) / start.contract.rate
    windows = task.windows(seconds, STATES // 2, -2)
    return fit_sensors(start, task.world, windows=windows, seed=task.seed)


def fit_sensors(
    correction: Correction,
    world: World,
    *,
    windows: Windows | None = None,
    payload: float | None = None,
    states: int = STATES,
    seed: int = 0,
) -> Correction:
    """The correction with a sensor predictor that is fitted in a simulator.

    The scale of the sensors is found once: fitted again for another robot, the predictor speaks in
    the units that the branch learned to read.

    Args:
        correction: an operator's, with any weights.
        world: the simulator that is probed.
        windows: recorded ones, with room for the history; half of the states are near them.
            Without them all states are random.
        payload: heaviest load on each hand, kg; None is what the windows say, or the paper's 3.
        states: how many.
        seed: of what is drawn, and of the first weights.
    """
    if not has_sensors(correction):
        raise GaplessError(
            f"a {correction.contract.model} has no sensor predictor that is fitted in a simulator; "
            "expected an operator with fitted=True"
        )
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "learn", "fitting sensors")
    rng = np.random.default_rng(seed)
    world = world.at_rate(correction.contract.rate)
    found = probed(correction.network, world, windows, payload, states, rng)
    model = _operator(correction)
    read = answers(world, found.states, found.history, model, found.conditions)
    return _fitted(correction, found, read, seed)


def _fitted(correction: Correction, found: Probed, read: np.ndarray, seed: int) -> Correction:
    sound = np.isfinite(read).all(axis=1)
    if sound.mean() < 0.5:
        raise SimulationError(
            f"{(~sound).sum()} of {len(read)} probed states diverged, so the sensors cannot be "
            "fitted; use a smaller physics step, or check the robot's parameters"
        )
    inputs, read = found.sensed[sound], read[sound]
    scale = _scale(correction.weights, read, found.recorded[sound])
    weights = {
        **correction.weights,
        **scale,
        "sensed.mean": inputs.mean(axis=0),
        "sensed.deviation": np.maximum(inputs.std(axis=0), 1e-3),
    }
    given = correction.network.normalised(weights, {"sensed": inputs})["sensed"]
    wanted = (read - scale["sensors.mean"]) / scale["sensors.deviation"]
    share = _share(wanted, found.recorded[sound])
    predictor = _learned(_operator(correction), given, wanted, share, seed)
    members = correction.contract.members
    weights |= {k: np.repeat(v, members, axis=0) for k, v in predictor.items()}
    return replace(correction, weights={k: np.asarray(v, np.float32) for k, v in weights.items()})


def _scale(weights: Weights, read: np.ndarray, recorded: np.ndarray) -> Weights:
    """Mean and deviation of the sensors, where they matter most: near recorded states."""
    if "sensors.mean" in weights:
        return {k: weights[k] for k in ("sensors.mean", "sensors.deviation")}
    rows = read[recorded] if recorded.any() else read
    deviation = np.maximum(rows.std(axis=0), LEAST)
    return {"sensors.mean": rows.mean(axis=0), "sensors.deviation": deviation}


def _share(wanted: np.ndarray, recorded: np.ndarray) -> np.ndarray:
    """(n, 1) weight of each state: random ones, which differ far more, count like recorded ones."""
    size = [wanted[recorded == near].std() if (recorded == near).any() else 1 for near in (0, 1)]
    return 1 / np.where(recorded, size[1], size[0])[:, None]


def _learned(
    model: Operator, given: np.ndarray, wanted: np.ndarray, share: np.ndarray, seed: int
) -> Weights:
    """Weights of one predictor, by Adam on the squared error summed over the sensors."""
    import torch

    sizes = [given.shape[1], *model.predictor, wanted.shape[1]]
    first = layers("predictor", sizes, 1, np.random.default_rng(seed))
    weights = {
        k: torch.tensor(v, dtype=torch.float32, requires_grad=True) for k, v in first.items()
    }
    x, y, part = (torch.as_tensor(v, dtype=torch.float32) for v in (given, wanted, share))
    adam = torch.optim.Adam(weights.values(), lr=RATE)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, ITERATIONS)
    generator = torch.Generator().manual_seed(seed)
    with _one_thread():
        for _ in range(ITERATIONS):
            some = torch.randint(len(x), (BATCH,), generator=generator)
            error = part[some] * (dense(weights, "predictor", x[some])[0] - y[some])
            loss = (error**2).mean(0).sum()
            adam.zero_grad()
            loss.backward()
            adam.step()
            falling.step()
    return {k: v.detach().numpy() for k, v in weights.items()}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Layers this small gain nothing by more, and one gives the same bytes on every machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
