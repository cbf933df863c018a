"""Slopes of a world along trajectories: how a small change of a state, or of what a correction
gives, changes the state one control step later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.corrections.linearised.tangent import difference, moved
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.world import State, World

ENVIRONMENTS = 4096
"""Perturbed environments simulated at once."""

STEP = {"pos": 0.005, "turn": 0.01, "q": 0.005, "lin": 0.02, "ang": 0.05, "dq": 0.05}
"""Changes of a state (m, rad, m/s, rad/s): as large as the gap, so that dry friction, which answers
nothing to a tiny change, has the slope that matters."""

ON_THE_FLOOR = 0.05
"""Share of those changes for a robot that stands: feet must neither leave the floor nor sink in."""

TARGET = 0.02
"""Change of a target, rad."""

TORQUE = 0.02
"""Change of a torque, as a share of the motor's limit."""


@dataclass(frozen=True)
class Slopes:
    """Of n trajectories of T steps.

    Attributes:
        state: (n, T, 2V, 2V) of the next state by the state.
        output: (n, T, L, 2V, K) by the output given now, one step ago, and so on.
    """

    state: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class Trajectories:
    """What is linearised: n trajectories of T control steps.

    Attributes:
        states: (n, T+1, ...).
        targets: (n, H + T, J) what was held, the H before the start included.
        torques: (n, T, J) extra torques, or None.
        before: H.
        conditions: of each.
    """

    states: State
    targets: np.ndarray
    torques: np.ndarray | None
    before: int
    conditions: Sequence[Conditions]

    @property
    def steps(self) -> int:
        """T."""
        return self.targets.shape[1] - self.before


def slopes(
    world: World, path: Trajectories, head: str, columns: np.ndarray, stride: int = 1
) -> Slopes:
    """Slopes along trajectories by differences to one side, which alternates from step to step.

    Args:
        world: that is linearised; not stepped.
        path: the trajectories.
        head: what an output changes: action, torque or state.
        columns: joints that it changes, or columns of the state.
        stride: slopes are computed at every so many steps, and hold until the next.
    """
    at = np.arange(0, path.steps, stride)
    lags = 1 + (world.history_steps if head == "action" else 0)
    changes = _state_changes(path.states)
    plain = _next(world, path, at, path.states[:, at])
    found = [_by_state(world, path, at, plain, i, size) for i, size in enumerate(changes)]
    state = np.stack(found, axis=-1)
    hold = np.arange(path.steps) // stride
    if head == "state":
        eye = np.eye(len(changes))[None, None, None, :, columns]
        output = np.broadcast_to(eye, (*state.shape[:2], 1, *eye.shape[3:]))
    else:
        by_lag = [
            np.stack([_by_output(world, path, at, plain, head, j, lag) for j in columns], axis=-1)
            for lag in range(lags)
        ]
        output = np.stack(by_lag, axis=2)
    return Slopes(state[:, hold], output[:, hold])


def output_step(robot: Robot, head: str, joint: int) -> float:
    """Change of an output, rad or N·m."""
    if head == "action":
        return TARGET
    limit = robot.joints.effort[joint]
    return TORQUE * (limit if np.isfinite(limit) else 10.0)


def _state_changes(states: State) -> np.ndarray:
    joints = states.q.shape[-1]
    based = states.base_pos is not None
    position = ([STEP["pos"]] * 3 + [STEP["turn"]] * 3 if based else []) + [STEP["q"]] * joints
    velocity = ([STEP["lin"]] * 3 + [STEP["ang"]] * 3 if based else []) + [STEP["dq"]] * joints
    return np.array(position + velocity) * (ON_THE_FLOOR if based else 1.0)


def _sides(shape: tuple[int, ...]) -> np.ndarray:
    """(n, S) to which side a change goes: over many steps no side is preferred."""
    return 1.0 - 2.0 * (np.indices(shape).sum(axis=0) % 2)


def _by_state(
    world: World, path: Trajectories, at: np.ndarray, plain: State, i: int, size: float
) -> np.ndarray:
    """(n, S, 2V) slope by one column of the state."""
    states = path.states[:, at]
    change = np.zeros((*states.q.shape[:2], len(_state_changes(states))))
    change[..., i] = size * _sides(change.shape[:2])
    end = _next(world, path, at, moved(states, change))
    return difference(end, plain) / change[..., i, None]


def _by_output(
    world: World, path: Trajectories, at: np.ndarray, plain: State, head: str, joint: int, lag: int
) -> np.ndarray:
    """(n, S, 2V) slope by one joint's target some steps ago, or its torque."""
    states = path.states[:, at]
    change = output_step(world.robot, head, joint) * _sides(states.q.shape[:2])
    end = _next(world, path, at, states, head, int(joint), lag, change)
    return difference(end, plain) / change[..., None]


def _next(
    world: World,
    path: Trajectories,
    at: np.ndarray,
    states: State,
    head: str = "",
    joint: int = 0,
    lag: int = 0,
    change: np.ndarray | float = 0.0,
) -> State:
    """The states one control step after these, (n, S, ...), with one input changed."""
    environments = len(states.q) * len(at)
    reach = max(1, world.history_steps)
    index = path.before + at[:, None] + np.arange(-reach, 1)
    held = path.targets[:, np.maximum(index, 0)]
    if head == "action":
        held = held.copy()
        held[:, :, reach - lag, joint] += change
    held = held.reshape(environments, reach + 1, -1)
    pushed = None if path.torques is None else path.torques[:, at].reshape(environments, 1, -1)
    if head == "torque":
        pushed = np.zeros((environments, 1, held.shape[-1])) if pushed is None else pushed.copy()
        pushed[:, 0, joint] += np.ravel(change)
    flat = states.start().map(lambda v: v.reshape(-1, v.shape[-1]))
    told = [c for c in path.conditions for _ in at]
    parts = []
    for first in range(0, environments, ENVIRONMENTS):
        some = slice(first, first + ENVIRONMENTS)
        played = world.rollout(
            flat[some],
            held[some, -1:],
            torques=None if pushed is None else pushed[some],
            history=held[some, :-1],
            conditions=told[some],
        )
        parts.append(played.at(-1))
    shape = len(states.q), len(at)
    joined = State.concatenate(parts).start()
    return joined.map(lambda v: v.reshape(*shape, *v.shape[1:]))
