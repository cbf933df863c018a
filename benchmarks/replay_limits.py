"""How well any model could replay a run: from better starts, by the robot's own repetition.

Beside `kbot_residuals.py`, which prints it. All are replay errors over 0.25 s, mean |Δq|, rad.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
PROBE, NEIGHBOURS, APART, RIDGE = 0.1, 5, 0.3, 30.0
"""Share of the limits that starts are moved by for slopes; moments looked at, s between; ridge."""


class Run:
    """The predicted run: its windows, and what worlds make of them."""

    def __init__(self, clip: Recording, robot: Robot) -> None:
        self.clip, self.aligned = clip, in_robot_order(clip, robot)
        self.spans = spans_of(self.aligned.valid, clip.rate, HORIZON, WINDOWS)
        self.late = self.spans[:, 0] >= len(clip) // 2
        self.steps = round(HORIZON * clip.rate)

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


@dataclass(frozen=True)
class Moments:
    """Every possible start of a run.

    Attributes:
        seen: (N, F) state and commands there, each in its std.
        moved: (N, T, J) how the joints move on.
        at: (N,) sample.
        late: (N,) True in the second half.
    """

    seen: np.ndarray
    moved: np.ndarray
    at: np.ndarray
    late: np.ndarray

    @classmethod
    def of(cls, run: Run, later: bool = True) -> Moments:
        """With the commands of the window, or only those before it."""
        a, steps, before = run.aligned, run.steps, round(0.1 * run.clip.rate)
        last = len(a.valid) - steps
        at = np.array([t for t in range(before, last) if a.valid[t : t + steps + 1].all()])
        commands = a.target[at[:, None] + np.arange(-before, steps if later else 0)]
        seen = np.hstack([a.state.q[at], a.state.dq[at], commands.reshape(len(at), -1)])
        moved = a.state.q[at[:, None] + np.arange(1, steps + 1)] - a.state.q[at][:, None]
        return cls(seen, moved, at, at >= len(run.clip) // 2)


def repeats(run: Run) -> list[tuple[str, float]]:
    """How well the robot repeats itself: other moments of the run with like state and commands."""
    here = Moments.of(run)
    seen = (here.seen - here.seen.mean(axis=0)) / (here.seen.std(axis=0) + 1e-6)
    near = np.abs(np.subtract.outer(here.at, here.at)) < APART * run.clip.rate
    order = np.argsort(np.where(near, np.inf, cdist(seen, seen)), axis=1)
    likest = here.moved[order[:, :NEIGHBOURS]]
    off = here.moved[:, None] - np.stack([likest[:, 0], likest.mean(axis=1)], axis=1)
    names = ("most like moment of the run", f"mean of its {NEIGHBOURS} most like")
    return [(name, size(off[here.late, k])) for k, name in enumerate(names)]


def regressions(run: Run, other: Run) -> list[tuple[str, float]]:
    """Linear maps from state and commands to what follows: of the other run, of its own half.

    A policy commands by what it sees, so that later commands tell what happened meanwhile.
    """
    rows = [("linear map of the other run", _mapped(run, Moments.of(run), Moments.of(other)))]
    for name, later in (("linear map of its first half", True), ("without later commands", False)):
        here = Moments.of(run, later)
        early = here.at < len(run.clip) // 2 - run.steps
        own = Moments(here.seen[early], here.moved[early], here.at[early], here.late[early])
        rows.append((name, _mapped(run, here, own)))
    return rows


def _mapped(run: Run, judged: Moments, teacher: Moments) -> float:
    """Error on the second half of a run of what a ridge regression learned elsewhere."""
    mean, std = teacher.seen.mean(axis=0), teacher.seen.std(axis=0) + 1e-6
    z, y = (teacher.seen - mean) / std, teacher.moved.reshape(len(teacher.moved), -1)
    bends = z.T @ z + RIDGE * np.eye(z.shape[1])
    weights = np.linalg.solve(bends, z.T @ (y - y.mean(axis=0)))
    told = ((judged.seen[judged.late] - mean) / std) @ weights + y.mean(axis=0)
    return size(judged.moved[judged.late] - told.reshape(-1, run.steps, judged.moved.shape[2]))
