"""Whether a robot that is held came to rest on something, from joints and commands alone.

Gravity leaves the lowest point of an arm below where its commands would have it, dry friction a
little to either side. A surface holds it above: all joints that would lower it stop short together,
and nothing of the arm is ever seen below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from gapless.measurement.alignment import Aligned, in_robot_order
from gapless.measurement.spans import unbroken
from gapless.recordings.recording import Recording
from gapless.robots import Floor, Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, rotate
from gapless.robots.support_shapes import floor_shapes

REST_SECONDS = 0.2
"""A joint rests where neither it nor its command moves for so long."""
COMMAND_STILL, JOINT_STILL = 1e-3, 0.01
"""How far it may move meanwhile, rad."""
HIGH = 0.75
"""Share of the rests below those that are surely in the air: what is usual is seen there."""
LIFT = 0.003
"""How much more than usual the lowest point is held above its command where it touches, m."""
SHORTEST = 0.5
"""Seconds of touching, in two places or more, that are needed."""
ROUGH, PIERCED, SELDOM = 0.01, 0.015, 0.01
"""Scatter of the points that touch, m; how far below the plane others may be, m, and what share
of all samples may be lower: zeros of encoders err, and so do shapes."""
LEVEL = 0.03
"""How far from level a surface usually is, rad."""
SLIPPERY = 0.4
"""Friction of a table, as far as anything is known: feet grip more than tools."""
POINT_ERROR = 0.005
"""Of the height of a point that touches, m."""


@dataclass(frozen=True)
class RestingSurface:
    """A plane on which the robot came to rest.

    Attributes:
        floor: the robot's floor with this plane.
        depth: of the points that touched it below the origin of the held link, m.
        share: of all samples, those at which it was touched.
        touched: for each recording the first and last samples of the times that it was touched.
    """

    floor: Floor
    depth: float
    share: float
    touched: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def starts(self) -> dict[str, float]:
        """Parameter -> where to look for it first."""
        x, y = self.floor.tilt
        return {
            "floor_height": self.floor.height or 0.0,
            "floor_tilt_x": x,
            "floor_tilt_y": y,
            "floor_friction": self.floor.friction,
        }

    def landings(self, ahead: int, most: int) -> list[tuple[int, int]]:
        """Recordings and samples from which, so many samples later, the robot touches it."""
        found = [(i, max(0, a - ahead)) for i, spans in enumerate(self.touched) for a, _ in spans]
        chosen = np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int)
        return [found[k] for k in chosen]

    @property
    def note(self) -> str:
        """What was found, in a sentence."""
        count = sum(bool(spans) for spans in self.touched)
        where = f"{100 * abs(self.depth):.1f} cm {'below' if self.depth > 0 else 'above'} its base"
        return f"the robot rests on a surface {where} in {count} of {len(self.touched)} recordings"


@dataclass(frozen=True)
class _Rests:
    """Of one recording: its lowest points (T, 3), how far each is above its command (T,), and
    (T,) whether the robot rests; in the frame of the link that is held."""

    points: np.ndarray
    lift: np.ndarray
    still: np.ndarray
    rate: float

    def touching(self, lift: float) -> list[tuple[int, int]]:
        """First and last samples of the rests that are held higher than this, m."""
        shortest = REST_SECONDS * self.rate / 2
        held = unbroken(self.still & (self.lift > lift))
        return [(a, b) for a, b in held if b - a + 1 >= shortest]


def resting_surface(robot: Robot, recordings: Sequence[Recording]) -> RestingSurface | None:
    """The plane that recordings show a held robot to rest on; None where they show none."""
    if robot.mount == "free" or any(r.target is None for r in recordings):
        return None
    reach = _Reach(robot)
    rests = [reach.rests(in_robot_order(r, robot), r.rate) for r in recordings if reach.shapes]
    usual = _usual_lift(rests)
    touched = tuple(tuple(rest.touching(usual + LIFT)) for rest in rests)
    pairs = [(rest, span) for rest, spans in zip(rests, touched, strict=True) for span in spans]
    seconds = sum((b - a + 1) / rest.rate for rest, (a, b) in pairs)
    if len(pairs) < 2 or seconds < SHORTEST:
        return None
    places = np.array([rest.points[a : b + 1].mean(axis=0) for rest, (a, b) in pairs])
    plane = _plane(places)
    if not _stands_up(plane, places, np.concatenate([r.points for r in rests])):
        return None
    floor = robot.floor if robot.meets_floor else replace(robot.floor, friction=SLIPPERY)
    floor = replace(floor, height=float(plane[0])).tilted(*np.arctan(plane[1:]))
    share = sum(b - a + 1 for _, (a, b) in pairs) / sum(len(r.still) for r in rests)
    return RestingSurface(floor, -float(places[:, 2].mean()), share, touched)


def _usual_lift(rests: Sequence[_Rests]) -> float:
    """How far the lowest point is held above its command where nothing can be under it, m."""
    height = np.concatenate([r.points[r.still, 2] for r in rests])
    lift = np.concatenate([r.lift[r.still] for r in rests])
    high = height >= np.quantile(height, HIGH) if height.size else np.zeros(0, bool)
    return max(float(lift[high].max(initial=0.0)), 0.0)


def _plane(places: np.ndarray) -> np.ndarray:
    """(3,) height at the origin, and slopes along x and y, of the plane near these points."""
    known = np.column_stack([np.ones(len(places)), places[:, :2]]) / POINT_ERROR
    level = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) / LEVEL
    wanted = np.concatenate([places[:, 2] / POINT_ERROR, np.zeros(2)])
    return np.linalg.lstsq(np.vstack([known, level]), wanted, rcond=None)[0]


def _stands_up(plane: np.ndarray, places: np.ndarray, every: np.ndarray) -> bool:
    """Whether what touches is on one plane, and nothing is far below it."""

    def above(points: np.ndarray) -> np.ndarray:
        return points[:, 2] - plane[0] - points[:, :2] @ plane[1:]

    smooth = np.sqrt(np.mean(above(places) ** 2)) < ROUGH
    return bool(smooth and np.mean(above(every) < -PIERCED) < SELDOM)


class _Reach:
    """How low the links of a robot reach that move, in the frame of the link that is held."""

    def __init__(self, robot: Robot) -> None:
        model = robot.model()
        self._kinematics = Kinematics(model, robot)
        self.shapes = [s for s in floor_shapes(model) if s.link in self._kinematics.links]
        self._held = self._kinematics.links.index(
            robot.root if robot.mount in ("free", "fixed") else robot.mount
        )

    def rests(self, clip: Aligned, rate: float) -> _Rests:
        """What a recording says."""
        width = max(3, round(REST_SECONDS * rate))
        still = clip.valid & _still(clip.state.q, width, JOINT_STILL)
        still &= _still(clip.target, width, COMMAND_STILL)
        points, lift = self._lowest(clip.state.q), np.zeros(len(still))
        lift[still] = points[still, 2] - self._lowest(clip.target[still])[:, 2]
        return _Rests(points, lift, still, rate)

    def _lowest(self, q: np.ndarray) -> np.ndarray:
        """(T, 3) the lowest point of all shapes."""
        pos, quat = self._kinematics.link_poses(q)
        origin, back = pos[:, self._held], conj(quat[:, self._held])
        down = rotate(quat[:, self._held], np.array([0.0, 0.0, -1.0]))
        lowest = np.full((len(q), 3), np.inf)
        for shape in self.shapes:
            i = self._kinematics.links.index(shape.link)
            far = rotate(quat[:, i], shape.farthest(rotate(conj(quat[:, i]), down)))
            point = rotate(back, pos[:, i] + far - origin)
            lowest = np.where(point[:, 2:] < lowest[:, 2:], point, lowest)
        return lowest


def _still(values: np.ndarray, width: int, reach: float) -> np.ndarray:
    """(T,) whether (T, J) values stay within a reach for a while."""
    moved = maximum_filter1d(values, width, axis=0) - minimum_filter1d(values, width, axis=0)
    return np.asarray((moved < reach).all(axis=1))
