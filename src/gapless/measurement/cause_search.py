"""The search for causes: each is tried on the same windows, few explain the error, again and again.

What a cause that grows by its probe does to the simulator is the direction in which it can explain
the error. Directions are measured anew where the simulator has changed and they still promise
something, and kept otherwise: replays are all that this costs.
"""

from __future__ import annotations

import numpy as np

from gapless.measurement.causes import Scale, causes_of
from gapless.measurement.explain import explain
from gapless.measurement.floor_causes import floor_causes
from gapless.measurement.trials import Trials

ROUNDS = 4
"""How many causes a joint may take up."""
FARTHEST = 5.0
"""How many probes a round may move; what moves further does so in the next round."""
WORTHWHILE = 0.02
"""A further cause must explain this share of a joint's error to be named."""
REFITS, SETTLED = 3, 0.005
"""Refits a round at most; the last is the one that gains less than this share of the error."""
NEGLIGIBLE = 0.005
"""No cause is tried again for joints with less than this share of the whole error."""


class CauseSearch:
    """Causes found so far, and what they do to the simulator.

    Attributes:
        causes: C candidates.
        amount: (J, C) how large each is.
        credit: (J, C) what each explains of the first error.
        error: (N, J) what is left, all windows one after the other; NaN is not compared.
    """

    def __init__(self, trials: Trials) -> None:
        self.trials = trials
        self.causes = (*causes_of(trials.world), *floor_causes(trials))
        self.first_error = self.error = _flat(trials.errors(trials.nominal))
        world = trials.world
        scale = Scale(
            error=_rms(self.error),
            speed=_rms(_flat(trials.windows.real.dq)),
            rate=world.rate,
            mass=float(world.model.body_mass.sum()),
        )
        self.probe = np.stack([c.first(world.robot, scale) for c in self.causes], axis=1)
        self.next_probe = self.probe.copy()
        self.moved = np.zeros((*self.error.shape, len(self.causes)))
        self.amount, self.credit = np.zeros_like(self.probe), np.zeros_like(self.probe)

    def run(self) -> None:
        """Take up causes until none is worthwhile.

        Each joint may take up one cause more a round; all are then refitted before the next is
        looked for, so that no cause is called in to mend the nonlinearity of another.
        """
        worthwhile = WORTHWHILE * energy(self.first_error)
        for _ in range(ROUNDS):
            known = (self.amount != 0).sum()
            for c in np.flatnonzero(self._promising(worthwhile)):
                self._try(int(c))
            self._take(worthwhile)
            if (self.amount != 0).sum() == known:
                break
            self._refit()

    def _refit(self) -> None:
        """Fit the causes that were taken up to what is left, while that gains something."""
        least = SETTLED * energy(self.first_error).sum()
        for refit in range(REFITS):
            before = energy(self.error).sum()
            for c in self._aimed() if refit else ():
                self._try(c)
            self._take(None)
            if before - energy(self.error).sum() < least:
                break

    def _aimed(self) -> list[int]:
        """Causes that were taken up and are aimed anew from where they have led."""
        return [c for c, cause in enumerate(self.causes) if cause.aim and self.amount[0, c]]

    def _promising(self, worthwhile: np.ndarray) -> np.ndarray:
        """(C,) True for what may explain something by what is known of it, or was never tried."""
        power = energy(self.moved)
        along = -np.nan_to_num(self.error[..., None] * self.moved).sum(axis=0)
        size = np.clip(along / np.maximum(power, 1e-30), *self._bounds())
        gain = size * (2 * along - size * power)
        matters = energy(self.first_error) > NEGLIGIBLE * energy(self.first_error).sum()
        promises = (gain > worthwhile[:, None]) & matters[:, None]
        free = np.array([cause.aim is not None for cause in self.causes])
        return promises.any(axis=0) | ~power.any(axis=0) | free

    def _try(self, cause: int) -> None:
        """Measure how the simulator moves when one cause grows by its probe."""
        aim = self.causes[cause].aim
        if aim is not None:
            at = float(self.amount[0, cause])
            self.moved[..., cause] = aim(self.error, at, lambda size: self._with(cause, size))
            return
        self.probe[:, cause] = self.next_probe[:, cause]
        grown = self.amount[:, cause] + self.probe[:, cause]
        self.moved[..., cause] = self._with(cause, grown) - self.error

    def _with(self, cause: int, size: np.ndarray | float) -> np.ndarray:
        """(N, J) errors with one cause at another size."""
        amount = self.amount.copy()
        amount[:, cause] = size
        return self._errors(amount)

    def _take(self, worthwhile: np.ndarray | None) -> None:
        """Explain the present error, and change the simulator by what explains it."""
        factors = explain(self.error, self.moved, self._bounds(), self.amount != 0, worthwhile)
        factors = self._agreed(factors)
        explained = np.nan_to_num(self.moved) * factors
        self.credit += np.einsum("njc,nj->jc", explained, np.nan_to_num(-self.first_error))
        self.amount = np.clip(self.amount + factors * self.probe, *self.ends())
        self.error = self._errors(self.amount)
        step = np.abs(factors) * self.probe
        smaller = np.minimum(step, self.probe)
        self.next_probe = np.where(step > 0.05 * self.probe, smaller, self.next_probe)

    def _errors(self, amount: np.ndarray) -> np.ndarray:
        """(N, J) errors with every cause at its (J, C) amount."""
        altered = self.trials.nominal
        for cause, size in zip(self.causes, amount.T, strict=True):
            altered = cause.apply(altered, size) if size.any() else altered
        return _flat(self.trials.errors(altered))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(J, C) smallest and largest amount of every cause."""
        robot = self.trials.world.robot
        low = np.stack([c.lowest(robot) for c in self.causes], axis=1)
        return low, np.stack([c.highest(robot) for c in self.causes], axis=1)

    def _bounds(self) -> np.ndarray:
        """(2, J, C) smallest and largest factor by which a probe may be taken."""
        return np.clip((np.stack(self.ends()) - self.amount) / self.probe, -FARTHEST, FARTHEST)

    def _agreed(self, factors: np.ndarray) -> np.ndarray:
        """One factor for all joints where a cause has one amplitude: the mean by effect."""
        agreed, power = factors.copy(), energy(self.moved)
        for c, cause in enumerate(self.causes):
            named = power[:, c] * (factors[:, c] != 0)
            if cause.shared and named.sum() > 0:
                agreed[:, c] = named @ factors[:, c] / named.sum()
        return agreed


def energy(error: np.ndarray) -> np.ndarray:
    """Sum of squares of the usable samples."""
    return np.nan_to_num(error**2).sum(axis=0)


def _flat(values: np.ndarray) -> np.ndarray:
    """(n, T, J) of windows as (N, J)."""
    return values.reshape(-1, values.shape[-1])


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(energy(values) / np.maximum(1, np.isfinite(values).sum(0)))
