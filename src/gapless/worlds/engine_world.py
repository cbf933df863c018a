"""EngineWorld: all of a world but its physics: clock, environments, delays, motors, conditions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import mujoco
import numpy as np

from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.actuators import Motors
from gapless.worlds.chance import lateness, sequence_generators
from gapless.worlds.effects import Effects
from gapless.worlds.engine import Engine
from gapless.worlds.engine_warnings import capture_warnings
from gapless.worlds.environments import Environments, earlier_targets
from gapless.worlds.imu_mounting import behind, shown
from gapless.worlds.input_checks import pushes, require_finite, require_possible, require_shape
from gapless.worlds.models import Models
from gapless.worlds.packing import StateLayout
from gapless.worlds.world import Health, Identity, State, Trajectory

MOST_SUBSTEPS, HIGHEST_RATE = 10_000, 1e5
"""Physics steps of a control step, and control steps of a second: more is a slip of the pen."""


class EngineWorld(ABC):
    """Environments of a robot in a physics engine, which the class that derives from it sets.

    Args:
        robot: what is simulated; its mount decides whether there is a floor.
        rate: control steps per second; the robot's own by default.
        physics_step: longest physics step, s. The step used divides the control step evenly.
        effects: actuator effects beyond PD; none by default.
        options: of MuJoCo's, where they differ from the robot's own.
    """

    _engine: Engine

    def __init__(
        self,
        robot: Robot,
        rate: float | None,
        *,
        physics_step: float,
        effects: Effects | None,
        options: Mapping[str, int] | None = None,
    ) -> None:
        capture_warnings()
        self._robot = robot
        self._rate = float(robot.rate if rate is None else rate)
        if not (0 < self._rate < np.inf and 0 < physics_step < np.inf):
            raise SimulationError(
                f"rate {self._rate:g} Hz and physics step {physics_step:g} s must be above 0"
            )
        if not (1 / self._rate / physics_step <= MOST_SUBSTEPS and self._rate <= HIGHEST_RATE):
            raise SimulationError(
                f"rate {self._rate:g} Hz with a physics step of {physics_step:g} s cannot be "
                f"simulated: at most {MOST_SUBSTEPS} steps of the one in one of the other, and "
                f"{HIGHEST_RATE:g} Hz"
            )
        self._physics_step = physics_step
        self.substeps = max(1, int(np.ceil(1 / (self._rate * physics_step) - 1e-9)))
        self.timestep = 1 / (self._rate * self.substeps)
        self.models = Models.compile(robot, self.timestep, options)
        self._model = self.models.nominal
        self._layout = StateLayout.of(self._model, robot)
        self._effects_given = effects or Effects()
        self.effects = self._effects_given.resolve(len(robot.joints.names))
        self._environments = Environments.none(self._layout.size, len(robot.joints.names))

    @property
    def robot(self) -> Robot:
        """The robot that is simulated."""
        return self._robot

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model of an environment without conditions of its own."""
        return self._model

    @property
    def rate(self) -> float:
        """Control steps per second."""
        return self._rate

    @property
    def identity(self) -> Identity:
        """Engine, version, integrator, step and hashes of the model and the effects."""
        engine, version, integrator = self._software
        return Identity(
            engine=engine,
            version=version,
            integrator=integrator,
            timestep=self.timestep,
            rate=self._rate,
            robot=self._robot.name,
            model_hash=self._robot.fingerprint(),
            effects_hash=self.effects.fingerprint(),
            solver=self._solver_told,
        )

    @property
    @abstractmethod
    def _software(self) -> tuple[str, str, str]:
        """Engine, version and integrator."""

    @property
    def _solver_told(self) -> str:
        """The solver of constraints, where it is not the robot's own."""
        return ""

    @property
    def health(self) -> Health:
        """Which of the environments that `step` advances diverged, and when."""
        return Health(diverged=~self._environments.alive, at=self._environments.diverged_at.copy())

    @property
    def state(self) -> State:
        """The environments that `step` advances: angles of the joints, not of the encoders."""
        return self._layout.unpack(self._environments.packed.copy())

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return self._engine.history_steps

    def at_rate(self, rate: float) -> Self:
        """The same world with another control rate."""
        return self if np.isclose(rate, self._rate) else self.variant(rate=rate)

    def twin(self) -> Self:
        """A world of its own with the same figures."""
        return self.variant()

    @abstractmethod
    def variant(
        self,
        *,
        robot: Robot | None = None,
        effects: Effects | None = None,
        rate: float | None = None,
    ) -> Self:
        """A new world that differs in what is given."""

    def home(self, environments: int = 1) -> State:
        """The default pose at rest; on a floor, standing upright, whatever the IMU says."""
        return shown(self._layout.home(self._robot, environments), self.effects)

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put environments into a state; see `World.reset`."""
        fresh = self._fresh(state, conditions, history)
        if which is None:
            self._environments = fresh
            return
        chosen = np.arange(len(self._environments))[which]
        if len(chosen) != len(fresh):
            raise SimulationError(f"{len(fresh)} states for {len(chosen)} environments to reset")
        self._environments.replace(chosen, fresh)

    def _fresh(
        self, state: State, conditions: Sequence[Conditions] | None, history: np.ndarray | None
    ) -> Environments:
        earlier = earlier_targets(history, state.q, max(1, self.history_steps))
        return Environments(
            packed=self._packed(state, self.effects),
            models=self._models_for(len(state), conditions),
            history=earlier,
            late=np.zeros(earlier.shape[:2]),
            motors=self._cold_motors(len(state), conditions),
            chance=sequence_generators(self.effects.seed, "jitter", state.q, conditions),
            diverged_at=np.full(len(state), np.nan),
        )

    def place(self, state: State) -> None:
        """Move the environments to another state; clocks, delays and motors go on."""
        self._environments.place(self._packed(state, self.effects))

    def use_conditions(self, conditions: Sequence[Conditions]) -> None:
        """Give each environment other loads and gains; all else goes on as it was."""
        self._environments.models = self._models_for(len(self._environments), conditions)

    def push(self, velocity: np.ndarray, which: np.ndarray | None = None) -> None:
        """Add a world-frame velocity, m/s, to the bases of environments; see `World.push`."""
        self._push(pushes(velocity, which, self._environments.alive, self._robot))

    def _push(self, added: np.ndarray) -> None:
        self._environments.packed[:, self._layout.base_twist] += added

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold (n, J) targets, and optionally extra joint torques, for one control step."""
        environments, targets = (
            self._environments,
            require_finite("target", target, self._robot)[:, None],
        )
        torques = None if torque is None else require_finite("torque", torque, self._robot)[:, None]
        if len(targets) != len(environments):
            raise SimulationError(
                f"{len(targets)} targets for {len(environments)} environments; call reset() first"
            )
        drawn = lateness(environments.chance, 1, self.effects.jitter.max(initial=0.0))
        late = np.concatenate([environments.late, drawn], axis=1)
        played = self._engine.play(
            environments.packed,
            targets,
            torques,
            environments.history,
            environments.models,
            environments.motors,
            late,
        )
        environments.advance(played, targets, late)
        seen = self._layout.unpack(environments.packed.copy())
        return replace(
            shown(seen, self.effects),
            q=seen.q + self.effects.encoder_bias,
            torque=played.torque[:, 1],
            temperature=None if played.temperature is None else played.temperature[:, 1],
        )

    def rollout(
        self,
        state: State,
        targets: np.ndarray,
        *,
        torques: np.ndarray | None = None,
        history: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
    ) -> Trajectory:
        """Play (n, T, J) targets from a state; see `World.rollout`."""
        targets = require_finite("targets", targets, self._robot)
        torques = None if torques is None else require_finite("torques", torques, self._robot)
        earlier = state.q[:, None] if history is None or not history.shape[1] else history
        if len(targets) != len(state):
            raise SimulationError(f"{len(targets)} rows of targets for {len(state)} start states")
        models = self._models_for(len(state), conditions)
        late = self._lateness(targets, earlier, conditions)
        motors = self._cold_motors(len(state), conditions)
        return self._played(state, targets, torques, earlier, models, motors, late, self.effects)

    def _played(
        self,
        state: State,
        targets: np.ndarray,
        torques: np.ndarray | None,
        earlier: np.ndarray,
        models: list[Any],
        motors: Motors | None,
        late: np.ndarray | None,
        effects: Effects,
    ) -> Trajectory:
        start = self._packed(state, effects)
        played = self._engine.play(start, targets, torques, earlier, models, motors, late, effects)
        seen = self._layout.unpack(played.packed, played.valid)
        return replace(  # type: ignore[return-value]
            shown(seen, effects),
            q=seen.q + effects.encoder_bias[..., None, :],
            torque=played.torque,
            temperature=played.temperature,
        )

    def _lateness(
        self, targets: np.ndarray, earlier: np.ndarray, conditions: Sequence[Conditions] | None
    ) -> np.ndarray | None:
        """(n, H + T) seconds of jitter; the commands before the start were in time."""
        mean = self.effects.jitter.max(initial=0.0)
        if not mean:
            return None
        chance = sequence_generators(self.effects.seed, "jitter", targets, conditions)
        late = lateness(chance, targets.shape[1], mean)
        return np.concatenate([np.zeros(earlier.shape[:2]), late], axis=1)

    def _cold_motors(
        self, environments: int, conditions: Sequence[Conditions] | None
    ) -> Motors | None:
        """Motors as warm as the conditions say; NaN angles are set when the first target acts."""
        effects = self.effects
        return (
            Motors.unset(effects.ambient, environments, conditions)
            if effects.needs_memory
            else None
        )

    def _packed(self, state: State, effects: Effects) -> np.ndarray:
        """(n, size) starts as an engine takes them; those that cannot be are refused."""
        require_shape(state, self._robot, self._layout.base)
        true = behind(replace(state, q=state.q - effects.encoder_bias), effects)
        packed = self._layout.pack(true)
        require_possible(packed, state.base_quat_wxyz if self._layout.base else None)
        return packed

    def _models_for(self, environments: int, conditions: Sequence[Conditions] | None) -> list[Any]:
        return self.models.of_environments(environments, conditions)
