"""Columns of a state by name, in the order of `tangent`: what a correction of a state gives."""

from __future__ import annotations

from collections.abc import Sequence

AXES = ("x", "y", "z")
PLACE = tuple(f"base_{a}" for a in AXES) + tuple(f"base_turn_{a}" for a in AXES)
MOTION = tuple(f"base_v{a}" for a in AXES) + tuple(f"base_w{a}" for a in AXES)
"""Of a base that moves: position and rotation (m, rad), velocity and turning (m/s, rad/s)."""


def state_columns(joints: Sequence[str], free: bool) -> tuple[str, ...]:
    """Names of all columns of a state, e.g. base_x, q:left_elbow, dq:left_elbow."""
    place, motion = (PLACE, MOTION) if free else ((), ())
    return (*place, *(f"q:{j}" for j in joints), *motion, *(f"dq:{j}" for j in joints))


def state_outputs(joints: Sequence[str], corrected: Sequence[str], free: bool) -> tuple[str, ...]:
    """The columns that are corrected: those of some joints, and all of a base that moves."""
    chosen = set(state_columns(corrected, free))
    return tuple(name for name in state_columns(joints, free) if name in chosen)


def all_columns(joints: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """All columns of the state that some outputs belong to."""
    return state_columns(joints, free=PLACE[0] in outputs)
