"""CorrectedWorld: a world, a calibration and corrections, which together are a World."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.corrections.linearised.tangent import moved
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.applied import Applied
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.usage import Usage
from gapless.errors import SimulationError
from gapless.identification.calibration import Calibration
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.software_versions import refuse_other_mujoco
from gapless.worlds.effects import Effects
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.input_checks import pushes
from gapless.worlds.world import Health, Identity, State, Trajectory, World


class CorrectedWorld:
    """A world that behaves like the robot whose recordings corrected it.

    Args:
        world: the nominal robot.
        calibration: parameters that patch it; None leaves them.
        corrections: each on top of those before it, as worlds within worlds would be.

    Attributes:
        calibration: of the world underneath; None without one, and for a variant (`on`).

    Example:
        aligned = CorrectedWorld(MujocoWorld(robot), calibration, [correction])
        gap = measure(test, aligned)
    """

    def __init__(
        self,
        world: World,
        calibration: Calibration | None = None,
        corrections: Sequence[Correction] = (),
    ) -> None:
        self._world = world if calibration is None else _calibrated(world, calibration)
        self.calibration, self._nominal = calibration, world
        self.corrections = tuple(corrections)
        for i, correction in enumerate(self.corrections):
            refuse_other_mujoco(correction.made_by, "this correction")
            # A later one may have been trained beside the earlier ones, or on top of them.
            correction.contract.require(self._world, self._hash_with(self.corrections[:i]))
        self.usage = [Usage.none(c.contract) for c in self.corrections]
        self._applied: list[Applied] = []
        self._state: State | None = None
        self._payload = np.zeros((0, 1))
        self._twin: CorrectedWorld | None = None

    @property
    def world(self) -> World:
        """The calibrated world underneath, without corrections."""
        return self._world

    @property
    def robot(self) -> Robot:
        """The robot that is simulated, calibrated."""
        return self._world.robot

    @property
    def effects(self) -> Effects | None:
        """What the drives and sensors of the world underneath do; None where it is not known."""
        return getattr(self._world, "effects", None)

    @property
    def rate(self) -> float:
        """Control steps per second."""
        return self._world.rate

    @property
    def identity(self) -> Identity:
        """That of the world underneath, with the corrections in it."""
        return replace(self._world.identity, effects_hash=self._hash_with(self.corrections))

    def _hash_with(self, corrections: Sequence[Correction]) -> str:
        own = self._world.identity.effects_hash
        return "+".join((own, *(c.fingerprint() for c in corrections)))

    @property
    def health(self) -> Health:
        """Which of the environments that `step` advances diverged, and when."""
        return self._world.health

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return self._world.history_steps

    def at_rate(self, rate: float) -> CorrectedWorld:
        """The same world with another control rate; what its corrections do is counted here."""
        if np.isclose(rate, self.rate):
            return self
        for correction in self.corrections:
            correction.contract.require_rate(rate)
        return self.on(self._world.at_rate(rate))

    def twin(self) -> CorrectedWorld:
        """A world of its own with the same parameters; what its corrections do is counted here."""
        return self.on(self._world.twin())

    def on(self, world: World) -> CorrectedWorld:
        """The same corrections on a variant of the world underneath: another floor, other drives.

        They were not learned there; how a robot does there is what one asks of them.
        """
        other = copy.copy(self)
        other._world, other._state, other._twin, other._applied = world, None, None, []
        other.calibration, other._nominal = None, world
        return other

    def calibrated_as(self, calibration: Calibration) -> CorrectedWorld:
        """The same corrections on the nominal world with other parameters: robots like this one."""
        return self.on(_calibrated(self._nominal, calibration))

    def home(self, environments: int = 1) -> State:
        """The default pose at rest; on a floor, standing."""
        return self._world.home(environments)

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put environments into a state; see `World.reset`."""
        self._world.reset(state, which, conditions, history)
        payload = looked_at.payloads(conditions or [None] * len(state))
        if which is None or self._state is None:
            self._state, self._payload = state, payload
            self._applied = [Applied(c, self.rate, len(state)) for c in self.corrections]
            return
        chosen = np.arange(len(self._state))[which]
        self._payload[chosen] = payload
        self._state = self._state.with_rows(chosen, state)
        for applied in self._applied:
            applied.forget(chosen)

    def place(self, state: State) -> None:
        """Move all environments to another state; clocks, delays and motors go on as they were."""
        self._world.place(state)
        self._state = state

    def use_conditions(self, conditions: Sequence[Conditions]) -> None:
        """Give each environment other loads and gains; all else goes on as it was."""
        self._world.use_conditions(conditions)
        self._payload = looked_at.payloads(conditions)

    def push(self, velocity: np.ndarray, which: np.ndarray | None = None) -> None:
        """Add a world-frame velocity, m/s, to the bases of environments; see `World.push`."""
        self._world.push(velocity, which)
        if self._state is not None and self._state.base_lin_vel_w is not None:
            assert self._state.base_ang_vel_b is not None
            added = pushes(velocity, which, ~self.health.diverged, self.robot)
            faster = self._state.base_lin_vel_w + added[:, :3]
            turning = self._state.base_ang_vel_b + added[:, 3:]
            self._state = replace(self._state, base_lin_vel_w=faster, base_ang_vel_b=turning)

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold (n, J) targets, and optionally extra joint torques, for one control step."""
        if self._state is None:
            raise SimulationError("there are no environments to step; call reset() first")
        target, change = np.array(target, float), None
        # The last one was trained on top of the others: they see what it makes of the command.
        for applied, usage in reversed(list(zip(self._applied, self.usage, strict=True))):
            now = {**looked_at.of_state(self._state), "target": target, "payload": self._payload}
            output, head = applied.output(now, usage), applied.contract.head
            if head == "action":
                target = target + output
            elif head == "torque":
                torque = output if torque is None else torque + output
            else:
                change = output if change is None else change + output
        state = self._world.step(target, torque)
        if change is not None:
            state = self._written(state, change)
        self._state = state
        return state

    def last_output(self, correction: int) -> np.ndarray:
        """(n, K) what one of the corrections gave in the last step."""
        return self._applied[correction].last

    def _written(self, state: State, change: np.ndarray) -> State:
        """A corrected state, written back; an environment that diverged stays as it is."""
        lost = self.health.diverged[:, None]
        state = moved(state, np.where(lost, 0.0, change))
        self._world.place(state)
        return state

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
        if not self.corrections:
            return self._world.rollout(
                state, targets, torques=torques, history=history, conditions=conditions
            )
        self._twin = self._twin or self.twin()
        return self._twin._played(state, targets, torques, history, conditions)

    def _played(
        self,
        state: State,
        targets: np.ndarray,
        torques: np.ndarray | None,
        history: np.ndarray | None,
        conditions: Sequence[Conditions] | None,
    ) -> Trajectory:
        self.reset(state, conditions=conditions, history=history)
        states, valid = [state], [np.ones(len(state), bool)]
        for t in range(targets.shape[1]):
            states.append(self.step(targets[:, t], None if torques is None else torques[:, t]))
            valid.append(~self.health.diverged)
        return Trajectory.over_time(states, np.stack(valid, axis=1))


def _calibrated(world: World, calibration: Calibration) -> World:
    if not isinstance(world, EngineWorld):
        raise SimulationError(
            f"a calibration patches the robot of a MujocoWorld or PhysxWorld, not of a "
            f"{type(world).__name__}"
        )
    refuse_other_mujoco(calibration.made_by, "this calibration")
    robot, effects = calibration.apply(world.robot, world.effects)
    return world.variant(robot=robot, effects=effects)
