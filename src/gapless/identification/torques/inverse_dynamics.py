"""A first estimate of link inertias: torque is linear in them, so one least-squares fit gives it.

It needs no simulation, only joint torques that can be formed: logged ones, or those of the PD law.
What the law leaves out (delay, wrong gains) goes into the result: a fit of replays starts here.

Encoder noise in the accelerations is what spoils such fits. So the equation is formed at a wide
band, where smoothing bends nothing, and then both its sides are smoothed much more, alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from gapless.errors import DataError, ModelError
from gapless.identification.torques.regressor import directions, regressor, steiner
from gapless.measurement.alignment import Aligned, gains_of, in_robot_order
from gapless.measurement.spans import FULL, spans_of
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.robots.inertia import Inertia

WIDE = 10.0
"""Hz up to which positions pass; at most a quarter of the rate."""
CUTOFF = 3.0
"""Hz up to which torques are compared; at most the band of the positions."""
ORDER = 4
"""Of the polynomials that smooth."""
SLOW = 0.05
"""A joint with dry friction that moves slower than this, rad/s, may be stuck: not used."""
NEAR_LIMIT = 0.01
"""Closer to its limit than this, rad, a joint may be held by it: not used."""
PASSES = 6
"""Fits; each weighs the joints by what the one before left in them."""
QUIET = 1e-3
"""Least noise a joint is taken to have, N·m."""
PIECE = 2000
"""Most samples whose equations are held at once."""


def inertias_from_torque(
    recordings: Recordings,
    robot: Robot,
    links: Sequence[str],
    *,
    spread: float = 0.3,
    cutoff: float | None = None,
) -> dict[str, Inertia]:
    """Fit mass, centre of mass and moments of some links to joint torques.

    Args:
        recordings: of this robot, with commands or a torque channel. Loads that their conditions
            state are taken as known; the result is of the links without them.
        robot: gives everything that is not fitted; its root or a link is clamped.
        links: whose inertias are fitted.
        spread: how far, as a share of the robot's own parameters, they are expected to be off. What
            the data does not tell stays at those figures.
        cutoff: Hz up to which torques are compared; 3 by default.

    Returns:
        One inertia a link. Where the fitted moments belong to no body, the robot's own are kept;
        where the fitted mass is none, all its own figures are.
    """
    _check(robot, links, spread)
    own = {link: robot.inertia(link) for link in links}
    sums = [
        _sums(part, own)
        for i in range(len(recordings))
        for part in _parts(recordings[i], robot, cutoff)
    ]
    if not any(part.count.any() for part in sums):
        raise DataError(
            "no recording has an unbroken stretch, long enough to differentiate, in which a joint "
            "moves inside its limits; give longer recordings or a higher cutoff"
        )
    total = _Sums(*(np.sum(parts, axis=0) for parts in zip(*sums, strict=True)))
    moved = _fit(total, spread)
    return {
        link: _moved(inertia, step)
        for (link, inertia), step in zip(own.items(), moved.reshape(-1, 10), strict=True)
    }


def _check(robot: Robot, links: Sequence[str], spread: float) -> None:
    if robot.mount == "free":
        raise DataError(
            f"{robot.name!r} stands free: torques alone do not give inertias, the acceleration of "
            "the base is needed too. Use recordings with the root or a foot clamped, and "
            "robot.with_mount('fixed') or robot.with_mount('left_foot')"
        )
    if not links or len(set(links)) != len(links):
        raise DataError(f"links are {list(links)}; name at least one, and each once")
    for link in links:
        robot.check_link(link)
    if not 0 < spread < np.inf:
        raise DataError(f"spread is {spread}; give a share above 0, such as 0.3")


@dataclass(frozen=True)
class _Part:
    """An unbroken stretch: (T, J) arrays in the robot's order, motion smoothed to the wide band.

    Attributes:
        torque: what moves the links: the motors' less friction and rotor inertia, N·m.
        free: True where no limit and no mask makes that torque unknown.
        moving: False where dry friction may hold the joint.
        half: samples on either side in the window of the narrow band.
        robot: with the load of the recording.
    """

    q: np.ndarray
    dq: np.ndarray
    ddq: np.ndarray
    torque: np.ndarray
    free: np.ndarray
    moving: np.ndarray
    half: int
    robot: Robot


def _parts(recording: Recording, robot: Robot, cutoff: float | None) -> Iterator[_Part]:
    """The stretches of a recording that can be differentiated, in pieces that overlap."""
    if recording.target is None and "torque" not in recording.channels:
        raise DataError(
            f"recording {recording.name!r} has neither commands nor a torque channel, "
            "so no torque can be formed"
        )
    aligned, (wide, narrow) = in_robot_order(recording, robot), _halves(recording.rate, cutoff)
    if recording.target is None:  # a torque is all there is; a still target adds no jumps to it
        aligned = replace(aligned, target=np.zeros_like(aligned.target))
    given = aligned.target if aligned.torque is None else aligned.target + aligned.torque
    known = aligned.valid & (np.isfinite(given) | ~aligned.mask).all(axis=1)
    margin = 2 * (wide + narrow)
    for first, last in spans_of(known, recording.rate, FULL):
        for start in range(first, last - margin + 1, PIECE):
            span = slice(start, min(start + PIECE + margin, last + 1))
            yield _part(aligned, robot, span, recording.rate, wide, narrow)


def _halves(rate: float, cutoff: float | None) -> tuple[int, int]:
    """Half the windows, in samples, whose polynomials pass the wide and the narrow band.

    Schafer, "What is a Savitzky-Golay filter?", 2011: band/(rate/2) = (ORDER+1)/(3.2 half-4.6).
    """
    wide = min(WIDE, rate / 4)
    cutoff = min(CUTOFF, wide) if cutoff is None else cutoff
    if not 0 < cutoff <= wide:
        raise DataError(f"cutoff is {cutoff} Hz; at {rate:g} Hz give one above 0, up to {wide:g}")
    halves = [round(((ORDER + 1) * rate / (2 * band) + 4.6) / 3.2) for band in (wide, cutoff)]
    return halves[0], halves[1]


def _smooth(values: np.ndarray, half: int, derivative: int = 0, rate: float = 1.0) -> np.ndarray:
    return np.asarray(savgol_filter(values, 2 * half + 1, ORDER, derivative, 1 / rate, axis=0))


def _part(
    aligned: Aligned, robot: Robot, span: slice, rate: float, wide: int, narrow: int
) -> _Part:
    joints, loads = robot.joints, aligned.conditions.payloads
    q = _smooth(aligned.state.q[span], wide)
    dq, ddq = (_smooth(q, ORDER // 2, derivative, rate) for derivative in (1, 2))
    friction = joints.damping * dq + joints.frictionloss * np.sign(dq)
    motor = np.nan_to_num(_motor_torque(aligned, robot, span, dq))
    inside = (q > joints.lower + NEAR_LIMIT) & (q < joints.upper - NEAR_LIMIT)
    moving = (joints.frictionloss == 0) | (np.abs(dq) >= SLOW)
    arrays = (q, dq, ddq, motor - friction - joints.armature * ddq)
    return _Part(
        *(array[wide:-wide] for array in (*arrays, inside & aligned.mask[span], moving)),
        half=narrow,
        robot=robot if loads is None else robot.with_payloads(loads),
    )


def _motor_torque(aligned: Aligned, robot: Robot, span: slice, dq: np.ndarray) -> np.ndarray:
    """(T, J) mean of what the motors apply just before and just after each sample.

    A target is held for a whole step, so the torque jumps at every sample, while the smoothed
    acceleration passes through the middle of the jump. A logged torque is that before the jump.
    """
    kp, kd = gains_of(aligned.conditions, robot)
    effort = np.where(robot.joints.effort > 0, robot.joints.effort, np.inf)
    q, target = aligned.state.q[span], aligned.target[span]
    earlier = np.concatenate([target[:1], target[:-1]])
    before, after = (np.clip(kp * (t - q) - kd * dq, -effort, effort) for t in (earlier, target))
    return (before if aligned.torque is None else aligned.torque[span]) + (after - before) / 2


class _Sums(NamedTuple):
    """Each joint's least squares: gram (J, P, P), product (J, P), energy (J,) and count (J,)."""

    gram: np.ndarray
    product: np.ndarray
    energy: np.ndarray
    count: np.ndarray


def _sums(part: _Part, own: Mapping[str, Inertia]) -> _Sums:
    """The equations of a stretch, smoothed and thinned until neighbours are nearly independent."""
    torque, per_figure = regressor(part.robot, part.q, part.dq, part.ddq, list(own))
    steps = np.stack([directions(inertia) for inertia in own.values()])
    rows = np.einsum("tljp,lpd->tjld", per_figure, steps, optimize=True)
    kept = slice(part.half, -part.half, max(part.half // 4, 1))
    free = minimum_filter1d(part.free.astype(np.uint8), 2 * part.half + 1, axis=0)[kept] > 0
    used = free & part.moving[kept]
    left = np.where(used, _smooth(part.torque - torque, part.half)[kept], 0.0)
    rows = _smooth(rows.reshape(*part.q.shape, -1), part.half)[kept]
    rows[~used] = 0.0
    return _Sums(
        np.einsum("tjp,tjq->jpq", rows, rows, optimize=True),
        np.einsum("tjp,tj->jp", rows, left),
        (left**2).sum(axis=0),
        used.sum(axis=0),
    )


def _fit(sums: _Sums, spread: float) -> np.ndarray:
    """The likeliest steps; every joint weighs by the inverse of its own residual variance."""
    weight = np.full(len(sums.count), sums.count.sum() / max(sums.energy.sum(), QUIET))
    steps = np.zeros(sums.product.shape[1])
    for _ in range(PASSES):
        gram = np.einsum("j,jpq->pq", weight, sums.gram) + np.eye(len(steps)) / spread**2
        steps = np.linalg.solve(gram, weight @ sums.product)
        left = sums.energy - 2 * sums.product @ steps + (sums.gram @ steps) @ steps
        weight = 1 / (np.maximum(left, 0) / np.maximum(sums.count, 1) + QUIET**2)
    return steps


def _moved(own: Inertia, step: np.ndarray) -> Inertia:
    """A link after a step, if that is a body; else with its own moments, or as it was."""
    moments = np.array(own.moments) + own.mass * steiner(np.array(own.com), np.array(own.com))
    figures = np.array([own.mass, *(own.mass * np.array(own.com)), *moments])
    mass, *rest = figures + directions(own) @ step
    if not mass > 0:
        return own
    com = np.array(rest[:3]) / mass
    central = np.array(rest[3:]) - mass * steiner(com, com)
    try:
        return Inertia(mass, tuple(com), tuple(central))
    except ModelError:
        return Inertia(mass, tuple(com), own.moments)
