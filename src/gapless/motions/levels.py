"""SimLifter's three levels: one joint, the upper body, the whole body."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError, unknown
from gapless.motions import joint_shapes
from gapless.motions.collisions import overlaps
from gapless.motions.joint_shapes import Shape, rooms
from gapless.motions.limits import check_joints
from gapless.motions.motion import Motion
from gapless.motions.postures import visit
from gapless.motions.waves import play
from gapless.robots import Robot

LEVELS = {
    "per_joint": "one joint moves, the others hold a random posture",
    "upper_body": "arms and waist move together",
    "whole_body": "all joints move together",
}
"""Level -> what moves."""
ROUNDS = 60
"""How often a motion whose links would collide is drawn again."""
SHRINK = 0.95
"""How much smaller each new draw of it is."""
GLANCE = 8
"""Every how many-th pose is looked at first."""
SPEED = 0.3
"""Share of the speed limit that these motions use."""


def level_motions(
    robot: Robot,
    level: str,
    count: int,
    seconds: float,
    rate: float | None = None,
    seed: int = 0,
) -> list[Motion]:
    """Draw motions of one level; over many of them each joint visits most of its range.

    A motion in which links would run into each other (see `collisions.overlaps`) or that asks too
    much of the motors is drawn again, a little smaller.

    Args:
        robot: whose joints move.
        level: a key of LEVELS.
        count: how many.
        seconds: length of each.
        rate: samples per second; the robot's own by default.
        seed: the same seed gives the same motions, and their first ones whatever the count.
    """
    if level not in LEVELS:
        raise unknown("level", level, LEVELS)
    found: dict[int, Motion] = {}
    for attempt in range(ROUNDS):
        missing = [i for i in range(count) if i not in found]
        if not missing:
            break
        size, own = SHRINK**attempt, list(LEVELS).index(level)
        # Of a robot whose legs are locked, two levels move the same joints: not in the same way.
        drawn = {
            i: _draw(robot, level, i, seconds, rate, size, [seed, i, attempt, own]) for i in missing
        }
        found |= _clear(robot, drawn)
    if len(found) < count:
        raise DataError(
            f"{count - len(found)} of {count} {level} motions of {robot.name} still collide with "
            f"themselves or overload a motor after {ROUNDS} draws each; give fewer seconds, or "
            "lock some joints"
        )
    return [found[i] for i in range(count)]


def _clear(robot: Robot, motions: dict[int, Motion]) -> dict[int, Motion]:
    """The motions within the limits that keep the links apart; few poses tell most of it."""
    motions = {i: m for i, m in motions.items() if not check_joints(m, robot, margin=0.0)[0]}
    for every in (GLANCE, 1):
        if motions:
            kept = _apart(robot, [motion.q[::every] for motion in motions.values()])
            motions = {i: motions[i] for i, ok in zip(list(motions), kept, strict=True) if ok}
    return motions


def _apart(robot: Robot, poses: list[np.ndarray]) -> list[bool]:
    """Whether links stay apart in each array of poses; one call, because a model is compiled."""
    deep = np.zeros(sum(map(len, poses)))
    for depth in overlaps(robot, np.concatenate(poses)).values():
        deep = np.maximum(deep, depth)
    return [not part.any() for part in np.split(deep, np.cumsum([len(q) for q in poses])[:-1])]


def _draw(
    robot: Robot,
    level: str,
    index: int,
    seconds: float,
    rate: float | None,
    size: float,
    seed: list[int],
) -> Motion:
    rng = np.random.default_rng(seed)
    name = f"{level}_{index:04d}"
    if level == "per_joint":
        return _one_joint(name, robot, index, seconds, rate, size, rng)
    where = rooms(robot, _moving(robot, level), amplitude=size, speed=SPEED)
    own = int(rng.integers(2**31))
    if index % 2:
        move = rng.uniform(1.0, 3.0)
        return visit(f"{name}_waypoints", robot, where, seconds, rate, seed=own, move=move, dwell=0)
    shape = joint_shapes.series(rng.uniform(0.2, 0.6))
    return play(f"{name}_fourier", robot, where, shape, seconds, rate, together=True, seed=own)


def _one_joint(
    name: str,
    robot: Robot,
    index: int,
    seconds: float,
    rate: float | None,
    size: float,
    rng: np.random.Generator,
) -> Motion:
    """One joint moves about a random posture; joints and shapes take turns."""
    posture = robot.joints.default.copy()
    free = rooms(robot, amplitude=size)
    for room in free:
        posture[room.column] = rng.uniform(room.low, room.high)
    joint = robot.joints.names[free[index % len(free)].column]
    kind = list(_SHAPES)[(index + index // len(free)) % len(_SHAPES)]
    least, most, shape = _SHAPES[kind]
    reach = size * rng.uniform(least, most)
    where = rooms(robot, [joint], amplitude=reach, speed=SPEED, home=posture)
    return play(
        f"{name}_{kind}_{joint}",
        robot,
        where,
        shape,
        seconds,
        rate,
        together=True,
        seed=int(rng.integers(2**31)),
        pose=posture,
    )


_SHAPES: dict[str, tuple[float, float, Shape]] = {
    "sine": (0.3, 1.0, joint_shapes.tone(0.4, 0.4, fade=1.0)),
    "ramp": (0.3, 1.0, joint_shapes.ramps(rise=0.2)),
    "steps": (0.1, 0.4, joint_shapes.staircase(hold=1.0, rise=0.3)),
    "chirp": (0.2, 0.5, joint_shapes.tone(0.2, 1.5, fade=1.0)),
}
"""Shape -> smallest and largest share of the joint's room, and how it moves."""


def _moving(robot: Robot, level: str) -> list[str] | None:
    """The joint groups of a level; an arm without groups is all upper body."""
    if level == "whole_body":
        return None
    named = [g for g in ("upper_body", "arms", "waist") if robot.joint_groups.get(g)]
    if not named and robot.joint_groups.get("legs"):
        raise DataError(f"{robot.name} has no arms that move; use --level per_joint or whole_body")
    return named or None
