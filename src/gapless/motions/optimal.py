"""Optimal excitation: the motion that tells most about chosen parameters in a given time.

A motion is a chain of pieces. What the pieces tell adds up, and so does what the joints of a piece
tell as long as they hardly push on each other; so the best wave for every joint and place in the
chain is found by exchange (Fedorov): one at a time, for the one in a pool that raises the
determinant of the Fisher information most. The pool is then refilled with descendants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.errors import DataError, ModelError
from gapless.motions.information import ENCODER_NOISE, own_sensitivities
from gapless.motions.limits import check_motion
from gapless.motions.motion import Motion
from gapless.motions.pieces import (
    BURSTS,
    GENES,
    clear_range,
    descendants,
    fit,
    pick,
    random_genes,
    waves,
)
from gapless.parameters import Parameter, parameters_of
from gapless.parameters.kinds import JOINT_FIELDS
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

PIECE = 2.5
"""Seconds of a piece, about."""

OFF = 0.2
"""How far a figure of a data sheet is usually off, as a share of it."""


def unknowns(robot: Robot, about: Sequence[str]) -> list[Parameter]:
    """The parameters to learn, as uncertain as the figures of a data sheet."""
    found = []
    for parameter in parameters_of(robot, about):
        if parameter.kind in JOINT_FIELDS:
            size = OFF * (parameter.prior or parameter.prior_std)
            parameter = replace(parameter, prior_std=size, step=0.02 * size)
        found.append(parameter)
    return found


def optimal(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    about: Sequence[str] = ("kp", "frictionloss", "armature"),
    noise: float = ENCODER_NOISE,
    seed: int = 0,
    top: float = 5.0,
    candidates: int = 48,
    rounds: int = 6,
    world: MujocoWorld | None = None,
    watch: Watch | None = None,
) -> Motion:
    """The D-optimal motion of `seconds`; it passes `check_motion`.

    Args:
        robot: what is excited; not free, so that no motion can tip it.
        seconds: budget of time.
        rate: control rate, Hz; the robot's own by default.
        about: parameters to learn; see `parameters_of`.
        noise: encoder noise, rad.
        seed: of the search.
        top: highest frequency, Hz.
        candidates: pieces tried in a round; time grows with it.
        rounds: how often the pool is refilled.
        world: what the motion is designed in; MuJoCo with the nominal robot by default.
        watch: told the rounds that are done.
    """
    world = (world or MujocoWorld(robot)).at_rate(rate or robot.rate)
    _check_request(world, seconds, top, candidates, rounds)
    search = _ExcitationSearch(world, unknowns(world.robot, about), noise, seconds, top, seed)
    reporter = ProgressReporter(watch, "searching", rounds)
    for done in range(rounds):
        search.widen(candidates)
        reporter.tell(done + 1)
    source = f"optimal about {', '.join(about)}, seed {seed}"
    return _within_limits(search.motion(source), world.robot)


def _check_request(
    world: MujocoWorld, seconds: float, top: float, candidates: int, rounds: int
) -> None:
    if world.robot.mount == "free":
        raise ModelError(
            f"{world.robot.name} stands free, and an exciting motion would tip it; hang it: "
            f"Robot.load({world.robot.name!r}, mount='fixed')"
        )
    if not 1 <= seconds < np.inf or not 1 <= top <= world.rate / 4:
        raise DataError(
            f"{seconds} s up to {top} Hz at {world.rate:g} Hz; expected one second or more, and "
            f"frequencies from 1 to {world.rate / 4:g} Hz"
        )
    if candidates < 1 or rounds < 1:
        raise DataError(f"{candidates} candidates in {rounds} rounds; expected at least 1 of each")


class _ExcitationSearch:
    """A chain of pieces that gets better from round to round; the first stands still."""

    def __init__(
        self,
        world: MujocoWorld,
        parameters: list[Parameter],
        noise: float,
        seconds: float,
        top: float,
        seed: int,
    ) -> None:
        self.world, self.parameters = world, parameters
        self.weight = np.array([p.prior_std for p in parameters]) / noise
        self.rng = np.random.default_rng(seed)
        self.reach = clear_range(world.robot, self.rng)
        self.samples = round(seconds * world.rate)
        pieces = max(1, round(seconds / PIECE))
        self.time, self.top = np.arange(self.samples // pieces) / world.rate, top
        joints = len(world.robot.joints)
        # No size, no motion: the first chain stands still.
        self.chain = np.zeros((pieces, GENES, BURSTS, joints))
        self.factor = np.ones((pieces, joints))

    def widen(self, candidates: int) -> None:
        """Try pieces next to those of the chain, and choose the chain again."""
        joints = self.chain.shape[-1]
        fresh = random_genes(joints, 3 * candidates, self.rng)
        if self.chain.any():
            fresh = descendants(self.chain, candidates, self.rng)
        pool = np.concatenate([self.chain, fresh])
        shapes = waves(pool, self.time, self.top)
        factor, good = fit(self.world, shapes, self.reach)
        told = self._information(shapes * factor[:, None]) * good[..., None, None]
        first = np.repeat(np.arange(len(self.chain))[:, None], joints, axis=1)
        chosen = exchange(told, first)
        self.chain, self.factor = pick(pool, chosen), factor[chosen, np.arange(joints)]

    def motion(self, source: str) -> Motion:
        """The chosen pieces one after another, then at rest until the time is over."""
        pieces = waves(self.chain, self.time, self.top) * self.factor[:, None]
        # Joints push on each other, so in new company some may do more and some must do less.
        offsets = 1.5 * np.concatenate(list(pieces))
        offsets = np.pad(offsets, ((0, self.samples - len(offsets)), (0, 0)))
        factor, _ = fit(self.world, offsets[None], self.reach)
        joints = self.world.robot.joints
        targets = joints.default + factor[0] * offsets
        return Motion("optimal", joints.names, self.world.rate, targets, source=source)

    def _information(self, offsets: np.ndarray) -> np.ndarray:
        """(n, J, P, P) what the readings of each joint tell, in units of the scales."""
        targets = self.world.robot.joints.default + offsets
        rows = own_sensitivities(self.world, targets, self.parameters) * self.weight
        rows = np.moveaxis(rows, 2, 1)
        return np.swapaxes(rows, -1, -2) @ rows


def exchange(told: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Swap waves one at a time while the determinant of all they tell grows.

    Args:
        told: (n, J, P, P) information of each joint's wave in a pool, in units of the scales.
        chosen: (pieces, J) rows of the pool to start from.
    """
    chosen = chosen.copy()
    # Every parameter is known to its scale beforehand, so no determinant is zero.
    total = np.eye(told.shape[-1]) + told[chosen, np.arange(told.shape[1])].sum(axis=(0, 1))
    best, before = np.linalg.slogdet(total)[1], -np.inf
    while best > before + 1e-3:
        before = best
        for piece, joint in np.ndindex(*chosen.shape):
            rest = total - told[chosen[piece, joint], joint]
            values = np.linalg.slogdet(rest + told[:, joint])[1]
            row = int(values.argmax())
            if values[row] > best:
                chosen[piece, joint], best = row, values[row]
                total = rest + told[row, joint]
    return chosen


def _within_limits(motion: Motion, robot: Robot) -> Motion:
    """The motion, smaller about the default pose if the full check still finds something."""
    home, report = robot.joints.default, check_motion(motion, robot)
    for _ in range(20):
        if report.ok:
            return motion
        motion = replace(motion, q=home + 0.9 * (motion.q - home))
        report = check_motion(motion, robot)
    raise DataError(f"no exciting motion was found within the limits of {robot.name}: {report}")
