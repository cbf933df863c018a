"""The loss of replayed windows and its exact gradient, in 64 bits (the optimiser `gradient`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.errors import DataError, MissingExtraError, SimulationError, unknown
from gapless.processor_share import processors
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.identification.differentiable.step import Physics, Plant

BLOCK = 8
"""Windows simulated together; blocks run side by side, one a core."""

OF_JOINTS = ("kp", "kd", "armature", "damping", "frictionloss")
OF_LINKS = ("mass", "com_x", "com_y", "com_z")


def require_jax() -> None:
    """Refuse before the work starts where JAX is not installed."""
    if find_spec("jax") is None:
        raise MissingExtraError("jax", "jax", "the gradient optimiser")


class ReplayLoss:
    """Half the weighted square error of windows that are played in a robot of given figures.

    Args:
        robot: clamped; its figures hold where no parameter says otherwise.
        names: the parameters, "mass/LINK", "com_x/LINK", "kp/JOINT", ...; see `OF_LINKS` and
            `OF_JOINTS`. A mass includes the link's load, and moves no moment about the centre.
        start_q: (n, J) positions at the start of each window, rad.
        start_dq: (n, J) velocities, rad/s.
        targets: (n, T, J) commands, rad.
        real_q: (n, T, J) recorded positions after each command, rad.
        weight: (n, T, J) what an error counts, 1/rad; 0 where it must not.
        rate: control steps per second.
        substeps: physics steps per control step.
        physics_step: s; substeps of it make a control step.

    Example:
        loss = ReplayLoss(robot, ["mass/torso_link"], q, dq, targets, real_q, weight,
                       rate=50.0, substeps=5, physics_step=0.004)
        value, gradient = loss(np.array([9.6]))
    """

    def __init__(
        self,
        robot: Robot,
        names: Sequence[str],
        start_q: np.ndarray,
        start_dq: np.ndarray,
        targets: np.ndarray,
        real_q: np.ndarray,
        weight: np.ndarray,
        *,
        rate: float,
        substeps: int,
        physics_step: float,
    ) -> None:
        require_jax()
        self.names = tuple(names)
        windows = [start_q, start_dq, targets, real_q, weight]
        _require_windows(len(robot.joints.names), windows)
        if not np.isclose(rate * substeps * physics_step, 1.0):
            raise SimulationError(
                f"{substeps} physics steps of {physics_step:g} s do not make a control step of "
                f"{1 / rate:g} s; expected substeps * physics_step = 1 / rate"
            )
        plant, physics, columns = _describe(robot, self.names, physics_step)
        windows[3] = np.where(np.asarray(weight) == 0, 0.0, real_q)
        self._environments = len(start_q)
        self._blocks = _blocks(windows)
        self._warm: set[Callable[..., Any]] = set()
        self._positions, self._loss = _compiled(plant, physics, columns, substeps)

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss of these values, and its (P,) gradient; raises SimulationError on divergence."""
        results = self._run(self._loss, values)
        windows = np.concatenate([windows for (_, windows), _ in results])
        gradients = np.array([gradient for _, gradient in results])
        self._require_finite(windows, values)
        self._require_finite(np.repeat(gradients.sum(1), BLOCK), values)  # of whole blocks
        return float(windows.sum()), gradients.sum(0)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """(n, T, J) simulated positions after each command, rad; NaN where they diverge."""
        found = np.concatenate(self._run(self._positions, values), axis=-1)
        return np.moveaxis(found, -1, 0)[: self._environments]

    def _run(self, function: Callable[..., Any], values: np.ndarray) -> list[Any]:
        """Results of all blocks, as NumPy arrays."""
        import jax

        values = np.asarray(values, float)
        if values.shape != (len(self.names),):
            raise SimulationError(
                f"{values.shape} values for {len(self.names)} parameters; expected one of each"
            )

        def run(block: list[np.ndarray]) -> Any:
            with jax.enable_x64(True):  # holds for one thread, and for no other user of JAX
                return jax.tree.map(np.asarray, function(values, *block))

        if function not in self._warm:  # threads that start together would each compile it
            run(self._blocks[0])
            self._warm.add(function)
        with ThreadPoolExecutor(processors()) as pool:
            return list(pool.map(run, self._blocks))

    def _require_finite(self, numbers: np.ndarray, values: np.ndarray) -> None:
        bad = np.flatnonzero(~np.isfinite(numbers[: self._environments]))
        if len(bad):
            given = ", ".join(f"{n} = {v:g}" for n, v in zip(self.names, values, strict=True))
            raise SimulationError(
                f"window {bad[0]} of {self._environments} diverged ({len(bad)} in all) with "
                f"{given}; "
                "take a smaller step, or shorter windows"
            )


def _require_windows(joints: int, arrays: list[np.ndarray]) -> None:
    """Refuse arrays that do not belong together, and starts or targets that are not numbers."""
    given = [np.shape(a) for a in arrays]
    environments, steps = (*given[2], 0, 0)[:2]
    wanted = [(environments, joints)] * 2 + [(environments, steps, joints)] * 3
    if given != wanted or not environments or not steps:
        raise DataError(
            f"windows have shapes {given}; expected (n, {joints}) positions and velocities at "
            f"the start, and (n, T, {joints}) targets, recorded positions and weights"
        )
    used = np.where(np.asarray(arrays[4]) == 0, 0.0, arrays[3])
    for array in (*arrays[:3], used, arrays[4]):
        bad = np.flatnonzero(~np.isfinite(array).reshape(environments, -1).all(1))
        if len(bad):
            raise DataError(
                f"window {bad[0]} holds NaN or infinite numbers; leave it out, or give its bad "
                "samples weight 0 (only recorded positions may be missing)"
            )


def _blocks(arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Equal blocks, windows last; the last block is filled up with environments of weight 0."""
    environments = len(arrays[0])
    index = np.arange(-(-environments // BLOCK) * BLOCK)
    filled = [np.asarray(a, float)[np.minimum(index, environments - 1)] for a in arrays]
    filled[-1][environments:] = 0.0
    parts = [np.split(np.moveaxis(a, 0, -1), len(index) // BLOCK, axis=-1) for a in filled]
    return [list(block) for block in zip(*parts, strict=True)]


def _describe(
    robot: Robot, names: Sequence[str], timestep: float
) -> tuple[Plant, Physics, list[tuple[str, tuple[int, ...]]]]:
    """The constants, the nominal figures, and the place of each parameter among them."""
    from gapless.identification.differentiable.skeleton import Skeleton
    from gapless.identification.differentiable.step import Physics, Plant
    from gapless.identification.differentiable.stops import Stops

    model, joints = robot.model(timestep=timestep), robot.joints
    skeleton = Skeleton.of(robot, model)
    places = [_place(name, robot, skeleton.link) for name in names]
    physics = Physics(
        skeleton.mass, skeleton.com, *(getattr(joints, kind)[:, None] for kind in OF_JOINTS)
    )
    effort = np.where(joints.effort > 0, joints.effort, np.inf)[:, None]
    return Plant(skeleton, Stops.of(robot, model), effort, timestep), physics, places


def _place(name: str, robot: Robot, link: dict[str, int]) -> tuple[str, tuple[int, ...]]:
    """The field of Physics and the index in it that a parameter names."""
    kind, _, owner = name.partition("/")
    if kind in OF_JOINTS:
        return kind, (robot.joints.index(owner), 0)
    if kind not in OF_LINKS:
        raise unknown("parameter of the gradient optimiser", kind, (*OF_LINKS, *OF_JOINTS))
    node = link[robot.check_link(owner)]
    return ("mass", (node,)) if kind == "mass" else ("com", ("xyz".index(kind[-1]), node))


def _compiled(
    plant: Plant, nominal: Physics, places: list[tuple[str, tuple[int, ...]]], substeps: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Functions of the values and of one block: its positions; its loss, gradient included."""
    import jax
    import jax.numpy as jnp

    def play(values: Any, q: Any, dq: Any, targets: Any) -> Any:
        fields = nominal._asdict()
        for value, (field, index) in zip(values, places, strict=True):
            fields[field] = jnp.asarray(fields[field]).at[index].set(value)
        physics = nominal._replace(**fields)

        def control_step(state: Any, target: Any) -> Any:
            one = lambda s, _: (plant.step(physics, s[0], s[1], target, s[2]), None)  # noqa: E731
            state, _ = jax.lax.scan(one, state, None, substeps)
            return state, state[0]

        return jax.lax.scan(control_step, (q, dq, jnp.zeros_like(q)), targets)[1]

    def positions(values: Any, q: Any, dq: Any, targets: Any, *_: Any) -> Any:
        return play(values, q, dq, targets)

    def loss(values: Any, q: Any, dq: Any, targets: Any, real_q: Any, weight: Any) -> Any:
        error = weight * (play(values, q, dq, targets) - real_q)
        windows = 0.5 * (error**2).sum((0, 1))
        return windows.sum(), windows

    return jax.jit(positions), jax.jit(jax.value_and_grad(loss, has_aux=True))
