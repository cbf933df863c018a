"""Which feet of a robot stand on the floor at each sample, and which way is up.

Every set of feet is a hypothesis. The feet that stand are level, equally high and do not move
against each other, the others are not below them, and the centre of mass is above them: how far a
sample is from that is what a hypothesis costs, and the cheapest sequence of hypotheses is found
with a price on every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from gapless.measurement.feet import Foot
from gapless.robots.flat_sides import tangents
from gapless.robots.rotations import conj, rotate

LEVEL, HEIGHT = 0.02, 0.004
"""How far a standing foot may seem from level, rad, and from the others' height, m (one sigma)."""
LIFTED = 4.0
"""What it costs to call a foot lifted: it stands unless it is farther off than this says."""
PARTING = 0.05
"""How fast two feet that stand may seem to move against each other, m/s (one sigma)."""
BALANCE, UNBALANCED = 0.05, 4.0
"""How far the mass may seem outside the support, m (one sigma); the most that can cost."""
CHANGE = 0.1
"""Seconds that a foot which just stood must look lifted before it is."""
BLEND = 0.03
"""Time constant with which weight moves from foot to foot, s."""
STEADY, ROLLS, PRIOR = 1.0, 0.07, 0.1
"""A foot that stands alone may roll over its heel or its toes. It is believed as far as its sole is
within ROLLS (rad, one sigma) of the mean over STEADY (s), which is itself believed within PRIOR."""
SUPPORT_DIRECTIONS = 16


@dataclass(frozen=True)
class SeenFeet:
    """The feet at every sample, seen from the base.

    Attributes:
        feet: F feet.
        pos: (T, F, 3) of their links.
        quat: (T, F, 4) of their links, wxyz.
        mass_centre: (T, 3) of the whole robot.
    """

    feet: tuple[Foot, ...]
    pos: np.ndarray
    quat: np.ndarray
    mass_centre: np.ndarray

    @cached_property
    def flat(self) -> np.ndarray:
        """(F,) True for feet with a sole."""
        return np.array([foot.up is not None for foot in self.feet])

    @cached_property
    def up(self) -> np.ndarray:
        """(T, F, 3) what is up if a foot is flat on the floor; zero for point feet."""
        ups = [np.zeros(3) if foot.up is None else foot.up for foot in self.feet]
        return np.stack([rotate(self.quat[:, f], up) for f, up in enumerate(ups)], axis=1)

    def lowest(self, up: np.ndarray) -> np.ndarray:
        """(T, F) height of the lowest point of each foot along (T, 3) directions."""
        found = []
        for f, foot in enumerate(self.feet):
            reach = foot.reach(-rotate(conj(self.quat[:, f]), up))
            found.append((self.pos[:, f] * up).sum(axis=1) - reach)
        return np.stack(found, axis=1)

    def touching(self, f: int, up: np.ndarray) -> np.ndarray:
        """(T, P, 3) points of a foot, in its link's frame, by which it touches the floor."""
        foot = self.feet[f]
        if foot.up is not None:
            return np.broadcast_to(foot.sole, (len(up), *foot.sole.shape))
        return foot.farthest(-rotate(conj(self.quat[:, f]), up))[:, None]

    def seen(self, f: int, points: np.ndarray) -> np.ndarray:
        """(T, P, 3) points of a foot's link seen from the base."""
        return self.pos[:, f, None] + rotate(self.quat[:, f, None], points)

    def centres(self, up: np.ndarray) -> np.ndarray:
        """(T, F, 3) centres of the soles, or the points that touch."""
        feet = range(len(self.feet))
        return np.stack([self.seen(f, self.touching(f, up)).mean(axis=1) for f in feet], axis=1)


@dataclass(frozen=True)
class Stance:
    """Which feet stand.

    Attributes:
        standing: (T, F) True while a foot stands.
        weight: (T, F) the same with soft changes: how much a foot says about the base.
    """

    standing: np.ndarray
    weight: np.ndarray

    @property
    def still(self) -> np.ndarray:
        """(T, F) weights of feet as what does not move: those that swing have next to none."""
        return self.weight * np.where(self.standing, 1.0, 1e-6) + 1e-9


def find_stance(seen: SeenFeet, rate: float, up: np.ndarray | None = None) -> Stance:
    """The cheapest sequence of standing feet.

    Args:
        seen: the feet.
        rate: samples a second.
        up: (T, 3) what is up, where an IMU says so; else each hypothesis says it itself.
    """
    sets, usual, apart = hypotheses(seen), usual_up(seen, rate), parting(seen, rate)
    price = np.stack([_price(seen, chosen, up, usual) for chosen in sets], axis=1)
    for i, chosen in enumerate(sets):
        moving = sum(apart[pair] ** 2 for pair in combinations(chosen, 2))
        price[:, i] += moving / PARTING**2
    member = np.array([[f in chosen for f in range(len(seen.feet))] for chosen in sets])
    change = (member[:, None] != member[None]).sum(axis=2) * LIFTED * CHANGE * rate
    standing = member[_cheapest_path(price, change)]
    soft = gaussian_filter1d(standing.astype(float), BLEND * rate, axis=0, mode="nearest")
    return Stance(standing, soft)


def usual_up(seen: SeenFeet, rate: float) -> np.ndarray:
    """(T, 3) the mean direction of all soles over a while; the base's own upright without soles."""
    upright = np.array([0.0, 0.0, 1.0])
    if not seen.flat.any():
        return np.broadcast_to(upright, (len(seen.pos), 3))
    mean = seen.up[:, seen.flat].mean(axis=1)
    return _unit(gaussian_filter1d(mean, STEADY * rate, axis=0, mode="nearest"))


def up_of(seen: SeenFeet, weight: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(T, 3) what is up if feet stand with these weights: soles level, all equally high.

    Args:
        seen: the feet.
        weight: (T, F) how much each foot stands.
        usual: (T, 3) what decides where the feet leave it open.
    """
    counted = weight * seen.flat / LEVEL**2 * _believed(seen, weight, usual)
    says = np.einsum("tf,tfk->tk", counted, seen.up) + usual / PRIOR**2
    up = usual
    for _ in range(1 if seen.flat.all() else 3):  # where a round foot touches depends on it
        centres = seen.centres(up)
        bends = (counted.sum(axis=1) + 1 / PRIOR**2)[:, None, None] * np.eye(3)
        for f, g in combinations(range(len(seen.feet)), 2):
            apart, share = centres[:, f] - centres[:, g], weight[:, f] * weight[:, g]
            bends = bends + np.einsum("t,ti,tj->tij", share / (2 * HEIGHT**2), apart, apart)
        up = _unit(np.linalg.solve(bends, says[..., None])[..., 0])
    return up


def _believed(seen: SeenFeet, weight: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(T, F) how far a foot is taken to be flat: the more, the more others stand with it."""
    confirmed = np.clip(weight.sum(axis=1, keepdims=True) - 1, 0.0, 1.0)
    return confirmed + (1 - confirmed) * levelness(seen, usual)


def levelness(seen: SeenFeet, up: np.ndarray) -> np.ndarray:
    """(T, F) how far a sole is level, from 0 to 1: one that is not rolls; point feet cannot."""
    away = ((seen.up - up[:, None]) ** 2).sum(axis=2)
    return np.where(seen.flat, np.exp(-0.5 * away / ROLLS**2), 1.0)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def hypotheses(seen: SeenFeet) -> list[tuple[int, ...]]:
    """The sets of feet that may stand: point feet never alone."""
    count = len(seen.feet)
    least = 1 if seen.flat.all() or count < 2 else 2
    return [s for k in range(count, least - 1, -1) for s in combinations(range(count), k)]


def _price(
    seen: SeenFeet, chosen: Sequence[int], up: np.ndarray | None, usual: np.ndarray
) -> np.ndarray:
    """(T,) what it costs to believe that these feet stand and the others do not."""
    stands = np.isin(range(len(seen.feet)), chosen)
    if up is None:
        up = up_of(seen, np.tile(stands.astype(float), (len(seen.pos), 1)), usual)
    lowest = seen.lowest(up)
    floor = lowest[:, stands].mean(axis=1, keepdims=True)
    uneven = ((lowest - floor)[:, stands] ** 2).sum(axis=1) / HEIGHT**2
    below = np.minimum(lowest - floor, 0.0)[:, ~stands]
    price = uneven + (below**2).sum(axis=1) / HEIGHT**2
    if len(chosen) > 1:
        tilted = ((seen.up - up[:, None]) ** 2).sum(axis=2)[:, stands & seen.flat].sum(axis=1)
        price = price + tilted / LEVEL**2
    outside = _outside(seen, chosen, up)
    return price + LIFTED * (~stands).sum() + np.minimum((outside / BALANCE) ** 2, UNBALANCED)


def parting(seen: SeenFeet, rate: float) -> dict[tuple[int, int], np.ndarray]:
    """(T,) speeds at which each pair of feet moves against each other, m/s."""
    if len(seen.pos) < 2:
        return {pair: np.zeros(len(seen.pos)) for pair in combinations(range(len(seen.feet)), 2)}
    centres = seen.centres(np.broadcast_to([0.0, 0.0, 1.0], (len(seen.pos), 3)))
    found = {}
    for f, g in combinations(range(len(seen.feet)), 2):
        apart = centres[:, g] - centres[:, f]
        # A sole shows the other foot's direction too, a point only its distance.
        away = rotate(conj(seen.quat[:, f]), apart)
        away = away if seen.flat[f] else np.linalg.norm(apart, axis=1, keepdims=True)
        smooth = gaussian_filter1d(away, BLEND * rate, axis=0, mode="nearest", order=1) * rate
        found[f, g] = np.linalg.norm(smooth, axis=1)
    return found


def _outside(seen: SeenFeet, chosen: Sequence[int], up: np.ndarray) -> np.ndarray:
    """(T,) how far the centre of mass projects outside of what these feet support, m."""
    turn = np.linspace(0, 2 * np.pi, SUPPORT_DIRECTIONS, endpoint=False)
    first, second = tangents(up)
    ways = np.cos(turn)[:, None, None] * first + np.sin(turn)[:, None, None] * second
    points = np.concatenate([seen.seen(f, seen.touching(f, up)) for f in chosen], axis=1)
    reach = np.einsum("dtk,tpk->dtp", ways, points).max(axis=2)
    return np.maximum(np.einsum("dtk,tk->dt", ways, seen.mass_centre) - reach, 0.0).max(axis=0)


def outside_of(seen: SeenFeet, standing: np.ndarray, up: np.ndarray) -> np.ndarray:
    """(T,) how far the centre of mass projects outside of the feet that stand, (T, F), m."""
    outside = np.zeros(len(up))
    for chosen in np.unique(standing, axis=0):
        if chosen.any():
            at = (standing == chosen).all(axis=1)
            outside[at] = _outside(seen, np.flatnonzero(chosen).tolist(), up)[at]
    return outside


def _cheapest_path(price: np.ndarray, change: np.ndarray) -> np.ndarray:
    """(T,) the states with the least sum of (T, H) prices and (H, H) prices of changes."""
    total, came = price[0], np.zeros(price.shape, int)
    for t in range(1, len(price)):
        paths = total[:, None] + change
        came[t] = paths.argmin(axis=0)
        total = paths.min(axis=0) + price[t]
    path = np.empty(len(price), int)
    path[-1] = total.argmin()
    for t in range(len(price) - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path
