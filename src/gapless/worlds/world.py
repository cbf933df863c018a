"""The World protocol: anything that can be put into a state and stepped with joint targets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Protocol, Self, runtime_checkable

import numpy as np

from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot

START = ("q", "dq", "base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")
"""The fields of a state that a simulation can start from."""


@cache
def _names(kind: type[State]) -> tuple[str, ...]:
    """Fields of a kind of state; kept, because every control step asks dozens of times."""
    return tuple(field.name for field in fields(kind))


@dataclass(frozen=True)
class State:
    """Batched robot state, joints in the robot's order.

    Attributes:
        q: (n, J) joint positions as the encoders report them, rad.
        dq: (n, J) joint velocities, rad/s.
        base_pos: (n, 3) root position, m; None where the root cannot move.
        base_quat_wxyz: (n, 4) root orientation.
        base_lin_vel_w: (n, 3) root velocity in the world frame, m/s.
        base_ang_vel_b: (n, 3) root angular velocity in the root frame, rad/s.
        torque: (n, J) what the motors apply, under the target still in force, N·m; not part of
            a start, NaN where nothing was commanded yet.
        temperature: (n, J) of the motors, °C; None where the world has none.
    """

    q: np.ndarray
    dq: np.ndarray
    base_pos: np.ndarray | None = None
    base_quat_wxyz: np.ndarray | None = None
    base_lin_vel_w: np.ndarray | None = None
    base_ang_vel_b: np.ndarray | None = None
    torque: np.ndarray | None = None
    temperature: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, which: object) -> Self:
        """The same state for some environments (index, slice or mask on the first axis)."""
        return self.map(lambda array: array[which])  # type: ignore[index]

    @property
    def fields(self) -> dict[str, np.ndarray]:
        """The arrays that are there, by name, in the order of the attributes."""
        both = {name: getattr(self, name) for name in _names(type(self))}
        return {name: array for name, array in both.items() if array is not None}

    @classmethod
    def concatenate(cls, states: Sequence[State], axis: int = 0) -> Self:
        """Batches as one batch; what one of them lacks is left out."""
        return cls._joined(states, lambda arrays: np.concatenate(arrays, axis))

    @classmethod
    def stack(cls, states: Sequence[State], axis: int = 0) -> Self:
        """States along a new axis; what one of them lacks is left out."""
        return cls._joined(states, lambda arrays: np.stack(arrays, axis))

    @classmethod
    def _joined(
        cls, states: Sequence[State], join: Callable[[list[np.ndarray]], np.ndarray]
    ) -> Self:
        found = [state.fields for state in states]
        names = [name for name in _names(cls) if all(name in arrays for arrays in found)]
        return cls(**{name: join([arrays[name] for arrays in found]) for name in names})

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Self:
        """The same with a function applied to every array that is there."""
        return replace(self, **{name: function(array) for name, array in self.fields.items()})

    def start(self) -> State:
        """Only what a simulation can start from: without torque and temperature."""
        return State(**{name: getattr(self, name) for name in START})

    def completed(self, other: State) -> Self:
        """The same, with what is not there as another state has it."""
        mine = set(_names(type(self))) - self.fields.keys()
        return replace(self, **{k: v for k, v in other.fields.items() if k in mine})

    def with_rows(self, rows: object, other: State) -> Self:
        """The same with some rows as in another state of so many; NaN where it lacks a field."""
        changed = {name: np.array(array) for name, array in self.fields.items()}
        for name, array in changed.items():
            new = getattr(other, name)
            array[rows] = np.nan if new is None else new  # type: ignore[index]
        return replace(self, **changed)


@dataclass(frozen=True)
class Trajectory(State):
    """States over time: every array has shape (n, T+1, ...), sample 0 is the start.

    Attributes:
        valid: (n, T+1) False from the moment it diverged; such samples are never scored.
    """

    valid: np.ndarray = None  # type: ignore[assignment]

    @classmethod
    def over_time(cls, states: Sequence[State], valid: np.ndarray) -> Trajectory:
        """T+1 states that followed each other; what a start lacks (torque) is NaN there."""
        blank = states[-1].map(lambda array: np.full_like(array, np.nan))
        seen = State.stack([state.completed(blank) for state in states], axis=1)
        return cls(**seen.fields, valid=valid)

    def at(self, sample: int) -> State:
        """The state of all environments at one sample."""
        return State(**{k: v[:, sample] for k, v in self.fields.items() if k != "valid"})


@dataclass(frozen=True)
class Identity:
    """What decides a world's numbers; only numbers of one identity may be compared.

    `solver` is that of the constraints, where a world was given another than the model's own.
    """

    engine: str
    version: str
    integrator: str
    timestep: float
    rate: float
    robot: str
    model_hash: str
    effects_hash: str = ""
    solver: str = ""

    @property
    def key(self) -> str:
        """Short hash of all of it."""
        parts = asdict(self)
        if not self.solver:  # keys in files of worlds that have no such choice stay valid
            del parts["solver"]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def require_same_simulator(self, other: Identity) -> None:
        """Refuse to compare numbers of different engines, versions, integrators, solvers or steps.

        The model and the effects may differ: that difference is what one compares.
        """
        fixed = ("engine", "version", "integrator", "solver", "timestep", "rate", "robot")
        differing = [
            f"{name} is {getattr(self, name)} here and {getattr(other, name)} there"
            for name in fixed
            if getattr(self, name) != getattr(other, name)
        ]
        if differing:
            raise SimulationError(
                "these numbers come from different simulators: "
                + "; ".join(differing)
                + ". Measure both again with one installation, or say allow_version_mismatch"
            )


@dataclass(frozen=True)
class Health:
    """Which environments diverged, and when (seconds since their reset, NaN for healthy ones)."""

    diverged: np.ndarray
    at: np.ndarray


@runtime_checkable
class World(Protocol):
    """Many environments of one robot, stepped at its control rate."""

    @property
    def robot(self) -> Robot:
        """The robot that is simulated."""
        ...

    @property
    def rate(self) -> float:
        """Control steps per second."""
        ...

    @property
    def identity(self) -> Identity:
        """What decides this world's numbers."""
        ...

    @property
    def health(self) -> Health:
        """State of the environments that `step` advances."""
        ...

    @property
    def history_steps(self) -> int:
        """How many earlier targets matter to the present (command delay)."""
        ...

    def at_rate(self, rate: float) -> World:
        """The same world with another control rate."""
        ...

    def twin(self) -> World:
        """A world of its own with the same figures: its environments are not this one's."""
        ...

    def home(self, environments: int = 1) -> State:
        """The default pose at rest; on a floor, standing."""
        ...

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put environments into a state; without `which` there are len(state) from now on.

        Args:
            state: of the environments that are reset.
            which: which ones.
            conditions: payload and gains of each, where they differ from the robot's.
            history: (n, H, J) targets before the first, newest last; None is the start position.
        """
        ...

    def place(self, state: State) -> None:
        """Move all environments to another state; clocks, delays and motors go on as they were."""
        ...

    def use_conditions(self, conditions: Sequence[Conditions]) -> None:
        """Give each environment other loads and gains; all else goes on as it was."""
        ...

    def push(self, velocity: np.ndarray, which: np.ndarray | None = None) -> None:
        """Add a velocity to the bases of environments; all else goes on as it was.

        Args:
            velocity: (n, 3) in the world frame, m/s; one an environment that is pushed.
                (n, 6) turns it, too: rad/s in its own frame.
            which: which ones; all by default. One that diverged stays as it is.
        """
        ...

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold (n, J) targets, and optionally extra joint torques, for one control step."""
        ...

    def rollout(
        self,
        state: State,
        targets: np.ndarray,
        *,
        torques: np.ndarray | None = None,
        history: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
    ) -> Trajectory:
        """Play (n, T, J) targets from a state.

        Args:
            state: start of the n environments; not kept, `step` is not affected.
            targets: absolute joint positions, each held for one control step, rad.
            torques: extra joint torques held alike, N·m.
            history: (n, H, J) targets before the first, newest last; None is the start position.
            conditions: payload and gains of each environment, where they differ from the robot's.
        """
        ...
