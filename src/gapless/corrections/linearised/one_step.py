"""What a correction should have given at each recorded state, in closed form.

`torque_targets`: the equation of motion at the recorded positions, velocities and accelerations
says which torque was there beside the PD law. `gauss_newton_targets`: the constant output that
brings the world, a short time later, closest to where the robot was. `state_targets`: what one step
got wrong.

Encoders are noisy, and their noise must not teach. `smoothed` lays polynomials through the
positions (Savitzky-Golay, order 4, passing 10 Hz): zero-phase, so that nothing is moved in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from gapless.corrections.linearised.slopes import ENVIRONMENTS, Trajectories, slopes
from gapless.corrections.linearised.tangent import difference, joint_columns
from gapless.identification.torques.inverse_dynamics import NEAR_LIMIT, ORDER, SLOW
from gapless.identification.torques.regressor import regressor
from gapless.measurement.alignment import gains_of
from gapless.measurement.windows import Windows
from gapless.recordings.recording import Recording
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.world import State, World

BAND = 10.0
"""Hz up to which positions pass; at most a quarter of the rate."""

VELOCITY = 0.003
"""Weight of a velocity error against a position error, s²."""

EDGE = ORDER // 2
"""Samples at either end of a window whose accelerations are not used."""


@dataclass(frozen=True)
class OutputTargets:
    """Of n windows of T steps.

    Attributes:
        output: (n, T, K) what a correction should give at each step.
        weight: (n, T, K) 0 where nobody can say.
    """

    output: np.ndarray
    weight: np.ndarray


def smoothed(recordings: Sequence[Recording], band: float = BAND) -> list[Recording]:
    """Recordings without the noise of their encoders; what a gap would leak into is masked."""
    return [_smooth(r, _half(r.rate, band)) for r in recordings]


def _half(rate: float, band: float) -> int:
    """Half the window whose polynomial passes a band (Schafer 2011)."""
    return max(EDGE, round(((ORDER + 1) * rate / (2 * min(band, rate / 4)) + 4.6) / 3.2))


def _smooth(recording: Recording, half: int) -> Recording:
    width = 2 * half + 1
    if len(recording) <= width:
        return recording
    clear = minimum_filter1d(recording.mask.astype(np.uint8), width, axis=0) > 0
    q = np.asarray(savgol_filter(recording.q, width, ORDER, axis=0))
    return replace(recording, q=np.where(clear, q, recording.q), mask=clear)


def why_not_dynamics(world: World) -> str:
    """Why the equation of motion alone cannot give torques in a world; empty where it can."""
    if world.robot.meets_floor:
        return f"{world.robot.name!r} meets a floor, whose forces are not recorded"
    if not isinstance(world, EngineWorld):
        return f"a {type(world).__name__} does not tell its actuators' law"
    if world.effects.needs_torque:
        return "its actuators have friction, play or limits that depend on more than the PD law"
    return ""


def torque_targets(
    world: EngineWorld, windows: Windows, columns: np.ndarray, band: float = BAND
) -> OutputTargets:
    """Torque that the world lacks: inverse dynamics of the recording less the PD law's torque.

    Args:
        world: gives model, gains, rotor inertia, friction, delay and encoder bias.
        windows: of smoothed recordings.
        columns: joints.
        band: Hz that the recordings were smoothed to; the commands are smoothed alike.
    """
    joints, rate = world.robot.joints, windows.rate
    q = windows.states.q
    dq, ddq = (
        np.asarray(savgol_filter(q, 2 * EDGE + 1, ORDER, d, 1 / rate, axis=1)) for d in (1, 2)
    )
    friction = joints.damping * dq + joints.frictionloss * np.sign(dq)
    needed = _inverse_dynamics(world, windows, q, dq, ddq) + joints.armature * ddq + friction
    lacking = needed - _law(world, windows, q, dq, band)
    known = (q > joints.lower + NEAR_LIMIT) & (q < joints.upper - NEAR_LIMIT)
    known &= (joints.frictionloss == 0) | (np.abs(dq) >= SLOW)
    known[:, :EDGE] = known[:, -EDGE:] = False
    # An output acts from one sample to the next.
    middle = (lacking[:, 1:] + lacking[:, :-1]) / 2
    weight = windows.weight * known[:, 1:] * known[:, :-1]
    return OutputTargets(middle[..., columns], weight[..., columns])


def _inverse_dynamics(
    world: EngineWorld, windows: Windows, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray
) -> np.ndarray:
    """(n, T+1, J) torque that moves the links, under the load of each window."""
    told = windows.conditions
    loads = [world.robot.payloads if c.payloads is None else c.payloads for c in told]
    torque = np.empty_like(q)
    for load in {str(sorted(x.items())): x for x in loads}.values():
        rows = [i for i, other in enumerate(loads) if other == load]
        pose, speed, pace = (_rows(x[rows]) for x in (q - world.effects.encoder_bias, dq, ddq))
        found, _ = regressor(world.robot.with_payloads(load), pose, speed, pace, [])
        torque[rows] = found.reshape(torque[rows].shape)
    return torque


def _law(
    world: EngineWorld, windows: Windows, q: np.ndarray, dq: np.ndarray, band: float
) -> np.ndarray:
    """(n, T+1, J) torque of the PD law in the mean from half a step before a sample to half after.

    A target is held for a step and acts a delay late: that mean lies between two targets.
    """
    rate, targets = windows.rate, windows.targets
    width = 2 * _half(rate, band) + 1
    if targets.shape[1] > width:
        targets = np.asarray(savgol_filter(targets, width, ORDER, axis=1))
    # Semi-implicit physics moves a joint as if a torque came half a physics step before its time.
    late = 0.5 + (world.effects.delay - world.timestep / 2) * rate
    at = windows.before + np.arange(q.shape[1])[:, None] - late
    first = np.clip(np.floor(at).astype(int), 0, targets.shape[1] - 2)
    part, each = np.clip(at - first, 0.0, 1.0), np.arange(q.shape[-1])
    held = (1 - part) * targets[:, first, each] + part * targets[:, first + 1, each]
    gains = [gains_of(c, world.robot) for c in windows.conditions]
    kp, kd = (np.array([g[i] for g in gains])[:, None] for i in range(2))
    effort = np.where(world.robot.joints.effort > 0, world.robot.joints.effort, np.inf)
    return np.clip(kp * (held - q) - kd * dq, -effort, effort)


def state_targets(world: World, windows: Windows, columns: np.ndarray) -> OutputTargets:
    """What one control step from a recorded state gets wrong: recorded less simulated."""
    found = difference(windows.real, _after(world, windows, 1))
    seen = _seen(windows, found.shape[-1])
    known = np.isfinite(found) & (seen > 0)
    return OutputTargets(
        np.where(known, found, 0.0)[..., columns], known[..., columns].astype(float)
    )


def gauss_newton_targets(
    world: World,
    windows: Windows,
    head: str,
    columns: np.ndarray,
    seconds: float = 0.1,
    ridge: float = 1e-3,
    stride: int = 5,
) -> OutputTargets:
    """Constant outputs that bring the world closest to the recording a short time later.

    Args:
        world: that is corrected; not stepped.
        windows: of smoothed recordings.
        head: action or torque.
        columns: joints.
        seconds: how much later.
        ridge: weight of the outputs, as a share of the mean weight that the errors give them.
        stride: slopes are computed at every so many steps.
    """
    steps = int(np.clip(round(seconds * world.rate), 1, windows.steps))
    path = Trajectories(windows.states, windows.targets, None, windows.before, windows.conditions)
    found = slopes(world, path, head, columns, stride)
    effect = _effect(found.state, found.output, steps)
    late = steps - 1
    error = difference(windows.real[:, late:], _after(world, windows, steps))
    weight = _seen(windows, error.shape[-1])[:, late:] * np.isfinite(error)
    half = error.shape[-1] // 2
    scaled = effect * (weight * np.repeat([1.0, VELOCITY], half))[..., None]
    square = np.swapaxes(effect, -1, -2) @ scaled
    size = ridge * square.mean(axis=(0, 1)).diagonal()
    pull = np.einsum("ntik,nti->ntk", scaled, np.where(np.isfinite(error), error, 0.0))
    output = np.linalg.solve(square + np.diag(size + 1e-12), pull[..., None])[..., 0]
    # Early outputs move a joint further than late ones, and a delay brings in still earlier ones.
    return _placed(output, windows, columns, steps // 3 - (found.output.shape[2] - 1))


def _effect(state: np.ndarray, output: np.ndarray, steps: int) -> np.ndarray:
    """(n, T-m+1, 2V, K) what an output that was always given changes from now to m steps later."""
    starts = state.shape[1] - steps + 1
    effect = np.zeros(())
    for k in range(steps):
        now = slice(k, k + starts)
        given = output[:, now].sum(axis=2)
        effect = given if not k else state[:, now] @ effect + given
    return effect


def _placed(output: np.ndarray, windows: Windows, columns: np.ndarray, later: int) -> OutputTargets:
    """Outputs that were found at each start, at the steps some time later that they stand for."""
    seen = windows.weight[..., columns]
    found, weight = np.zeros_like(seen), np.zeros_like(seen)
    first, last = max(0, -later), min(output.shape[1], seen.shape[1] - later)
    at = slice(first + later, last + later)
    found[:, at] = output[:, first:last]
    weight[:, at] = seen[:, at]
    return OutputTargets(found, weight)


def _seen(windows: Windows, size: int) -> np.ndarray:
    """(n, T, 2V) 1 where a column of the state was recorded."""
    seen = np.ones((*windows.weight.shape[:2], size))
    for part in joint_columns(windows.real):
        seen[..., part] = windows.weight
    return seen


def _after(world: World, windows: Windows, steps: int) -> State:
    """(n, T-m+1, ...) simulated states m steps after each recorded one."""
    starts = windows.steps - steps + 1
    states = windows.states[:, :starts]
    reach = max(1, world.history_steps)
    index = windows.before + np.arange(starts)[:, None] + np.arange(-reach, steps)
    held = windows.targets[:, np.maximum(index, 0)].reshape(-1, reach + steps, states.q.shape[-1])
    flat = states.start().map(_rows)
    told = [c for c in windows.conditions for _ in range(starts)]
    ends = []
    for first in range(0, len(held), ENVIRONMENTS):
        some = slice(first, first + ENVIRONMENTS)
        played = world.rollout(
            flat[some], held[some, reach:], history=held[some, :reach], conditions=told[some]
        )
        ends.append(played[:, -1])
    lost = ~np.concatenate([e.valid for e in ends])[:, None]
    joined = State.concatenate(ends).start()
    return joined.map(lambda v: np.where(lost, np.nan, v).reshape(-1, starts, v.shape[-1]))


def _rows(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, values.shape[-1])
