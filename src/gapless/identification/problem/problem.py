"""What every optimiser minimises: replay errors of windows, and what was known before.

Optimisers work on z, the parameters' distance from their priors in units of their prior std.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase

import numpy as np

from gapless.errors import GaplessError, unknown
from gapless.identification.problem.free_starts import StartFilter, start_filter
from gapless.identification.problem.grouping import PROBES, Group, Grouping, grouping_of
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.losses import LOSSES
from gapless.identification.problem.residuals import RESIDUALS
from gapless.identification.problem.simulator import Simulator
from gapless.measurement.windows import Windows
from gapless.parameters import Parameter, apply
from gapless.worlds.mujoco_world import MujocoWorld

ENCODER_NOISE = 1e-3
"""Noise of a position reading, rad, below which errors are not told apart."""

RUNAWAY_ERROR = 1.0
"""What a reading counts, rad, after the simulation diverged."""


Slopes = Mapping[str, np.ndarray]
"""Name of a parameter -> (n, R) slope of the residuals of n windows, rad or m a unit."""


class Problem:
    """Replay errors of windows as a function of z.

    Args:
        world: the nominal robot.
        parameters: what is unknown.
        windows: what must be explained.
        objective: "joints", or "bodies" (HALO's body positions, the upper body counting more).
        loss: a key of `LOSSES`.
        noise: of a residual, rad or m; errors are counted in it, and so are the priors.
        prior_weight: 1 takes the prior std as they are, 0 leaves the priors out.
        boxes: kind or name -> (lower, upper) share of the prior: HALO's regulariser, free inside,
            quadratic outside.
    """

    def __init__(
        self,
        world: MujocoWorld,
        parameters: Sequence[Parameter],
        windows: Windows,
        *,
        objective: str = "joints",
        loss: str = "huber",
        noise: float = ENCODER_NOISE,
        prior_weight: float = 1.0,
        boxes: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        if loss not in LOSSES:
            raise unknown("loss", loss, LOSSES)
        if objective not in RESIDUALS:
            raise unknown("objective", objective, RESIDUALS)
        if not noise > 0:
            raise GaplessError(f"noise is {noise}; expected a number above 0")
        self._set_parameters(world, list(parameters), _box_edges(parameters, boxes or {}))
        self.windows = windows.unloaded() if _finds_loads(parameters) else windows
        self.loss, self.noise, self.prior_weight = LOSSES[loss], noise, prior_weight
        self.objective = objective
        self._residuals = RESIDUALS[objective](world.robot, self.windows)
        self._start_filter: StartFilter | None = None

    def __len__(self) -> int:
        return len(self.parameters)

    def on(self, windows: Windows) -> Problem:
        """The same question asked of other windows."""
        twin = copy(self)
        twin.windows = windows.unloaded() if _finds_loads(self.parameters) else windows
        twin._residuals = RESIDUALS[self.objective](self.world.robot, twin.windows)
        twin._start_filter = twin._last = None
        return twin

    def forget_replays(self) -> None:
        """Replay the next point, whether or not it was the last: as one who resumes here must."""
        self._last = None

    def with_free_starts(self, z: np.ndarray) -> Problem:
        """The same with starts unknown within the error of reading them; see `free_starts`."""
        twin = copy(self)
        twin._start_filter = None
        twin._start_filter = start_filter(twin, z)
        return twin

    def with_noise(self, noise: float) -> Problem:
        """The same with another noise level."""
        twin = copy(self)
        twin.noise = max(noise, 1e-9)
        return twin

    def with_discounted_data(self, discount: float) -> Problem:
        """The same with priors that count as if so many readings told no more than one."""
        twin = copy(self)
        twin.prior_weight = self.prior_weight * max(discount, 1.0)
        return twin

    def values(self, z: np.ndarray) -> np.ndarray:
        """Physical values of z, (..., P)."""
        columns = [p.value_of(z[..., i]) for i, p in enumerate(self.parameters)]
        return np.stack(columns, axis=-1)

    def z_of(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `values`, within the bounds."""
        z = [p.z_of(v) for p, v in zip(self.parameters, values, strict=True)]
        return np.clip(z, self.lower, self.upper)

    def residuals(self, z: np.ndarray) -> np.ndarray:
        """(k, n, R) errors of every window at k points, in units of the noise."""
        errors = self._errors(z)
        errors = errors if self._start_filter is None else self._start_filter(errors, self.noise)
        return errors / self.noise

    def _errors(self, z: np.ndarray) -> np.ndarray:
        """(k, n, R) rad or m; a point that was asked for alone is not replayed twice in a row."""
        if len(z) == 1 and self._last is not None and np.array_equal(z, self._last[0]):
            return self._last[1]
        errors = self._residuals(self.simulator.play(self.windows, self.values(z)))
        bad = ~np.isfinite(errors)
        errors = np.where(bad, RUNAWAY_ERROR, np.clip(errors, -RUNAWAY_ERROR, RUNAWAY_ERROR))
        if len(z) == 1:
            self._last = z.copy(), errors
        return errors

    def costs(self, z: np.ndarray) -> np.ndarray:
        """(k,) cost at k points."""
        return self.costs_of(z, self.residuals(z))

    def costs_of(self, z: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """(k,) cost of residuals that are known, with what the priors add."""
        data = self.loss.value(residuals**2).sum(axis=(1, 2))
        return 0.5 * (data + self.prior_cost(z))

    def prior_cost(self, z: np.ndarray) -> np.ndarray:
        """(k,) twice the cost of leaving the priors, and the boxes."""
        outside = np.maximum(self.boxes[0] - z, 0) + np.maximum(z - self.boxes[1], 0)
        return self.prior_weight * (z**2).sum(axis=1) + (outside**2).sum(axis=1)

    def prior_slope(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(P,) gradient and curvature of that cost."""
        below, above = np.minimum(z - self.boxes[0], 0), np.maximum(z - self.boxes[1], 0)
        curvature = self.prior_weight + (below + above != 0)
        return self.prior_weight * z + below + above, np.asarray(curvature, float)

    @property
    def readings(self) -> float:
        """How many readings are compared."""
        return self._residuals.count

    @property
    def floor(self) -> float:
        """The noise of a reading that nothing can explain, rad or m."""
        return ENCODER_NOISE / 3

    def typical(self, residuals: np.ndarray) -> float:
        """The usual size of one point's residuals, rad or m; what is far off hardly counts."""
        used = np.abs(residuals[residuals != 0])
        return float(1.4826 * np.median(used) * self.noise) if used.size else 0.0

    def only(self, chosen: np.ndarray, z: np.ndarray) -> Problem:
        """The problem of some parameters, the others fixed where z has them."""
        fixed = [p for p, c in zip(self.parameters, chosen, strict=True) if not c]
        robot, effects = apply(self.world.robot, self.world.effects, fixed, self.values(z)[~chosen])
        twin = copy(self)
        twin._set_parameters(
            self.world.variant(robot=robot, effects=effects),
            [p for p, c in zip(self.parameters, chosen, strict=True) if c],
            (self.boxes[0][chosen], self.boxes[1][chosen]),
        )
        return twin

    def _set_parameters(
        self,
        world: MujocoWorld,
        parameters: list[Parameter],
        boxes: tuple[np.ndarray, np.ndarray],
    ) -> None:
        self.parameters, self.world = parameters, world
        self.simulator = Simulator(world, parameters)
        self.lower = np.array([p.z_of(p.lower) for p in parameters])
        self.upper = np.array([p.z_of(p.upper) for p in parameters])
        self._step = np.array([p.step / p.prior_std for p in parameters])
        self._grouping: Grouping | None = None
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self.boxes = boxes

    def rms(self, residuals: np.ndarray) -> float:
        """Root mean square of one point's (n, R) residuals, rad or m, over what may be compared."""
        return float(self.noise * np.sqrt((residuals**2).sum() / self._residuals.count))

    def linearised(
        self,
        z: np.ndarray,
        residual: np.ndarray | None = None,
        own: bool = False,
        known: Slopes | None = None,
    ) -> Linear:
        """Residuals and slopes by forward differences, all in one batch.

        Args:
            z: (P,) the point.
            residual: (n, R) there, where it is known.
            own: move one kind of parameter of all joints together and take each joint's change to
                come from its own: a good guess in a fraction of the time.
            known: slopes that a fit to the same windows had found near here; only the others are
                formed.
        """
        delta, values = self._deltas(z), self.values(z)
        near = {
            i: known[p.name] for i, p in enumerate(self.parameters) if known and p.name in known
        }
        rest = np.array([i for i in range(len(self)) if i not in near], int)
        own = own and self.objective == "joints"  # a body moves with many joints
        grouping = self._own_joints() if own else self._grouped(z, rest)
        groups = grouping.groups
        points = _moved(z, delta, groups)
        points = points if residual is not None else np.vstack([z, points])
        found = self.residuals(points) if len(points) else np.empty((0,))
        base, moved = (found[0], found[1:]) if residual is None else (residual, found)
        slope = np.zeros((*base.shape, len(self)))
        for i, each in near.items():
            slope[..., i] = each * (self.parameters[i].per_z(values[i]) / self.noise)
        for group, there in zip(groups, moved, strict=True):
            shares = grouping.shares(group, self._residuals.columns)
            for i, share in zip(group, shares, strict=True):
                slope[..., i] = (there - base) * share / delta[i]
        return Linear(z, base, slope, self.loss.weight(base**2))

    def slopes(self, linear: Linear) -> Slopes:
        """Name -> (n, R) slope of the residuals, rad or m for each unit of the parameter."""
        rows = enumerate(zip(self.parameters, self.values(linear.z), strict=True))
        return {
            p.name: linear.slope[..., i] * (self.noise / p.per_z(float(value)))
            for i, (p, value) in rows
        }

    def _deltas(self, z: np.ndarray) -> np.ndarray:
        """(P,) steps of finite differences, inwards at a bound."""
        there = (self.lower <= z + self._step) & (z + self._step <= self.upper)
        return np.where(there, self._step, -self._step)

    def _grouped(self, z: np.ndarray, which: np.ndarray) -> Grouping:
        """Which of these parameters may share a replay: measured, where that saves replays."""
        few = len(self.windows) < 3 * PROBES or len(which) < 2 * PROBES
        if few:
            return Grouping.single(which, len(self))
        if self._grouping is None or self._grouping.members != set(which.tolist()):
            some = np.linspace(0, len(self.windows) - 1, PROBES).round().astype(int)
            probe = self.on(self.windows[some])
            found = probe.residuals(np.vstack([z, z + np.diag(self._deltas(z))[which]]))
            changes = np.zeros((len(self), *found.shape[1:]))
            changes[which] = found[1:] - found[0]
            self._grouping = grouping_of(changes, self._residuals.columns, which)
        return self._grouping

    def _own_joints(self) -> Grouping:
        """One kind of parameter of all joints together, each taken to move its own joint alone."""
        joints = self.world.robot.joints
        response = np.ones((len(self), self._residuals.columns.max() + 1))
        groups: dict[str, list[int]] = {}
        for i, p in enumerate(self.parameters):
            alone = p.joint is None or p.joint not in joints.names
            groups.setdefault(p.name if alone else p.kind, []).append(i)
            if not alone:
                response[i] = 0.0
                response[i, joints.index(p.joint)] = 1.0  # type: ignore[arg-type]
        return Grouping(tuple(map(tuple, groups.values())), response)

    @property
    def quick_share(self) -> float:
        """Replays of the quick slopes, as a share of those of one a parameter."""
        return len(self._own_joints().groups) / len(self)


def _moved(z: np.ndarray, delta: np.ndarray, groups: Sequence[Group]) -> np.ndarray:
    """(k, P) the point with the parameters of each group moved."""
    points = np.tile(z, (len(groups), 1))
    for row, group in enumerate(groups):
        points[row, list(group)] += delta[list(group)]
    return points


def _finds_loads(parameters: Sequence[Parameter]) -> bool:
    return any(p.kind.startswith("payload") for p in parameters)


def _box_edges(
    parameters: Sequence[Parameter], boxes: Mapping[str, tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edges in z, of boxes in shares of the prior; infinite without a box."""
    lower, upper = np.full(len(parameters), -np.inf), np.full(len(parameters), np.inf)
    for key, box in boxes.items():
        hits = [i for i, p in enumerate(parameters) if p.kind == key or fnmatchcase(p.name, key)]
        if not hits:
            raise unknown("parameter", key, [p.name for p in parameters])
        for i, p in ((i, parameters[i]) for i in hits):
            lower[i], upper[i] = sorted(p.z_of(edge * p.prior) for edge in box)
    return lower, upper
