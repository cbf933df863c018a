"""MujocoWorld: a thin layer over mujoco.rollout and its thread pool."""

from __future__ import annotations

from typing import Self

import mujoco
import numpy as np

from gapless.errors import SimulationError, unknown
from gapless.processor_share import processors
from gapless.robots import Robot
from gapless.worlds.actuators import Motors
from gapless.worlds.effects import Effects
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.mujoco_engine import MujocoEngine
from gapless.worlds.world import State, Trajectory

SOLVERS = {
    "Newton": mujoco.mjtSolver.mjSOL_NEWTON,
    "CG": mujoco.mjtSolver.mjSOL_CG,
    "PGS": mujoco.mjtSolver.mjSOL_PGS,
}


class MujocoWorld(EngineWorld):
    """Environments of a robot in MuJoCo.

    Args:
        robot: what is simulated; its mount decides whether there is a floor.
        rate: control steps per second; the robot's own by default.
        physics_step: longest physics step, s. The step used divides the control step evenly.
        effects: actuator effects beyond PD; none by default.
        threads: size of the thread pool; all cores by default.
        solver: of contacts and other constraints, "Newton", "CG" or "PGS"; the robot's own by
            default, which is Newton unless its MJCF says otherwise.
        iterations: that it makes at most; as the robot has it by default.

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
        solver: str | None = None,
        iterations: int | None = None,
    ) -> None:
        self._solver, self._iterations = solver, iterations
        options = solver_options(solver, iterations)
        super().__init__(robot, rate, physics_step=physics_step, effects=effects, options=options)
        self._threads = max(1, threads or processors())
        self._engine = MujocoEngine(
            *(self._model, self._layout, self.effects, self._rate, self.substeps),
            threads=self._threads,
        )

    @property
    def _software(self) -> tuple[str, str, str]:
        integrator = mujoco.mjtIntegrator(self._model.opt.integrator).name
        return "mujoco", mujoco.__version__, integrator

    @property
    def _solver_told(self) -> str:
        if self._solver is None and self._iterations is None:
            return ""
        used = mujoco.mjtSolver(self._model.opt.solver)
        name = next(name for name, solver in SOLVERS.items() if solver == used)
        return f"{name} {self._model.opt.iterations}"

    def variant(
        self,
        *,
        robot: Robot | None = None,
        effects: Effects | None = None,
        rate: float | None = None,
    ) -> Self:
        """A new world that differs in what is given."""
        return type(self)(
            robot or self._robot,
            rate or self._rate,
            physics_step=self._physics_step,
            effects=effects or self._effects_given,
            threads=self._threads,
            solver=self._solver,
            iterations=self._iterations,
        )

    def rollout_environments(
        self,
        state: State,
        targets: np.ndarray,
        history: np.ndarray,
        models: list[mujoco.MjModel],
        effects: Effects,
    ) -> Trajectory:
        """Play environments that each have a model, and effects, of their own.

        Args:
            state: start of the n environments.
            targets: (n, T, J) finite positions, rad.
            history: (n, H, J) targets before the first; at least one.
            models: one an environment, with the sizes of `model` and this world's timestep.
            effects: fields of shape (J,) or (n, J); without jitter.
        """
        motors = Motors.unset(effects.ambient, len(state), None) if effects.needs_memory else None
        return self._played(state, targets, None, history, models, motors, None, effects)


def solver_options(solver: str | None, iterations: int | None) -> dict[str, int]:
    """Those of MuJoCo's options that are given, or a refusal."""
    if solver is not None and solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    if iterations is not None and iterations < 1:
        raise SimulationError(f"iterations is {iterations}; expected 1 or more")
    chosen = {} if solver is None else {"solver": int(SOLVERS[solver])}
    return chosen if iterations is None else {**chosen, "iterations": int(iterations)}
