"""Arms whose drives do what a fit of gains and friction does not know, and whether its intervals
hold the truth all the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gapless.identification import IdentifySettings, identify
from gapless.recordings import Split
from gapless.robots import Robot
from gapless.worlds import Effects
from hidden_pair import STEP, nominal_pair, recorded

NAMES = ("kp", "damping", "frictionloss", "armature")
"""What is fitted."""

EFFECTS = ("stribeck", "load_friction", "backlash", "flex", "heat")
"""What is there, one at a time, as large as in `typical` to `hard` hidden robots; the motors heat
as fast as if minutes of work were in each clip."""


@dataclass(frozen=True)
class Held:
    """One interval against the truth, in prior std.

    Attributes:
        kind: of the parameter.
        error: found minus true.
        half: half the 95 % interval.
    """

    kind: str
    error: float
    half: float

    @property
    def inside(self) -> bool:
        """Whether it holds the truth."""
        return abs(self.error) <= self.half


def hidden_effects(effect: str, rng: np.random.Generator, effort: np.ndarray) -> Effects:
    """One effect, drawn for two joints."""
    low, high, unit = {
        "stribeck": (0.008, 0.016, effort),
        "load_friction": (0.07, 0.12, 1.0),
        "backlash": (0.007, 0.014, 1.0),
        "flex": (0.006, 0.015, 1 / effort),
        "heat": (100.0, 300.0, 1.0),
    }[effect]
    size = rng.uniform(low, high, 2) * unit
    if effect == "heat":
        return Effects(heating=size, heat_loss=0.002)
    return Effects(
        **{{"stribeck": "stribeck_torque", "flex": "compliance"}.get(effect, effect): size}
    )


def intervals_of(seed: int, effect: str | None = None, starts: str = "free") -> list[Held]:
    """Identify one hidden arm, and compare."""
    pair, rng = nominal_pair(), np.random.default_rng(seed)
    factors = {k: rng.uniform(0.7, 1.5, 2) * (3 if k == "frictionloss" else 1) for k in NAMES}
    hidden = pair.with_joints(**{k: f * getattr(pair.joints, k) for k, f in factors.items()})
    effects = hidden_effects(effect, rng, pair.joints.effort) if effect else None
    clips = recorded(
        hidden, ["a", "b", "c"], noise=1e-3, seconds=5.0, first=10 * seed, effects=effects
    )
    settings = IdentifySettings(physics_step=STEP, windows=20, starts=starts)
    found = identify(Split.of(clips), pair, NAMES, settings=settings, keep_anyway=True)
    return [
        Held(e.parameter.kind, e.value - _true(hidden, e.name), 1.96 * e.std)
        for e in found.estimates
        if e.identifiable
    ]


def _true(robot: Robot, name: str) -> float:
    kind, joint = name.split("/")
    return float(getattr(robot.joints, kind)[robot.joints.index(joint)])


def coverage(held: Iterable[Held]) -> float:
    """Share of the intervals that hold the truth."""
    return float(np.mean([h.inside for h in held]))


def widths(held: Iterable[Held]) -> dict[str, float]:
    """Kind -> median half width, over that which would just hold 95 % of the truths."""
    rows = list(held)
    found = {}
    for kind in dict.fromkeys(h.kind for h in rows):
        own = [h for h in rows if h.kind == kind]
        needed = np.quantile([abs(h.error) for h in own], 0.95)
        found[kind] = float(np.median([h.half for h in own]) / needed)
    return found
