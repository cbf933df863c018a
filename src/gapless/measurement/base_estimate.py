"""BaseEstimate: where the base of a standing robot was, and how far that can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ASKEW = 0.03
"""Soles that stand and disagree by more show an error that is worth a word, rad."""

OUTSIDE, FALLS = 0.002, 1.0
"""A robot whose centre of mass is outside of its feet by this, m, for so many seconds, falls."""
LIFTED, LIES = 0.1, 1.0
"""s that a foot was up before it comes down in a step; rad of the base from upright that no step
explains: there are feet that move on a robot that lies."""


@dataclass(frozen=True)
class BaseEstimate:
    """The base at every sample, estimated from the feet.

    Attributes:
        base_pos: (T, 3) m; x and y begin at zero. NaN where the robot does not stand on its feet.
        base_quat_wxyz: (T, 4).
        base_lin_vel_w: (T, 3) m/s.
        base_ang_vel_b: (T, 3) rad/s.
        feet: links of the feet.
        standing: (T, F) True while a foot stands.
        floats: (T,) height of the highest foot that stands above the floor, m: the lowest touches.
        tilt: (T,) how far the soles that stand are from each other, rad; 0 for point feet.
        outside: (T,) how far the centre of mass is outside of the feet that stand, m.
        orientation: what said which way is up: "imu", "accelerometer", "gyro and feet" or "feet".
        carried: (T,) share of its weight that its motors hold, where the feet alone say the rest.
    """

    base_pos: np.ndarray
    base_quat_wxyz: np.ndarray
    base_lin_vel_w: np.ndarray
    base_ang_vel_b: np.ndarray
    feet: tuple[str, ...]
    standing: np.ndarray
    floats: np.ndarray
    tilt: np.ndarray
    outside: np.ndarray
    orientation: str
    carried: np.ndarray | None = None

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The four base fields of a State."""
        names = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")
        return {name: getattr(self, name) for name in names}

    @property
    def quality(self) -> BaseQuality:
        """How far it can be believed."""
        together, lost = self.standing.all(axis=1), np.isnan(self.base_pos[:, 2])
        seen = together & ~lost
        return BaseQuality(
            feet=len(self.feet),
            samples=len(lost),
            together=float(seen.mean()),
            floats=float(np.median(self.floats[seen])) if seen.any() else np.nan,
            tilt=float(np.median(self.tilt[seen])) if seen.any() else np.nan,
            lost=float(lost.mean()),
        )

    def unbalanced(self, rate: float) -> tuple[float, float] | None:
        """From when to when nothing holds it up, s: the first such stretch, None without one.

        A robot that steps is caught by the foot that comes down: its time begins anew. One that
        balances on a foot may be beside it, too: where a tilt was logged, that is asked instead.
        """
        beside = (self.outside > OUTSIDE) & ~self._steps(rate)
        return first_long(beside | (self._lean > LIES), rate)

    @property
    def _lean(self) -> np.ndarray:
        """(T,) of the base from upright, rad; 0 where nobody knows."""
        _, x, y, _ = np.nan_to_num(self.base_quat_wxyz).T
        return np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))

    def _steps(self, rate: float) -> np.ndarray:
        """(T,) True where a foot comes down that was up, while another one carried the robot."""
        long = max(round(LIFTED * rate), 1)
        found = np.zeros(len(self.standing), bool)
        for t in range(long, len(found)):
            was_up = ~self.standing[t - long : t].any(axis=0)
            carried = self.standing[t - long : t].any(axis=1).all()
            found[t] = carried and bool((was_up & self.standing[t]).any())
        return found


@dataclass(frozen=True)
class BaseQuality:
    """How good the estimate of one recording is.

    Attributes:
        feet: number of feet.
        samples: of the recording.
        together: share of them in which all feet stand.
        floats: how far they are then from being equally high, median, m; NaN if they never stand.
        tilt: how far their soles are then from being parallel, median, rad.
        lost: share of samples in which the robot does not stand on its feet.
    """

    feet: int
    samples: int
    together: float
    floats: float
    tilt: float
    lost: float


def first_long(signs: np.ndarray, rate: float) -> tuple[float, float] | None:
    """The first stretch of (T,) signs that lasts longer than a fall takes, s; None without one."""
    padded = np.r_[False, signs, False]
    edges = np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2) / rate
    long = edges[edges[:, 1] - edges[:, 0] > FALLS]
    return (float(long[0, 0]), float(long[0, 1])) if len(long) else None


def describe(found: Sequence[BaseQuality]) -> str:
    """One line: how good the estimates of some recordings are."""
    size = np.array([quality.samples for quality in found], float)
    together, lost = (
        float(np.average([getattr(q, name) for q in found], weights=size))
        for name in ("together", "lost")
    )
    feet = found[0].feet
    which = {1: "the foot stands", 2: "both feet stand"}.get(feet, f"all {feet} feet stand")
    said = f"base estimated from the feet of {len(found)} recordings: {which} "
    said += f"{100 * together:.0f} % of the time"
    if feet > 1 and together:
        floats, tilt = (np.nanmedian([getattr(q, k) for q in found]) for k in ("floats", "tilt"))
        said += f"; they disagree by {1e3 * floats:.1f} mm"
        said += f" and {np.degrees(tilt):.2f} deg" if tilt else ""
        said += " (encoder zeros are off, or the floor is not level)" if tilt > ASKEW else ""
    return said + (f"; {100 * lost:.0f} % of it the robot is not on its feet" if lost else "")
