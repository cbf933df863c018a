"""How well any model could replay a run: from better starts, by the robot's own repetition.

Beside `kbot_residuals.py`, which prints it. All are replay errors over 0.25 s, mean |Δq|, rad.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from gapless.measurement.alignment import in_robot_order
from gapless.measurement.metrics import LOST
from gapless.measurement.spans import spans_of
from gapless.measurement.standing_starts import starts_in
from gapless.measurement.windows import Windows, cut
from gapless.recordings import Recording
from gapless.robots import Robot
from gapless.robots.rotations import mul
from gapless.worlds.imu_mounting import small_turn
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State

HORIZON, WINDOWS = 0.25, 64
LIMITS = np.array([0.05, 0.05, 0.005, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0])
"""Expected errors of a start: lean (rad), height (m), velocity (m/s), turning rate (rad/s)."""
STARTS = {"lean and height": slice(0, 3), "base velocity": slice(3, 9), "both": slice(0, 9)}
PROBE, NEIGHBOURS, APART = 0.1, 5, 0.3
"""Share of the limits that starts are moved by for slopes; moments looked at, and s between."""


class Run:
    """The predicted run: its windows, and what worlds make of them."""

    def __init__(self, clip: Recording, robot: Robot) -> None:
        self.clip, self.aligned = clip, in_robot_order(clip, robot)
        self.spans = spans_of(self.aligned.valid, clip.rate, HORIZON, WINDOWS)
        self.late = self.spans[:, 0] >= len(clip) // 2

    def windows(self, world: MujocoWorld) -> Windows:
        """All of them."""
        jobs = [(0, int(a), int(b)) for a, b in self.spans]
        return cut(jobs, [self.aligned], world.history_steps, self.clip.rate)

    def errors(self, world: MujocoWorld, start: State | None = None) -> np.ndarray:
        """(W, T, J) simulated minus recorded angles; NaN where they may not be compared."""
        w = self.windows(world)
        begun = starts_in(world, w) if start is None else start
        played = world.rollout(begun, w.held, history=w.history, conditions=w.conditions)
        found = np.where(played.valid[:, 1:, None], played.q[:, 1:] - w.real.q, LOST)
        return np.where(w.weight > 0, found, np.nan)

    def half(self, first: bool) -> Recording:
        """The recording before or after its middle."""
        middle = len(self.clip) // 2
        return self.clip.clip(0, middle) if first else self.clip.clip(middle, len(self.clip))


def size(errors: np.ndarray) -> float:
    """The replay error of (W, T, J) errors, rad."""
    return float(np.nanmean(np.nanmean(np.abs(errors), axis=(0, 1))))


def start_oracles(run: Run, world: MujocoWorld) -> list[tuple[str, float]]:
    """Error of the second half from starts that suit each window's own readings.

    "Other joints": each joint is judged from the start that the joints of other kinds ask for.
    """
    start, still = run.windows(world).start, run.errors(world)
    steps = np.diag(PROBE * LIMITS)
    tries = [run.errors(world, _moved(start, np.tile(s, (len(still), 1)))) for s in steps]
    slopes = np.nan_to_num((np.stack(tries, axis=-1) - still[..., None]) / PROBE)
    rows = []
    for name, part in STARTS.items():
        own = _best(run, world, start, still, slopes, part, np.arange(still.shape[2]))
        rows.append((f"start: {name}, in sample", size(own[run.late])))
        foreseen, kinds = np.full_like(still, np.nan), np.arange(still.shape[2]) % 5
        for kind in range(5):
            found = _best(run, world, start, still, slopes, part, np.flatnonzero(kinds != kind))
            foreseen[..., kinds == kind] = found[..., kinds == kind]
        rows.append((f"start: {name}, other joints", size(foreseen[run.late])))
    return rows


def _best(
    run: Run,
    world: MujocoWorld,
    start: State,
    still: np.ndarray,
    slopes: np.ndarray,
    part: slice,
    joints: np.ndarray,
) -> np.ndarray:
    """(W, T, J) errors after one regularised step of each start, taken as far as joints gain."""
    noise = float(np.nanmean(still**2))
    s, e = slopes[:, :, joints, part], np.nan_to_num(still[..., joints])
    bends = np.einsum("wtjk,wtjl->wkl", s, s) + noise * np.eye(s.shape[-1])
    step = np.zeros((len(still), len(LIMITS)))
    step[:, part] = -np.linalg.solve(bends, np.einsum("wtjk,wtj->wk", s, e)[..., None])[..., 0]
    tries = [still, *(run.errors(world, _moved(start, f * step * LIMITS)) for f in (0.5, 1.0))]
    cost = [np.nanmean(np.abs(t[..., joints]), axis=(1, 2)) for t in tries]
    return np.stack(tries)[np.argmin(cost, axis=0), np.arange(len(still))]


def _moved(start: State, by: np.ndarray) -> State:
    """Starts that lean, rise and move by (n, 9) more."""
    assert start.base_pos is not None and start.base_quat_wxyz is not None
    assert start.base_lin_vel_w is not None and start.base_ang_vel_b is not None
    none = np.zeros((len(by), 1))
    return replace(
        start,
        base_quat_wxyz=mul(start.base_quat_wxyz, small_turn(np.hstack([by[:, :2], none]))),
        base_pos=start.base_pos + np.hstack([none, none, by[:, 2:3]]),
        base_lin_vel_w=start.base_lin_vel_w + by[:, 3:6],
        base_ang_vel_b=start.base_ang_vel_b + by[:, 6:],
    )


def _features(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """(N, F) what a model is given at each possible start, (N, T, J) how the joints move on."""
    a, steps, before = run.aligned, round(HORIZON * run.clip.rate), 5
    begins = [t for t in range(before, len(a.valid) - steps) if a.valid[t : t + steps + 1].all()]
    q, dq, target = a.state.q, a.state.dq, a.target
    rows = [np.r_[q[t], dq[t], target[t - before : t + steps].ravel()] for t in begins]
    return np.array(rows), np.array([q[t + 1 : t + 1 + steps] - q[t] for t in begins])


def repeats(run: Run) -> list[tuple[str, float]]:
    """How well the robot repeats itself: moments of one run with like states and commands."""
    seen, moved = _features(run)
    seen = (seen - seen.mean(axis=0)) / (seen.std(axis=0) + 1e-6)
    apart = cdist(seen, seen)
    near = np.abs(np.subtract.outer(*[np.arange(len(seen))] * 2)) < APART * run.clip.rate
    order = np.argsort(np.where(near, np.inf, apart), axis=1)
    likest = moved[order[:, :NEIGHBOURS]]
    return [
        ("most like moment of the run", size(moved - likest[:, 0])),
        (f"mean of its {NEIGHBOURS} most like", size(moved - likest.mean(axis=1))),
    ]


def regressions(run: Run, other: Run, ridge: float = 30.0) -> list[tuple[str, float]]:
    """Linear maps from state and commands to what follows: of the other run, of its own half."""
    seen, moved = _features(run)
    middle = len(seen) // 2
    gap = round(HORIZON * run.clip.rate)
    teachers = {
        "linear map of the other run": _features(other),
        "linear map of its first half": (seen[: middle - gap], moved[: middle - gap]),
    }
    rows = []
    for name, (x, y) in teachers.items():
        mean, std = x.mean(axis=0), x.std(axis=0) + 1e-6
        flat, z = y.reshape(len(y), -1), (x - mean) / std
        weights = np.linalg.solve(z.T @ z + ridge * np.eye(z.shape[1]), z.T @ (flat - flat.mean(0)))
        told = ((seen[middle:] - mean) / std) @ weights + flat.mean(axis=0)
        rows.append((name, size(moved[middle:] - told.reshape(moved[middle:].shape))))
    return rows
