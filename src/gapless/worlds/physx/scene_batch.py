"""The scenes of n environments, which take every physics step together.

A scene speaks of one robot, in PhysX's order of joints and in single numbers. What all of them need
is prepared, and what they answer is turned, for all at once: doing so scene by scene costs half as
much time as the physics.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gapless.robots.rotations import conj, rotate
from gapless.worlds.engine import RUNAWAY
from gapless.worlds.packing import StateLayout
from gapless.worlds.physx.description import PhysxDescription
from gapless.worlds.physx.physx_scene import PhysxScene

LARGEST = float(np.finfo(np.float32).max)
"""PhysX computes in single precision."""


@dataclass
class PhysxEnvironment:
    """A robot under its own conditions; its scene is built where it is first played from.

    Attributes:
        model: what the torque path needs of it.
        plan: what PhysX needs of it.
        scene: None until the first step.
        alive: False from the moment it diverged.
    """

    model: mujoco.MjModel
    plan: PhysxDescription
    scene: PhysxScene | None = None
    alive: bool = True

    def scene_from(
        self, names: tuple[str, ...], layout: StateLayout, start: np.ndarray
    ) -> PhysxScene:
        """The running scene, or a new one at the start."""
        if self.scene is None:
            self.scene = PhysxScene(self.plan, names, layout, start)
        return self.scene


class SceneBatch:
    """Environments of one robot, advanced and read as (n, J) arrays in the robot's order.

    Args:
        environments: whose scenes are built where they have none.
        names: the robot's joints in its order.
        layout: columns of the packed states.
        now: (n, size) packed states the scenes are in, or are built at.
    """

    def __init__(
        self,
        environments: list[PhysxEnvironment],
        names: tuple[str, ...],
        layout: StateLayout,
        now: np.ndarray,
    ) -> None:
        self._environments, self._layout, self._now = environments, layout, now
        self._scenes = [
            one.scene_from(names, layout, row) for one, row in zip(environments, now, strict=True)
        ]
        self._alive = np.array([one.alive for one in environments])
        self._order = self._scenes[0].order
        self._back = np.argsort(self._order)
        self._qpos = now.take(layout.q[self._order], axis=1)
        self._qvel = now.take(layout.dq[self._order], axis=1)

    @property
    def q(self) -> np.ndarray:
        """(n, J) positions; of the dead, the last that were read."""
        return self._qpos.take(self._back, axis=1)

    @property
    def dq(self) -> np.ndarray:
        """(n, J) velocities; of the dead, the last that were read."""
        return self._qvel.take(self._back, axis=1)

    def step(self, torque: np.ndarray, dry: np.ndarray, armature: np.ndarray) -> None:
        """Advance the living by a physics step; PhysX must never be given a NaN."""
        self._alive &= np.all(np.abs(torque) < LARGEST, axis=1)
        torque = torque.take(self._order, axis=1)
        limits = dry.take(self._order, axis=1).tolist()
        armatures = armature.take(self._order, axis=1).tolist()
        for i in np.flatnonzero(self._alive).tolist():
            self._qpos[i], self._qvel[i] = self._scenes[i].advance(
                torque[i], limits[i], armatures[i]
            )

    def read(self, seconds: float) -> np.ndarray:
        """(n, size) states now, so many seconds later; one that ran away keeps its last good."""
        layout, rows = self._layout, np.flatnonzero(self._alive)
        new = self._now[rows]
        new[:, layout.q[self._order]] = self._qpos[rows]
        new[:, layout.dq[self._order]] = self._qvel[rows]
        if layout.base:
            self._read_bases(rows, new)
        good = (np.abs(new) < RUNAWAY).all(axis=1)
        new[:, 0] += seconds
        self._now[rows[good]] = new[good]
        self._alive[rows] = good
        for one, alive in zip(self._environments, self._alive.tolist(), strict=True):
            one.alive = alive
        return self._now

    def _read_bases(self, rows: np.ndarray, new: np.ndarray) -> None:
        """PhysX knows the velocity of the root's centre of mass, we that of its origin."""
        scenes, v = [self._scenes[i] for i in rows.tolist()], 1 + self._layout.nq
        roots = np.array([scene.root() for scene in scenes], float).reshape(-1, 13)
        centres = np.array([scene.centre for scene in scenes]).reshape(-1, 3)
        quat, speed, spin = roots[:, 3:7], roots[:, 7:10], roots[:, 10:]
        new[:, 1:8] = roots[:, :7]
        new[:, v : v + 3] = speed - np.cross(spin, rotate(quat, centres))
        new[:, v + 3 : v + 6] = rotate(conj(quat), spin)
