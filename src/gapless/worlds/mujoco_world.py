"""MujocoWorld: a thin layer over mujoco.rollout and its thread pool."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from gapless.errors import DataError, SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.actuators import Motors
from gapless.worlds.chance import lateness, sequence_generators
from gapless.worlds.effects import Effects
from gapless.worlds.engine import Engine
from gapless.worlds.engine_warnings import capture_warnings
from gapless.worlds.models import Models
from gapless.worlds.packing import StateLayout
from gapless.worlds.world import Health, Identity, State, Trajectory


class MujocoWorld:
    """Copies of a robot in MuJoCo.

    Args:
        robot: what is simulated; its mount decides whether there is a floor.
        rate: control steps per second; the robot's own by default.
        physics_step: longest physics step, s. The step used divides the control step evenly.
        effects: actuator effects beyond PD; none by default.
        threads: size of the thread pool; all cores by default.

    Example:
        world = MujocoWorld(Robot.load("g1", mount="fixed"))
        world.reset(world.home(256))
        world.step(targets)
    """

    def __init__(
        self,
        robot: Robot,
        rate: float | None = None,
        *,
        physics_step: float = 0.002,
        effects: Effects | None = None,
        threads: int | None = None,
    ) -> None:
        capture_warnings()
        self._robot = robot
        self._rate = float(robot.rate if rate is None else rate)
        if not (0 < self._rate < np.inf and 0 < physics_step < np.inf):
            raise SimulationError(
                f"rate {self._rate:g} Hz and physics step {physics_step:g} s must be above 0"
            )
        self._physics_step = physics_step
        self._threads = max(1, threads or os.cpu_count() or 1)
        self.substeps = max(1, int(np.ceil(1 / (self._rate * physics_step) - 1e-9)))
        self.timestep = 1 / (self._rate * self.substeps)
        self._compiled = Models(robot, self.timestep)
        self._model = self._compiled.nominal
        self._layout = StateLayout.of(self._model, robot)
        self._effects_given = effects or Effects()
        self.effects = self._effects_given.resolve(len(robot.joints.names))
        self._engine = Engine(
            self._model,
            self._layout,
            self.effects,
            self._rate,
            self.substeps,
            self._threads,
        )
        self._packed = np.zeros((0, self._layout.size))
        self._models: list[mujoco.MjModel] = []
        self._history = np.zeros((0, 0, len(robot.joints.names)))
        self._late = np.zeros((0, 0))
        self._motors: Motors | None = None
        self._chance: list[np.random.Generator] = []
        self._diverged_at = np.zeros(0)

    @property
    def robot(self) -> Robot:
        """The robot that is simulated."""
        return self._robot

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model of a copy without conditions of its own."""
        return self._model

    @property
    def rate(self) -> float:
        """Control steps per second."""
        return self._rate

    @property
    def identity(self) -> Identity:
        """Engine, version, integrator, step and hashes of the model and the effects."""
        return Identity(
            engine="mujoco",
            version=mujoco.__version__,
            integrator=mujoco.mjtIntegrator(self._model.opt.integrator).name,
            timestep=self.timestep,
            rate=self._rate,
            robot=self._robot.name,
            model_hash=self._robot.fingerprint(),
            effects_hash=self.effects.fingerprint(),
        )

    @property
    def health(self) -> Health:
        """Which of the copies that `step` advances diverged, and when."""
        return Health(diverged=np.isfinite(self._diverged_at), at=self._diverged_at.copy())

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return self._engine.history_steps

    def at_rate(self, rate: float) -> MujocoWorld:
        """The same world with another control rate."""
        return self if np.isclose(rate, self._rate) else self.variant(rate=rate)

    def twin(self) -> MujocoWorld:
        """A world of its own with the same figures."""
        return self.variant()

    def variant(
        self,
        *,
        robot: Robot | None = None,
        effects: Effects | None = None,
        rate: float | None = None,
    ) -> MujocoWorld:
        """A new world that differs in what is given."""
        return MujocoWorld(
            robot or self._robot,
            rate or self._rate,
            physics_step=self._physics_step,
            effects=effects or self._effects_given,
            threads=self._threads,
        )

    def home(self, copies: int = 1) -> State:
        """The default pose at rest; on a floor, standing."""
        joints = len(self._robot.joints.names)
        rest = State(
            q=np.tile(self._robot.joints.default, (copies, 1)), dq=np.zeros((copies, joints))
        )
        if not self._layout.base:
            return rest
        return replace(
            rest,
            base_pos=np.tile([0.0, 0.0, self._robot.standing_height], (copies, 1)),
            base_quat_wxyz=np.tile([1.0, 0.0, 0.0, 0.0], (copies, 1)),
            base_lin_vel_w=np.zeros((copies, 3)),
            base_ang_vel_b=np.zeros((copies, 3)),
        )

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put copies into a state; see `World.reset`."""
        packed = self._start(state, self.effects.encoder_bias)
        models = self._models_for(len(state), conditions)
        earlier = self._earlier(state, history)
        if which is None:
            self._packed, self._models = packed, models
            self._history = earlier
            self._late = np.zeros(self._history.shape[:2])
            self._diverged_at = np.full(len(state), np.nan)
            self._motors = self._cold_motors(len(state), conditions)
            self._chance = self._generators(state.q, conditions)
            return
        chosen = np.arange(len(self._packed))[which]
        if len(chosen) != len(state):
            raise SimulationError(f"{len(state)} states for {len(chosen)} copies to reset")
        for copy, drawn in zip(chosen, self._generators(state.q, conditions), strict=True):
            self._chance[copy] = drawn
        self._packed[chosen] = packed
        self._history[chosen], self._late[chosen] = earlier, 0.0
        self._diverged_at[chosen] = np.nan
        fresh = self._cold_motors(len(state), conditions)
        if self._motors is not None and fresh is not None:
            self._motors.replace(chosen, fresh)
        for copy, model in zip(chosen, models, strict=True):
            self._models[copy] = model

    def _earlier(self, state: State, history: np.ndarray | None) -> np.ndarray:
        """(n, H, J) the targets that a delay still brings into force after a reset."""
        steps = max(1, self._engine.history_steps)
        if history is None or not history.shape[1]:
            return np.repeat(state.q[:, None], steps, axis=1)
        missing = max(0, steps - history.shape[1])
        oldest = np.repeat(history[:, :1], missing, axis=1)
        return np.concatenate([oldest, history[:, -steps:]], axis=1)

    def place(self, state: State) -> None:
        """Move the copies to another state; clocks, delays and motors go on."""
        moved = self._start(state, self.effects.encoder_bias)
        moved[:, 0] = self._packed[:, 0]
        alive = np.isnan(self._diverged_at)
        self._packed[alive] = moved[alive]

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold (n, J) targets, and optionally extra joint torques, for one control step."""
        targets = self._finite("target", target)[:, None]
        torques = None if torque is None else self._finite("torque", torque)[:, None]
        if len(targets) != len(self._packed):
            raise SimulationError(
                f"{len(targets)} targets for {len(self._packed)} copies; call reset() first"
            )
        late = lateness(self._chance, 1, self.effects.jitter.max(initial=0.0))
        self._late = np.concatenate([self._late, late], axis=1)
        played = self._engine.play(
            self._packed, targets, torques, self._history, self._models, self._motors, self._late
        )
        fell = ~played.valid[:, 1] & np.isnan(self._diverged_at)
        self._diverged_at[fell] = self._packed[fell, 0]
        alive = np.isnan(self._diverged_at)
        self._packed[alive] = played.packed[alive, 1]
        self._motors = played.motors
        self._history = np.concatenate([self._history, targets], axis=1)[:, 1:]
        self._late = self._late[:, 1:]
        seen = self._reported(self._packed.copy())
        warm = None if played.temperature is None else played.temperature[:, 1]
        return replace(seen, torque=played.torque[:, 1], temperature=warm)

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
        targets = self._finite("targets", targets)
        torques = None if torques is None else self._finite("torques", torques)
        earlier = state.q[:, None] if history is None or not history.shape[1] else history
        if len(targets) != len(state):
            raise SimulationError(f"{len(targets)} rows of targets for {len(state)} start states")
        models = self._models_for(len(state), conditions)
        late = self._lateness(targets, earlier, conditions)
        motors = self._cold_motors(len(state), conditions)
        return self._played(state, targets, torques, earlier, models, motors, late, self.effects)

    def rollout_copies(
        self,
        state: State,
        targets: np.ndarray,
        history: np.ndarray,
        models: list[mujoco.MjModel],
        effects: Effects,
    ) -> Trajectory:
        """Play copies that each have a model, and effects, of their own.

        Args:
            state: start of the n copies.
            targets: (n, T, J) finite positions, rad.
            history: (n, H, J) targets before the first; at least one.
            models: one a copy, with the sizes of `model` and this world's timestep.
            effects: fields of shape (J,) or (n, J); without jitter.
        """
        motors = Motors.unset(effects.ambient, len(state), None) if effects.needs_memory else None
        return self._played(state, targets, None, history, models, motors, None, effects)

    def _played(
        self,
        state: State,
        targets: np.ndarray,
        torques: np.ndarray | None,
        earlier: np.ndarray,
        models: list[mujoco.MjModel],
        motors: Motors | None,
        late: np.ndarray | None,
        effects: Effects,
    ) -> Trajectory:
        bias = effects.encoder_bias
        start = self._start(state, bias)
        played = self._engine.play(start, targets, torques, earlier, models, motors, late, effects)
        seen = self._layout.unpack(played.packed, played.valid)
        return replace(  # type: ignore[return-value]
            seen,
            q=seen.q + bias[..., None, :],
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
        drawn = self._generators(targets, conditions)
        late = lateness(drawn, targets.shape[1], mean)
        return np.concatenate([np.zeros(earlier.shape[:2]), late], axis=1)

    def _generators(
        self, key: np.ndarray, conditions: Sequence[Conditions] | None
    ) -> list[np.random.Generator]:
        return sequence_generators(self.effects.seed, "jitter", key, conditions)

    def _cold_motors(self, copies: int, conditions: Sequence[Conditions] | None) -> Motors | None:
        """Motors as warm as the conditions say; NaN angles are set when the first target acts."""
        if not self.effects.needs_memory:
            return None
        return Motors.unset(self.effects.ambient, copies, conditions)

    def _finite(self, name: str, values: np.ndarray) -> np.ndarray:
        """MuJoCo turns a NaN control into zero and goes on; such a command is refused here."""
        values = np.asarray(values, float)
        if values.shape[-1] != len(self._robot.joints.names):
            raise SimulationError(
                f"{name} has {values.shape[-1]} columns, "
                f"{self._robot.name} has {len(self._robot.joints.names)} joints"
            )
        if not np.isfinite(values).all():
            bad = np.unique(np.argwhere(~np.isfinite(values))[:, -1])
            names = [self._robot.joints.names[j] for j in bad]
            raise DataError(f"{name} is not finite at {', '.join(names)}; mask those samples first")
        return values

    def _start(self, state: State, bias: np.ndarray) -> np.ndarray:
        if self._layout.base and state.base_pos is None:
            raise SimulationError(
                f"{self._robot.name} stands free, so a start needs the base pose and velocity; "
                "give them, or use mount='fixed'"
            )
        joints = len(self._robot.joints.names)
        if state.q.shape[1:] != (joints,) or state.dq.shape != state.q.shape:
            raise SimulationError(
                f"a start has q {state.q.shape} and dq {state.dq.shape}; "
                f"{self._robot.name} has {joints} joints"
            )
        packed = self._layout.pack(replace(state, q=state.q - bias))
        if not np.isfinite(packed).all():
            raise DataError("a start state is not finite; mask those samples first")
        turned = state.base_quat_wxyz if self._layout.base else None
        if turned is not None and np.abs(np.linalg.norm(turned, axis=1) - 1).max() > 0.1:
            raise DataError("a start's base_quat_wxyz is no unit quaternion; mask that sample")
        return packed

    def _reported(self, packed: np.ndarray) -> State:
        state = self._layout.unpack(packed)
        return replace(state, q=state.q + self.effects.encoder_bias)

    def _models_for(
        self, copies: int, conditions: Sequence[Conditions] | None
    ) -> list[mujoco.MjModel]:
        return self._compiled.of_copies(copies, conditions)
