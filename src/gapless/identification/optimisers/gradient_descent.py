"""Gradient descent on exact slopes of the replay, as HALO does it: a reverse pass an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gapless.errors import GaplessError, SimulationError
from gapless.identification.differentiable.loss import OF_JOINTS, OF_LINKS, ReplayLoss, require_jax
from gapless.identification.optimisers.gauss_newton import Iterate, Report
from gapless.identification.problem.losses import LOSSES
from gapless.identification.problem.problem import Problem
from gapless.parameters import KINDS
from gapless.robots import Robot

HALO_RATES = {"mass": 0.03, "com_x": 2e-4, "com_y": 2e-4, "com_z": 2e-4}
"""HALO's learning rates: kg or m per slope of its loss."""

HALO_ITERATIONS = 2000
ITERATIONS = 300
SMALLEST = 1e-3
"""Give up when divergences have cut the steps to this share."""

Slope = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Point z -> cost and its (P,) slope."""

Rule = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""Iteration, point and slope -> (P,) step."""


def gradient(
    problem: Problem,
    start: np.ndarray,
    *,
    iterations: int | None = None,
    rate: float = 0.05,
    halo: bool = False,
    report: Report | None = None,
) -> Iterate:
    """Minimise a problem.

    Args:
        problem: of a clamped robot without effects, with the joints objective and squared loss.
        start: (P,) where to begin.
        iterations: how many; 300, or HALO's 2000.
        rate: first step of each parameter, in prior std (Adam); it falls to 0 over the iterations.
        halo: HALO's plain descent with its learning rates instead. Its loss is the squared error,
            rad², summed over time and joints, mean over windows.
        report: told after each iteration.
    """
    slope_at = _slope(problem)
    iterations = iterations or (HALO_ITERATIONS if halo else ITERATIONS)
    rule = _plain(problem) if halo else _adam(rate, iterations)
    z, share = np.clip(start, problem.lower, problem.upper), 1.0
    here, slope_there = Iterate(z, np.inf, np.inf), np.zeros(len(problem))
    for i in range(iterations):
        try:
            cost, slope = slope_at(z)
        except SimulationError as error:
            share /= 2
            if here.cost == np.inf or share < SMALLEST:
                raise SimulationError(f"gradient descent cannot go on: {error}") from error
            z, slope = here.z, slope_there
        else:
            if cost < here.cost:
                here = _moved(problem, here, z, cost)
                slope_there = slope
        here.iteration = i + 1
        here.history.append(here.error)
        if report:
            report(here)
        z = np.clip(z - share * rule(i, z, slope), problem.lower, problem.upper)
    return _as_simulated(problem, here)


def _moved(problem: Problem, here: Iterate, z: np.ndarray, cost: float) -> Iterate:
    """Progress at a better point."""
    squares = 2 * cost - problem.prior_cost(z[None])[0]
    error = problem.noise * np.sqrt(max(squares, 0.0) / problem.readings)
    return replace(here, z=z, cost=cost, error=float(error))


def _as_simulated(problem: Problem, here: Iterate) -> Iterate:
    """Cost and error in MuJoCo itself, as every other optimiser states them."""
    residual = problem.residuals(here.z[None])
    cost = float(problem.costs_of(here.z[None], residual)[0])
    return replace(here, cost=cost, error=problem.rms(residual[0]))


def _adam(rate: float, iterations: int, memory: float = 0.9, slow: float = 0.999) -> Rule:
    """Adam; a cosine takes the rate to 0, for else it would circle the minimum."""
    mean, square = np.zeros(()), np.zeros(())

    def step(i: int, _: np.ndarray, slope: np.ndarray) -> np.ndarray:
        nonlocal mean, square
        mean = memory * mean + (1 - memory) * slope
        square = slow * square + (1 - slow) * slope**2
        scale = np.sqrt(square / (1 - slow ** (i + 1))) + 1e-12
        falling = 0.5 * (1 + np.cos(np.pi * i / iterations))
        return rate * falling * mean / (1 - memory ** (i + 1)) / scale

    return step


def _plain(problem: Problem) -> Rule:
    """HALO's descent."""
    others = [p.name for p in problem.parameters if p.kind not in HALO_RATES]
    if others:
        raise GaplessError(
            f"HALO has no learning rate for {', '.join(others)}, only for "
            f"{', '.join(HALO_RATES)}; leave these out, or use Adam (halo=False)"
        )
    rates = np.array([HALO_RATES[p.kind] for p in problem.parameters])
    to_loss = 2 * problem.noise**2 / len(problem.windows)

    def step(_: int, z: np.ndarray, slope: np.ndarray) -> np.ndarray:
        per_z = _per_z(problem, z)
        return rates * to_loss * slope / per_z**2  # to kg or m, and back

    return step


def _per_z(problem: Problem, z: np.ndarray) -> np.ndarray:
    """(P,) how much each value changes with z."""
    pairs = zip(problem.parameters, problem.values(z), strict=True)
    return np.array([p.per_z(float(value)) for p, value in pairs])


def _slope(problem: Problem) -> Slope:
    """The problem's cost and its slope through JAX."""
    require_jax()
    robot = _one_robot(problem)
    names, per_value = _places(problem)
    windows, world = problem.windows, problem.world
    loss = ReplayLoss(
        robot,
        names,
        windows.start.q,
        windows.start.dq,
        windows.commands.target[:, windows.before :],
        windows.real.q,
        windows.weight / problem.noise,
        rate=windows.rate,
        substeps=world.substeps,
        physics_step=world.timestep,
    )

    def at(z: np.ndarray) -> tuple[float, np.ndarray]:
        cost, slope = loss(per_value @ problem.values(z))
        problem.simulator.simulated_seconds += windows.seconds
        by_prior, _ = problem.prior_slope(z)
        added = 0.5 * float(problem.prior_cost(z[None])[0])
        return cost + added, (per_value.T @ slope) * _per_z(problem, z) + by_prior

    return at


def _places(problem: Problem) -> tuple[list[str], np.ndarray]:
    """Names of all figures that vary, and (names, P) how much of each a parameter's value is."""
    world, names, rows = problem.world, [], []
    for i, parameter in enumerate(problem.parameters):
        nominal = KINDS[parameter.kind].nominal
        for place in parameter.places:
            own = nominal(world.robot, world.effects, place) if parameter.factor else 1.0
            names.append(f"{parameter.kind}/{place}")
            rows.append(own * np.eye(len(problem))[i])
    return names, np.array(rows)


def _one_robot(problem: Problem) -> Robot:
    """The robot of all windows, or a refusal that says what stands in the way."""
    obstacles = list(_obstacles(problem))
    if obstacles:
        raise GaplessError(
            f"the gradient optimiser cannot do this: {'; '.join(obstacles)}. "
            "Use the gauss-newton optimiser"
        )
    told, robot = problem.windows.conditions[0], problem.world.robot
    robot = robot if told.payloads is None else robot.with_payloads(told.payloads)
    return robot.with_gains(told.gains)


def _obstacles(problem: Problem) -> Iterator[str]:
    windows, kinds = problem.windows, {p.kind for p in problem.parameters}
    told, known = windows.conditions[0], (*OF_LINKS, *OF_JOINTS)
    loads = problem.world.robot.payloads if told.payloads is None else told.payloads
    links = {place for p in problem.parameters if p.kind in OF_LINKS for place in p.places}
    if strange := sorted(kinds - set(known)):
        yield f"it has no slope for {', '.join(strange)}, only for {', '.join(known)}"
    if problem.objective != "joints":
        yield f"the objective is {problem.objective!r}, and it knows only 'joints'"
    if problem.loss is not LOSSES["squared"]:
        yield "the loss is robust, and it knows only 'squared'"
    if problem.world.effects.fingerprint():
        yield "the robot's drives have effects (delay, bias, backlash, ...) beyond PD and friction"
    if windows.commands.target_dq is not None or windows.commands.torque_ff is not None:
        yield "velocities or torques are commanded beside the positions"
    if any(c != told for c in windows.conditions):
        yield "loads or gains differ between the recordings"
    if told.gains and kinds & {"kp", "kd"}:
        yield "the recordings state the gains that are to be found"
    if full := sorted(links & set(loads)):
        yield f"{', '.join(full)} carries a load, which would count as the link's own mass"
