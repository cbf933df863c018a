"""Starts that are re-estimated: what of an error is gone when replays start a little elsewhere.

The base of a robot on its feet is an estimate or an IMU's word, and velocities come from noisy
encoders. How a lean, a height and smoother joints at the start spread over a window is found by one
replay each; every window is then given the start that explains its error best, within what a
reading may err by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.measurement.trials import Alteration, Trials
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, normalise, rotate
from gapless.worlds.imu_mounting import small_turn
from gapless.worlds.world import State

WAYS = ("base roll", "base pitch", "base height", "joint velocities")
"""How a start may err; the last is a share of what a cubic through the readings changes."""
USUAL = np.array([np.deg2rad(1.0), np.deg2rad(1.0), 0.003, 1.0])
"""Expected errors of a start, rad, m and share."""
LEAST = np.array([-np.deg2rad(5.0), -np.deg2rad(5.0), -0.01, 0.0])
MOST = np.array([np.deg2rad(5.0), np.deg2rad(5.0), 0.01, 1.0])
"""No reading of a robot on its feet errs by more."""
STEP = np.array([np.deg2rad(0.5), np.deg2rad(0.5), 0.001, 1.0])
"""How far starts are moved for finite differences."""

WORTHWHILE, NOTABLE = 0.02, 0.005
"""A step is tried if it promises a joint the first share of its first error; joints with less than
the second of the whole error are not asked."""

Replayed = Callable[[float], np.ndarray]
"""(N, J) errors after so many steps."""


class StartEstimate:
    """Offsets of every window's start, found step by step.

    Attributes:
        offsets: (n, K) of `WAYS`, when so many steps as `at` are taken.
        step: (n, K) where they go from there.
        at: how many steps were taken; a part of one counts as that part.
    """

    def __init__(self, trials: Trials) -> None:
        self.trials, self.at = trials, 0.0
        self.offsets = np.zeros((len(trials.windows), len(WAYS)))
        self.step = np.zeros_like(self.offsets)
        self._places = StartPlaces.of(trials)
        self._slopes: np.ndarray | None = None
        self._worthwhile = np.zeros(0)

    def aim(self, error: np.ndarray, steps: float, replayed: Replayed) -> np.ndarray:
        """(N, J) what the next step promises to do to every joint, by what the others say.

        A start moves all joints at once, so each is foretold by the rest of its window. What one
        joint alone would like, as friction in it does, is no start. Windows that a replay shows to
        be worse after the step do not take it.

        Args:
            error: (N, J) what is left, all windows one after the other.
            steps: taken so far.
            replayed: what would be left after so many steps.
        """
        self.offsets, self.at = self.after(steps), steps
        left = error.reshape(self.trials.windows.weight.shape)
        slopes = self._measure(left) if self._slopes is None else self._slopes
        promised = self._foretold(left, slopes)
        gain = -((2 * np.nan_to_num(left) + promised) * promised).sum(axis=(0, 1))
        helps = np.zeros(len(left), bool)
        if (gain > self._worthwhile).any():
            helps = _helps(left, replayed(steps + 1).reshape(left.shape))
        self.step *= helps[:, None]
        return (promised * helps[:, None, None]).reshape(error.shape)

    def _foretold(self, left: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """(n, T, J) promises of the step that suits (n, T, J) errors; the step is kept."""
        known = np.isfinite(left)[..., None] & np.isfinite(slopes)
        slopes = np.where(known, slopes, 0.0)
        left = np.where(known.all(axis=-1), left, 0.0)
        bends = np.einsum("ntjk,ntjl->njkl", slopes, slopes)
        says = np.einsum("ntjk,ntj->njk", slopes, left)
        noise = float((left**2).sum() / max(1, known.all(axis=-1).sum()))
        self.step = self._solved(bends.sum(axis=1), says.sum(axis=1), noise)
        bends, says = (whole.sum(axis=1, keepdims=True) - whole for whole in (bends, says))
        return np.einsum("ntjk,njk->ntj", slopes, self._solved(bends, says, noise))

    def after(self, steps: float) -> np.ndarray:
        """(n, K) offsets after so many steps."""
        return np.clip(self.offsets + (steps - self.at) * self.step, LEAST, MOST)

    def apply(self, now: Alteration, steps: np.ndarray) -> Alteration:
        """Start every window where so many steps lead."""
        return self._at(now, self.after(float(steps[0])))

    def velocity_change(self) -> np.ndarray:
        """(n,) RMS over joints of what a cubic changes of the velocities read, rad/s."""
        places = self._places
        return np.sqrt(((places.smooth.dq - places.read.dq) ** 2).mean(axis=1))

    def _at(self, now: Alteration, offsets: np.ndarray) -> Alteration:
        return replace(now, start=self._places.moved(now.start, offsets))

    def _solved(self, bends: np.ndarray, says: np.ndarray, noise: float) -> np.ndarray:
        """(..., K) least squares beside the expected errors, within their bounds."""
        here = self.offsets if says.ndim == 2 else self.offsets[:, None]
        prior = max(noise, 1e-30) / USUAL**2
        wanted = -says - prior * here
        step = np.linalg.solve(bends + np.diag(prior), wanted[..., None])[..., 0]
        return np.clip(here + step, LEAST, MOST) - here

    def _measure(self, still: np.ndarray) -> np.ndarray:
        """What a unit of each offset does to the nominal errors, (n, T, J, K)."""
        nominal, trials = self.trials.nominal, self.trials
        moved = [
            trials.errors(self._at(nominal, np.tile(one, (len(still), 1)))) for one in np.diag(STEP)
        ]
        self._worthwhile = _worthwhile(still)
        self._slopes = (np.stack(moved, axis=-1) - still[..., None]) / STEP
        return self._slopes


@dataclass(frozen=True)
class StartPlaces:
    """Where starts may be moved to.

    Attributes:
        robot: mounted free.
        read: (n, ...) states that were read.
        smooth: the same on a cubic through the readings around them.
        estimated: (n,) True where the base stands on its feet by estimate.
        body: what stands there; None where no base is estimated.
    """

    robot: Robot
    read: State
    smooth: State
    estimated: np.ndarray
    body: StandingBody | None

    @classmethod
    def of(cls, trials: Trials) -> StartPlaces:
        """Of the windows' starts."""
        robot, windows = trials.world.robot, trials.windows
        guessed = windows.base_weight == 0
        body = StandingBody.of(robot) if guessed.any() else None
        return cls(robot, windows.start, trials.smoothed(), guessed, body)

    def moved(self, start: State, offsets: np.ndarray) -> State:
        """Starts with (n, K) offsets of `WAYS`."""
        share = offsets[:, 3:]
        between = {
            name: array + share * (self.smooth.fields[name] - self.read.fields[name])
            for name, array in start.fields.items()
        }
        level = normalise(between["base_quat_wxyz"])
        turn = np.concatenate([offsets[:, :2], np.zeros((len(offsets), 1))], axis=1)
        quat = mul(level, small_turn(turn))
        normal = rotate(self.robot.floor.quat_wxyz, UPWARD)
        rises = offsets[:, 2] + self._settling(between["q"], level, quat, normal)
        between["base_pos"] = between["base_pos"] + rises[:, None] * normal
        between["base_quat_wxyz"] = quat
        return replace(start, **between)

    def _settling(
        self, q: np.ndarray, before: np.ndarray, after: np.ndarray, normal: np.ndarray
    ) -> np.ndarray:
        """(n,) how far a base that was set on its feet rises when it leans: they still touch, m."""
        if self.body is None:
            return np.zeros(len(q))
        body, poses = self.body, self.body.poses(q)
        was, now = (body.lowest(poses, rotate(conj(quat), normal)) for quat in (before, after))
        return np.where(self.estimated, was - now, 0.0)


def _power(error: np.ndarray) -> np.ndarray:
    """(n, J) sum of squares of the usable samples of every window."""
    return np.nan_to_num(error**2).sum(axis=1)


def _worthwhile(error: np.ndarray) -> np.ndarray:
    """(J,) what a step must gain at a joint; nothing is enough for one that errs little."""
    power = _power(error).sum(axis=0)
    return np.where(power > NOTABLE * power.sum(), WORTHWHILE * power, np.inf)


def _helps(left: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(n,) True for windows whose error falls; one that loses samples diverged."""
    whole = np.isfinite(after).sum(axis=(1, 2)) >= np.isfinite(left).sum(axis=(1, 2))
    return whole & (_power(after).sum(axis=1) < _power(left).sum(axis=1))
