"""PayloadAdaptation: what an arm carries and what its joints lack, found while it runs.

A Kalman filter on the load in the hand, kg, and an offset of each joint, N·m. It forgets (both may
drift), stays within bounds, goes back to an earlier belief that explains the present better, and
keeps a log of what it believed. What comes slowly is the joints' own: heat, wrong gains, a model
that is not quite the robot. What comes at once is a load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_json
from gapless.deployment.arm_model import ArmModel
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_limits import JointLimits

WARM = 1.0
"""s after which a surprise is one: before, nothing is known yet."""
SURE = 0.02
"""N·m to which the offsets are known when a load comes: it does not change the joints."""
SWINGS, QUICK = 2.5, 0.5
"""s for which a new load swings, and kg per root second at which its mass is followed then."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How fast it believes, and how far it may go.

    Attributes:
        mass: kg, most that is believed to be in the hand.
        offset: N·m, most that a joint is believed to lack.
        mass_drift: kg per root second: how fast a load may change by itself.
        offset_drift: N·m per root second.
        noise: N·m of what the arm model does not know, at rest.
        noise_moving: N·m·s/rad added for each joint that moves.
        noise_accelerating: N·m·s²/rad added for each joint that accelerates.
        surprise: standard deviations that a joint must be off, for `surprised` s: a load came.
        surprised: see there.
        slowest: s over which what is believed comes into force.
        share: of a joint's torque that may be added.
        shift: rad, most that a target is moved.
        rollback: how much better an earlier belief must explain the present, to go back to it.
        kept: s between two beliefs that one can go back to.
    """

    mass: float = 5.0
    offset: float = 5.0
    mass_drift: float = 0.02
    offset_drift: float = 0.05
    noise: float = 0.5
    noise_moving: float = 0.5
    noise_accelerating: float = 0.3
    surprise: float = 2.5
    surprised: float = 0.1
    slowest: float = 0.3
    share: float = 0.5
    shift: float = 0.5
    rollback: float = 1.3
    kept: float = 2.0


@dataclass(frozen=True)
class Belief:
    """What is believed at a moment."""

    moment: float
    mass: float
    mass_std: float
    offsets: tuple[float, ...]
    error: float
    rolled_back: bool


class PayloadAdaptation:
    """Learns from states and from the commands that were in force, and adds torques to the next.

    Args:
        arm: figures of the arm.
        joints: in the order of the link.
        torque: (J,) limits of the joints, N·m.
        rate: control steps per second.
        settings: how fast and how far.
        limits: of the joints; targets are not moved beyond their ranges.
    """

    def __init__(
        self,
        arm: ArmModel,
        joints: Sequence[str],
        torque: np.ndarray,
        rate: float,
        settings: AdaptationSettings | None = None,
        limits: JointLimits | None = None,
    ) -> None:
        self.arm, self.settings, self._dt = arm, settings or AdaptationSettings(), 1.0 / rate
        self._strength = arm.strength
        self._joints = tuple(joints)
        self._rows = np.array([self._joints.index(joint) for joint in arm.joints])
        self._most = self.settings.share * np.asarray(torque, float)[self._rows]
        count = len(arm.joints)
        self._range = -np.full(count, np.inf), np.full(count, np.inf)
        if limits is not None:
            own = limits.in_order(self._joints)
            self._range = own.lower[self._rows], own.upper[self._rows]
        self._x, self._p = np.zeros(1 + count), self._prior(count)
        self._calm = self._x.copy()
        self._earlier, self._errors = self._x.copy(), np.zeros(2)
        self._added, self._load, self._speed = np.zeros(count), np.zeros(count), np.zeros(count)
        self._steps = self._off = self.rollbacks = 0
        self._came = -(10**9)
        self.log: deque[Belief] = deque(maxlen=36_000)

    def _prior(self, count: int) -> np.ndarray:
        return np.diag([0.1**2, *np.full(count, 1.0)])

    @property
    def mass(self) -> float:
        """In the hand, kg."""
        return float(self._x[0])

    def learn(self, state: LinkState, command: JointCommand) -> None:
        """Compare what the motors were told to make with what the arm needs where it is."""
        rows, told = self._rows, self.settings
        angles = dict(zip(self._joints, state.q.tolist(), strict=True))
        held, self._load = self.arm.torques(angles, state.base_quat_wxyz)
        shown = self._strength * command.torque(state.q, state.dq)[rows] - held
        speed, gained = state.dq[rows], (state.dq[rows] - self._speed) / self._dt
        self._speed = speed
        rough = told.noise_moving * np.abs(speed) + told.noise_accelerating * np.abs(gained)
        noise = (told.noise + rough) ** 2
        h = np.column_stack([self._load, np.eye(len(rows))])
        # Just after a load came, it swings: only its mass is followed, and nothing is settled yet.
        swings = self._steps - self._came < SWINGS / self._dt
        mass, offset = (QUICK, 0.0) if swings else (told.mass_drift, told.offset_drift)
        drift = [mass**2, *np.full(len(rows), offset**2)]
        self._p = self._p + np.diag(drift) * self._dt
        self._expect_load(shown - h @ self._x, h @ self._p @ h.T + np.diag(noise))
        gain = self._p @ h.T @ np.linalg.inv(h @ self._p @ h.T + np.diag(noise))
        self._x = self._bounded(self._x + gain @ (shown - h @ self._x))
        self._p = (np.eye(len(self._x)) - gain @ h) @ self._p
        back = self._look_back(shown, h)
        self._note(state.stamp, back)

    def correct(self, command: JointCommand) -> JointCommand:
        """The same command with the torques that the arm lacks, gently and within the envelope."""
        tau, added = command.tau.copy(), self._grown()
        tau[self._rows] += np.where(command.kp[self._rows] > 0, added, 0.0)
        return replace(command, tau=tau)

    def shift(self, command: JointCommand) -> JointCommand:
        """The same command with targets moved so far that the motors make those torques.

        A target stays within the range of its joint, or where it was.
        """
        rows, added = self._rows, self._grown()
        kp, q = command.kp[rows], command.q[rows]
        most = self.settings.shift
        moved = q + np.clip(np.divide(added, kp, out=np.zeros(len(q)), where=kp > 0), -most, most)
        targets = command.q.copy()
        low, high = self._range
        targets[rows] = np.clip(moved, np.minimum(low, q), np.maximum(high, q))
        return replace(command, q=targets)

    def _grown(self) -> np.ndarray:
        """(A,) torques that are added now, N·m: what is believed comes into force slowly."""
        lacking = (self._load * self._x[0] + self._x[1:]) / self._strength
        wanted = np.clip(lacking, -self._most, self._most)
        self._added += min(self._dt / self.settings.slowest, 1.0) * (wanted - self._added)
        return self._added

    def _expect_load(self, surprise: np.ndarray, spread: np.ndarray) -> None:
        """Where the arm is off all at once, and stays off, the load is what changed."""
        off = np.max(np.abs(surprise) / np.sqrt(np.diag(spread))) > self.settings.surprise
        self._off = self._off + 1 if off and self._steps * self._dt > WARM else 0
        self._calm = self._calm if self._off else self._x.copy()
        if self._off * self._dt >= self.settings.surprised:
            self._off, self._x, self._came = 0, self._calm.copy(), self._steps
            self._p = np.diag([self.settings.mass**2, *np.full(len(self._rows), SURE**2)])

    def _bounded(self, x: np.ndarray) -> np.ndarray:
        told = self.settings
        offsets = np.clip(x[1:], -told.offset, told.offset)
        return np.concatenate([[np.clip(x[0], 0.0, told.mass)], offsets])

    def _look_back(self, shown: np.ndarray, h: np.ndarray) -> bool:
        """Go back to the earlier belief where it explains the last second clearly better."""
        self._steps += 1
        now = [np.abs(shown - h @ x).mean() for x in (self._x, self._earlier)]
        self._errors += self._dt * (np.array(now) - self._errors)
        worse = self._errors[0] > self.settings.rollback * self._errors[1] + 0.1
        if worse:
            self._x, self._p = self._earlier.copy(), self._prior(len(self._rows))
            self._errors[0] = self._errors[1]
            self.rollbacks += 1
        elif self._steps % max(round(self.settings.kept / self._dt), 1) == 0:
            self._earlier, self._errors[1] = self._x.copy(), self._errors[0]
        return bool(worse)

    def _note(self, moment: float, back: bool) -> None:
        if self._steps % 10 == 0 or back:
            std, offsets = float(np.sqrt(self._p[0, 0])), tuple(self._x[1:].tolist())
            self.log.append(Belief(moment, self.mass, std, offsets, float(self._errors[0]), back))

    def summary(self) -> dict[str, Any]:
        """What is believed now, in plain JSON types."""
        offsets = dict(zip(self.arm.joints, self._x[1:].tolist(), strict=True))
        std = float(np.sqrt(self._p[0, 0]))
        return {"kg": self.mass, "std": std, "offsets_nm": offsets, "rollbacks": self.rollbacks}

    def to_dict(self) -> dict[str, Any]:
        """What was believed, in plain JSON types."""
        rows: list[dict[str, Any]] = [vars(belief) for belief in self.log]
        return {"joints": self.arm.joints, "rollbacks": self.rollbacks, "beliefs": rows}

    def write_log(self, path: str | Path) -> None:
        """The same in a file."""
        write_json(path, self.to_dict())
