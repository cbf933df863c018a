"""HiddenWorld: a robot whose truth the methods never see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import ModelError, unknown
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.chance import sequence_generators
from gapless.worlds.hidden.changes import hidden_effects, hidden_robot, loads, strengths
from gapless.worlds.hidden.effect_sizes import chosen
from gapless.worlds.hidden.imu import Imu
from gapless.worlds.hidden.readings import Sensors
from gapless.worlds.hidden.truth import Truth
from gapless.worlds.world import Health, Identity, State, Trajectory

if TYPE_CHECKING:
    from gapless.worlds.engine_world import EngineWorld

ENGINES = ("mujoco", "physx")


class HiddenWorld:
    """One unit of a robot that differs from its model, behind the World protocol.

    What it does to a sequence depends on nothing but the unit, the targets and the conditions:
    alone, in any batch and after a resume the same sequence gives the same bytes.

    Args:
        robot: the nominal robot; `robot` gives it back, not the altered one.
        preset: none, mild, typical or hard.
        unit: which individual, from 1.
        seed: of everything drawn.
        only: names of effects to switch on; all by default.
        rate: control steps per second; the robot's own by default.
        engine: mujoco or physx.
        physics_step: longest physics step, s.
        threads: size of MuJoCo's thread pool; all cores by default.

    Example:
        world = HiddenWorld(Robot.load("h1_2", mount="fixed"), "typical", unit=2)
        recording = record(world, targets, "wave", start=world.home())
    """

    def __init__(
        self,
        robot: Robot,
        preset: str = "typical",
        unit: int = 1,
        seed: int = 0,
        *,
        only: Iterable[str] | None = None,
        rate: float | None = None,
        engine: str = "mujoco",
        physics_step: float = 0.002,
        threads: int | None = None,
    ) -> None:
        if engine not in ENGINES:
            raise unknown("engine", engine, ENGINES)
        only = None if only is None else chosen(only)
        if engine == "physx":
            only = _without_softness(only)
        truth = Truth.draw(robot, preset, unit, seed, only)
        self._robot, self._truth = robot, truth
        self._settings = {
            "preset": preset,
            "unit": unit,
            "seed": seed,
            "only": only,
            "engine": engine,
            "physics_step": physics_step,
            "threads": threads,
        }
        self._strength = strengths(robot, truth)
        self._inner = self._build(engine, rate, physics_step, threads)
        self._sensors = Sensors(
            delay=truth.number("sensor_delay"),
            noise=truth.array("encoder_noise", robot.joints.names),
            resolution=truth.array("quantisation", robot.joints.names),
            strength=self._strength,
        )
        self._imu = Imu.of(truth)
        self._chance: dict[str, list[np.random.Generator]] = {}
        self._recent: list[State] = []

    def _build(
        self, engine: str, rate: float | None, physics_step: float, threads: int | None
    ) -> EngineWorld:
        altered = hidden_robot(self._robot, self._truth)
        effects = hidden_effects(self._robot, self._truth)
        if engine == "physx":
            from gapless.worlds.physx import PhysxWorld

            return PhysxWorld(altered, rate, physics_step=physics_step, effects=effects)
        from gapless.worlds.mujoco_world import MujocoWorld

        return MujocoWorld(
            altered, rate, physics_step=physics_step, effects=effects, threads=threads
        )

    @property
    def robot(self) -> Robot:
        """The nominal robot."""
        return self._robot

    @property
    def rate(self) -> float:
        """Control steps per second."""
        return self._inner.rate

    @property
    def identity(self) -> Identity:
        """Of the engine underneath; the truth is in it only as a hash."""
        inner = self._inner.identity
        return replace(inner, effects_hash=self._truth.key or inner.effects_hash)

    @property
    def health(self) -> Health:
        """Which of the environments that `step` advances diverged, and when."""
        return self._inner.health

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return self._inner.history_steps

    def at_rate(self, rate: float) -> HiddenWorld:
        """The same unit with another control rate."""
        same = np.isclose(rate, self.rate)
        return self if same else HiddenWorld(self._robot, rate=rate, **self._settings)

    def twin(self) -> HiddenWorld:
        """The same unit, with environments of its own."""
        return self.with_robot(self._robot)

    def with_robot(self, robot: Robot) -> HiddenWorld:
        """The same unit of a nominal robot that differs in its floor or its loads."""
        return HiddenWorld(robot, rate=self.rate, **self._settings)

    def home(self, environments: int = 1) -> State:
        """The default pose at rest; on a floor, standing."""
        return self._inner.home(environments)

    def write_truth(self, path: str | Path) -> None:
        """Write the unit's figures to a file, for scoring a method that has finished."""
        self._truth.write(path)

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put environments into a state; see `World.reset`."""
        self._inner.reset(state, which, self._conditions(conditions), history)
        drawn = self._drawn(state.q, conditions)
        if which is None:
            self._recent, self._chance = [state], drawn
            return
        for kept, new in zip(self._chance.values(), drawn.values(), strict=True):
            for copy, own in zip(np.arange(len(kept))[which], new, strict=True):
                kept[copy] = own
        self._recent = [
            earlier.with_rows(which, state.completed(earlier[which])) for earlier in self._recent
        ]

    def place(self, state: State) -> None:
        """Move all environments to another state; clocks, delays and motors go on as they were."""
        self._inner.place(state)
        self._recent = [state]

    def use_conditions(self, conditions: Sequence[Conditions]) -> None:
        """Give each environment other loads and gains; all else goes on as it was."""
        self._inner.use_conditions([self._really(told) for told in conditions])

    def push(self, velocity: np.ndarray, which: np.ndarray | None = None) -> None:
        """Add a world-frame velocity, m/s, to the bases of environments; see `World.push`."""
        self._inner.push(velocity, which)

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold (n, J) targets for one control step; the log's view of what follows."""
        now = self._inner.step(target, torque)
        self._recent = [*self._recent, now][-self._shown(self._imu.age) :]
        # A start has no torque and no temperature: the present ones stand for them.
        states = [earlier.completed(now) for earlier in self._recent]
        past = Trajectory.over_time(states, np.ones((len(now), len(states)), bool))
        # What the encoders no longer show must not count: it would shift their chance.
        recent = past[:, -self._shown(self._sensors.delay) :]
        seen = self._sensors.log(recent, self.rate, self._chance["sensors"])[:, -1:]
        return self._imu.log(seen, past, self.rate, self._chance["imu"]).at(-1)

    def _shown(self, delay: float) -> int:
        """As many states as a delay may still show."""
        return 1 + max(1, int(np.ceil(delay * self.rate)))

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
        true = self._inner.rollout(
            state,
            targets,
            torques=torques,
            history=history,
            conditions=self._conditions(conditions),
        )
        drawn = self._drawn(targets, conditions)
        seen = self._sensors.log(true, self.rate, drawn["sensors"])
        return self._imu.log(seen, true, self.rate, drawn["imu"])

    def _drawn(
        self, rows: np.ndarray, conditions: Sequence[Conditions] | None
    ) -> dict[str, list[np.random.Generator]]:
        """The chance of each environment, by what it acts on."""
        seed, unit = self._truth.seed, self._truth.unit
        return {
            what: sequence_generators(seed, f"{what} {unit}", rows, conditions)
            for what in ("sensors", "imu")
        }

    def _conditions(self, conditions: Sequence[Conditions] | None) -> list[Conditions] | None:
        """Known loads and gains, as they really are."""
        if conditions is None:
            return None
        return [self._really(told) for told in conditions]

    def _really(self, told: Conditions) -> Conditions:
        known = self._robot.payloads if told.payloads is None else told.payloads
        weak = dict(zip(self._robot.joints.names, self._strength, strict=True))
        return replace(
            told,
            payloads=loads(self._robot, known, self._truth),
            gains={j: (kp * weak[j], kd * weak[j]) for j, (kp, kd) in told.gains.items()},
        )


def _without_softness(only: tuple[str, ...] | None) -> tuple[str, ...]:
    """PhysX has hard contacts: soft floors are left out, and refused where asked for by name."""
    usual = chosen(None)
    if only is not None and "floor_softness" in only and not set(usual) <= set(only):
        raise ModelError("PhysX has no soft contacts, so floor_softness needs engine='mujoco'")
    return tuple(name for name in (usual if only is None else only) if name != "floor_softness")
