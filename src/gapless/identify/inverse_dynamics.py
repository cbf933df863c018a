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

import mujoco
import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from gapless.errors import DataError, ModelError
from gapless.measure.replay import FULL, windows
from gapless.measure.starts import Aligned, gains_of, in_robot_order
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.robots.inertia import Inertia
from gapless.worlds.packing import Layout

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
LINK_FRAME = mujoco.mjtObj.mjOBJ_XBODY
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Entries of a tensor, in the order of `Inertia.moments`."""


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
        spread: how far, as a share of the robot's own figures, they are expected to be off. What
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
    for first, last in windows(known, recording.rate, FULL):
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
    torque, per_figure = _regressor(part, list(own))
    directions = np.stack([_directions(inertia) for inertia in own.values()])
    rows = np.einsum("tljp,lpd->tjld", per_figure, directions, optimize=True)
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


def _regressor(part: _Part, links: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Torque (T, J) by the robot's own figures, and (T, L, J, 10) torque per figure of each link.

    The ten figures are mass, mass times centre, and the moments about the link's origin.
    """
    model = part.robot.model()
    data, layout = mujoco.MjData(model), Layout.of(model, part.robot)
    bodies, shape = [model.body(link).id for link in links], (len(part.q), len(links))
    torque, turn = np.empty((len(part.q), model.nv)), np.empty((*shape, 1, 3, 3))
    velocity, acceleration = np.empty((*shape, 6)), np.empty((*shape, 6))
    jacobian = np.empty((*shape, 2, 3, model.nv))
    for t in range(len(part.q)):
        data.qpos[layout.q - 1] = part.q[t]
        data.qvel[layout.dof], data.qacc[layout.dof] = part.dq[t], part.ddq[t]
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
            stage(model, data)
        mujoco.mj_rne(model, data, 1, torque[t])
        mujoco.mj_rnePostConstraint(model, data)
        for i, body in enumerate(bodies):
            mujoco.mj_objectVelocity(model, data, LINK_FRAME, body, velocity[t, i], 1)
            mujoco.mj_objectAcceleration(model, data, LINK_FRAME, body, acceleration[t, i], 1)
            mujoco.mj_jacBody(model, data, jacobian[t, i, 1], jacobian[t, i, 0], body)
            turn[t, i, 0] = data.xmat[body].reshape(3, 3).T
    local = (turn @ jacobian).reshape(*shape, 6, model.nv)[..., layout.dof]
    return torque[:, layout.dof], local.swapaxes(-1, -2) @ _wrench(velocity, acceleration)


def _wrench(velocity: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """(..., 6, 10) moment and force on a link per figure, at its origin and in its axes.

    The force is m·a + dω×h + ω×(ω×h), the moment I·dω + ω×(I·ω) + h×a, with h = mass times centre.
    The acceleration is less gravity, as MuJoCo gives it.
    """
    turning, a = _cross(velocity[..., :3]), acceleration[..., 3:]
    rows = np.zeros((*a.shape[:-1], 6, 10))
    rows[..., :3, 1:4] = -_cross(a)
    rows[..., :3, 4:] = _times(acceleration[..., :3]) + turning @ _times(velocity[..., :3])
    rows[..., 3:, 0] = a
    rows[..., 3:, 1:4] = _cross(acceleration[..., :3]) + turning @ turning
    return rows


def _cross(vector: np.ndarray) -> np.ndarray:
    """(..., 3, 3) matrices that multiply by the vector from the left."""
    return np.cross(vector[..., None, :], np.eye(3)).swapaxes(-1, -2)


def _times(vector: np.ndarray) -> np.ndarray:
    """(..., 3, 6) matrices that multiply six moments, as a tensor, by the vector."""
    rows = np.zeros((*vector.shape, 6))
    for column, (i, j) in enumerate(PAIRS):
        rows[..., i, column], rows[..., j, column] = vector[..., j], vector[..., i]
    return rows


def _directions(inertia: Inertia) -> np.ndarray:
    """(10, 10) figures per unit step: mass at the centre, shift of the centre, central moments.

    A unit step is as large as the link's own figure, so that one spread serves all of them; and a
    step in mass or centre takes the moments about the origin along, as on a real link.
    """
    centre = np.array(inertia.com)
    gyration = np.trace(inertia.tensor) / (2 * inertia.mass)
    reach = np.sqrt(gyration + centre @ centre)
    columns = np.zeros((10, 10))
    columns[:, 0] = [1.0, *centre, *_steiner(centre, centre)]
    for k, axis in enumerate(np.eye(3)):
        columns[:, 1 + k] = [0.0, *axis, *(2 * _steiner(centre, axis))]
    columns[4:, 4:] = np.eye(6)
    return inertia.mass * columns * np.repeat([1.0, reach, gyration], [1, 3, 6])


def _steiner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(6,) moments about the origin of a unit mass: of (a·b)·1 - (a bᵀ + b aᵀ)/2."""
    tensor = a @ b * np.eye(3) - (np.outer(a, b) + np.outer(b, a)) / 2
    return np.array([tensor[pair] for pair in PAIRS])


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
    moments = np.array(own.moments) + own.mass * _steiner(np.array(own.com), np.array(own.com))
    figures = np.array([own.mass, *(own.mass * np.array(own.com)), *moments])
    mass, *rest = figures + _directions(own) @ step
    if not mass > 0:
        return own
    com = np.array(rest[:3]) / mass
    central = np.array(rest[3:]) - mass * _steiner(com, com)
    try:
        return Inertia(mass, tuple(com), tuple(central))
    except ModelError:
        return Inertia(mass, tuple(com), own.moments)


def values_from_torque(
    recordings: Sequence[Recording], robot: Robot, parameters: Sequence[Parameter]
) -> np.ndarray:
    """(P,) where a fit of masses and centres may begin; other parameters begin at their priors."""
    links = [p.places[0] for p in parameters if p.kind in ("mass", *_CENTRES) and not p.factor]
    found = inertias_from_torque(recordings, robot, list(dict.fromkeys(links))) if links else {}
    values = []
    for p in parameters:
        own = found.get(p.places[0]) if p.places and not p.factor else None
        known = (
            {} if own is None else {"mass": own.mass, **dict(zip(_CENTRES, own.com, strict=True))}
        )
        values.append(min(max(known.get(p.kind, p.prior), p.lower), p.upper))
    return np.array(values)


_CENTRES = ("com_x", "com_y", "com_z")
