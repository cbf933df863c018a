"""Ranges in which simulators differ for a robust training: by name, or as one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.robots import Inertia, Payload, Robot
from gapless.worlds.engine_world import EngineWorld

Range = tuple[float, float]
INTERVALS = "intervals"
"""Not a table: within what was identified."""


@dataclass(frozen=True)
class VariationRanges:
    """From where to where each figure is drawn, evenly; what is zero or None stays as it is.

    Attributes:
        friction: of the floor.
        stiffness: share of every kp.
        delay: of commands, s.
        mass: of each link, share by which it is more or less.
        centre: of each link's mass, by which it is off on each axis, m.
        encoder: zero of each joint, by which it is off, rad.
        load: on torso and hands together, as a share of the robot's mass, at most.
    """

    friction: Range | None = None
    stiffness: Range | None = None
    delay: Range | None = None
    mass: float = 0.0
    centre: float = 0.0
    encoder: float = 0.0
    load: float = 0.0

    def draw(self, world: EngineWorld, rng: np.random.Generator) -> EngineWorld:
        """A world like this one."""
        robot, effects = world.robot, world.effects
        joints = len(robot.joints.names)
        if self.friction:
            floor = replace(robot.floor, friction=float(rng.uniform(*self.friction)))
            robot = robot.with_floor(floor)
        if self.stiffness:
            robot = _stiffened(robot, rng.uniform(*self.stiffness, joints))
        if self.delay:
            effects = replace(effects, delay=np.full(joints, rng.uniform(*self.delay)))
        if self.encoder:
            off = effects.encoder_bias + rng.uniform(-self.encoder, self.encoder, joints)
            effects = replace(effects, encoder_bias=off)
        if self.mass or self.centre:
            robot = self._reweighed(robot, rng)
        if self.load:
            robot = self._loaded(robot, rng)
        return world.variant(robot=robot, effects=effects)

    def _reweighed(self, robot: Robot, rng: np.random.Generator) -> Robot:
        """Links of other masses and centres; a heavier one turns as much less easily."""
        changed = {}
        for link in robot.links:
            own = robot.inertia(link)
            share = 1 + rng.uniform(-self.mass, self.mass)
            centre = own.com + rng.uniform(-self.centre, self.centre, 3)
            changed[link] = Inertia.of(share * own.mass, centre, share * own.tensor)
        return robot.with_inertias(changed)

    def _loaded(self, robot: Robot, rng: np.random.Generator) -> Robot:
        """A load on torso and hands, shared out at random, beside what is carried."""
        groups = robot.link_groups
        links = [*groups.get("torso", (robot.root,)), *groups.get("hands", ())]
        own = sum(robot.inertia(link).mass for link in robot.links)
        total = own * rng.uniform(0, self.load)
        shares = rng.dirichlet(np.ones(len(links)))
        loads = dict(robot.payloads)
        for link, share in zip(links, shares.tolist(), strict=True):
            carried = loads.get(link, Payload(0.0))
            loads[link] = replace(carried, mass=carried.mass + share * total)
        return robot.with_payloads(loads)


RANGES: dict[str, VariationRanges] = {
    "asap": VariationRanges(friction=(0.2, 1.1), stiffness=(0.925, 1.05), delay=(0.02, 0.04)),
    "narrow": VariationRanges(
        friction=(0.3, 1.2), stiffness=(0.975, 1.025), mass=0.02, centre=0.005, encoder=0.01
    ),
    "wide": VariationRanges(
        friction=(0.2, 1.2),
        stiffness=(0.85, 1.1),
        delay=(0.0, 0.04),
        mass=0.2,
        centre=0.05,
        encoder=0.01,
        load=0.3,
    ),
}
"""ASAP's Table VI; around a model that is believed; and what a load that nobody knows asks for. The
last two are ours: HALO's tables of ranges were not published as text."""


def _stiffened(robot: Robot, shares: np.ndarray) -> Robot:
    """Drives that make so much of every stiffness: of the robot's own, and of a policy's."""
    errors = {j: robot.gain_errors.get(j, (1.0, 1.0)) for j in robot.joints.names}
    made = {
        j: (s * kp, kd) for s, (j, (kp, kd)) in zip(shares.tolist(), errors.items(), strict=True)
    }
    return replace(robot.with_joints(kp=robot.joints.kp * shares), gain_errors=made)
