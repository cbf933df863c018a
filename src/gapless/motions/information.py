"""What a motion tells about parameters: sensitivities, Fisher information, predicted errors."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gapless.errors import SimulationError
from gapless.parameters import Parameter, as_in, changed
from gapless.processor_share import processors
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State

ENCODER_NOISE = 1e-3
"""Standard deviation of a position reading, rad."""

BLIND = 1e-8
"""A direction with less than this share of the strongest one's information was not observed."""


def sensitivities(
    world: MujocoWorld,
    targets: np.ndarray,
    parameters: Sequence[Parameter],
    start: State | None = None,
    *,
    central: bool = True,
) -> np.ndarray:
    """Change of the joint positions per unit of each parameter, by finite differences.

    Args:
        world: the robot at whose parameters the slopes are taken, nominal or the guess of a fit.
        targets: (T, J) or a batch (n, T, J) of joint targets at the world's rate, rad.
        parameters: what is moved.
        start: state of the environments; the default pose at rest.
        central: step to both sides; False steps to one only, in half the time.

    Returns:
        (T, J, P) or (n, T, J, P); sample t is the position after target t.
    """
    batch = targets[None] if targets.ndim == 2 else targets
    start = world.home(len(batch)) if start is None else start
    here, parameters = positions(world, batch, start), as_in(world, parameters)
    # One motion keeps one thread busy, so the parameters share the cores; a batch fills them.
    with ThreadPoolExecutor(max(1, processors() // len(batch))) as pool:
        columns = pool.map(lambda p: _slope(world, batch, start, here, p, central), parameters)
        result = np.stack(list(columns), axis=-1)
    return result[0] if targets.ndim == 2 else result


def positions(world: MujocoWorld, targets: np.ndarray, start: State) -> np.ndarray:
    """(n, T, J) positions after each target, or an error where the world diverged."""
    played = world.rollout(start, targets)
    if not played.valid.all():
        raise SimulationError(
            f"{world.robot.name} diverged {played.valid.all(axis=0).argmin() / world.rate:.2f} s "
            "into a motion; use a smaller physics_step, more armature, or a gentler motion"
        )
    return played.q[:, 1:]


def _slope(
    world: MujocoWorld,
    targets: np.ndarray,
    start: State,
    here: np.ndarray,
    parameter: Parameter,
    central: bool,
) -> np.ndarray:
    ahead, back = parameter.steps if central else (_one_step(parameter), 0.0)
    q_ahead, q_back = (
        positions(changed(world, [parameter], [step]), targets, start) if step else here
        for step in (ahead, back)
    )
    return (q_ahead - q_back) / (ahead - back)


def _one_step(parameter: Parameter) -> float:
    """The wider step: a parameter at its bound, such as no friction, can move one way only."""
    return max(parameter.steps, key=abs)


def own_sensitivities(
    world: MujocoWorld, targets: np.ndarray, parameters: Sequence[Parameter]
) -> np.ndarray:
    """A quick estimate of `sensitivities` for a batch (n, T, J), for comparing many motions.

    The parameters of all joints move together, one field at a time, and each joint's change is
    taken to come from its own parameter; what joints do to each other is left out.
    """
    start, parameters = world.home(len(targets)), as_in(world, parameters)
    here = positions(world, targets, start)
    result = np.zeros((*here.shape, len(parameters)))
    for group in _moved_together(parameters):
        steps = [_one_step(parameters[i]) for i in group]
        moved = changed(world, [parameters[i] for i in group], steps)
        change = positions(moved, targets, start) - here
        for i, step in zip(group, steps, strict=True):
            own = parameters[i].joint
            columns = slice(None) if own is None else world.robot.joints.index(own)
            result[:, :, columns, i] = change[:, :, columns] / step
    return result


def _moved_together(parameters: Sequence[Parameter]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for i, parameter in enumerate(parameters):
        alone = parameter.joint is None
        groups.setdefault(parameter.name if alone else parameter.kind, []).append(i)
    return list(groups.values())


def fisher(sensitivity: np.ndarray, noise: float = ENCODER_NOISE) -> np.ndarray:
    """Fisher information (P, P), or (n, P, P) of a batch, under white encoder noise (rad)."""
    if not noise > 0:
        raise SimulationError(f"encoder noise is {noise} rad; it must be above 0")
    rows = sensitivity.reshape(*sensitivity.shape[:-3], -1, sensitivity.shape[-1]) / noise
    return np.swapaxes(rows, -1, -2) @ rows


def scaled(information: np.ndarray, parameters: Sequence[Parameter]) -> np.ndarray:
    """The information about the parameters in units of their scales."""
    scales = np.array([p.prior_std for p in parameters])
    return information * np.outer(scales, scales)


def predicted_errors(information: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """1-sigma of each parameter (Cramér-Rao), inf where the motion cannot tell.

    Args:
        information: (P, P) Fisher information.
        prior: (P,) 1-sigma known before; None is nothing.
    """
    if prior is not None:
        told = np.eye(len(prior)) + information * np.outer(prior, prior)
        return prior * np.sqrt(np.diag(np.linalg.inv(told)))
    size, values, vectors = _directions(information)
    seen = values > 0
    variance = (vectors[:, seen] ** 2 / values[seen]).sum(axis=1)
    blind = (vectors[:, ~seen] ** 2).sum(axis=1) > BLIND
    return np.where(blind, np.inf, np.sqrt(variance) / size)


def log_det(information: np.ndarray, parameters: Sequence[Parameter]) -> float:
    """The D-criterion in units of the scales; -inf where a combination is not observed."""
    size, values, _ = _directions(scaled(information, parameters))
    return float(np.log(values).sum() + 2 * np.log(size).sum()) if values.all() else -np.inf


def _directions(information: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Own size of each parameter, eigenvalues (0 where blind) and vectors in those units.

    Units differ by orders of magnitude, so what is blind is judged on numbers made comparable.
    """
    size = np.sqrt(np.diag(information))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(information / np.outer(size, size))
    return size, np.where(values > BLIND * values.max(), values, 0.0), vectors
