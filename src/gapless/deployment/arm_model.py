"""ArmModel: what gravity asks of an arm's joints, and what a kilogram in its hand adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.artifact import read_json, write_json
from gapless.errors import DataError, FormatError
from gapless.robots.rotations import about, mul, rotate

if TYPE_CHECKING:
    from gapless.robots import Robot

GRAVITY = np.array([0.0, 0.0, -9.81])
FORMAT = 1


@dataclass(frozen=True)
class ArmLink:
    """A link between the root and a hand.

    Attributes:
        pos: of its frame in that of the link before, m.
        quat_wxyz: likewise.
        joint: that moves it; "" is none.
        axis: of the joint, in the link's frame.
        anchor: of the joint, in the link's frame, m.
        zero: angle at which the link is as `pos` and `quat_wxyz` say, rad.
        mass: kg; 0 for links that carry more than the arm.
        com: centre of mass in the link's frame, m.
        strength: share of the torque that its motor is told to make which reaches the load.
    """

    pos: tuple[float, ...]
    quat_wxyz: tuple[float, ...]
    joint: str
    axis: tuple[float, ...]
    anchor: tuple[float, ...]
    zero: float
    mass: float
    com: tuple[float, ...]
    strength: float = 1.0


@dataclass(frozen=True)
class ArmModel:
    """The links from a robot's root to a hand, as plain figures.

    Attributes:
        robot: whose arm it is.
        hand: the last link.
        links: from the root's child on.
        joints: of the arm: those that carry nothing but it.
    """

    robot: str
    hand: str
    links: tuple[ArmLink, ...]
    joints: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, hand: str) -> ArmModel:
        """Read it from a robot's model, beforehand: this needs MuJoCo, using it does not."""
        from gapless.robots import Kinematics

        tree = Kinematics.of(robot).tree
        names = [frame.name for frame in tree]
        way, at = [], names.index(robot.check_link(hand))
        while at >= 0 and names[at] != robot.root:
            way.insert(0, at)
            at = tree[at].parent
        alone = _alone(way, [frame.parent for frame in tree])
        links = tuple(_link(robot, tree[row], row in alone) for row in way)
        own = tuple(link.joint for link, row in zip(links, way, strict=True) if row in alone)
        return cls(robot.name, hand, links, tuple(joint for joint in own if joint))

    @property
    def strength(self) -> np.ndarray:
        """(A,) share of what the motors are told to make that reaches the load."""
        return np.array([link.strength for link in self.links if link.joint in self.joints])

    def with_strength(self, strength: np.ndarray) -> ArmModel:
        """The same arm with motors that make so much, (A,), of what they are told."""
        found = dict(zip(self.joints, np.asarray(strength).tolist(), strict=True))
        links = (replace(x, strength=found.get(x.joint, x.strength)) for x in self.links)
        return replace(self, links=tuple(links))

    def torques(
        self, angles: dict[str, float], base_quat_wxyz: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(A,) torques that hold the arm still, N·m, and (A,) what a kilogram in the hand adds.

        Args:
            angles: joint -> rad, of all joints on the way.
            base_quat_wxyz: orientation of the root; upright by default.
        """
        turn = np.array([1.0, 0, 0, 0]) if base_quat_wxyz is None else np.asarray(base_quat_wxyz)
        turn, place = turn[None], np.zeros((1, 3))
        axes, anchors, weights = [], [], []
        for link in self.links:
            place = place + rotate(turn, np.array(link.pos))
            turn = mul(turn, np.array(link.quat_wxyz)[None])
            anchor = place + rotate(turn, np.array(link.anchor))
            if link.joint:
                moved = about(np.array(link.axis), np.array([angles[link.joint] - link.zero]))
                turn = mul(turn, moved)
                place = anchor - rotate(turn, np.array(link.anchor))
            if link.joint in self.joints:
                axes.append(rotate(turn, np.array(link.axis))[0])
                anchors.append(anchor[0])
            weights.append((len(axes), link.mass, (place + rotate(turn, np.array(link.com)))[0]))
        return self._held(np.array(axes), np.array(anchors), weights)

    def _held(
        self, axes: np.ndarray, anchors: np.ndarray, weights: list[tuple[int, float, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        def against(point: np.ndarray) -> np.ndarray:
            return -np.einsum("ij,ij->i", axes, np.cross(point - anchors, GRAVITY))

        held = np.zeros(len(axes))
        for carriers, mass, point in weights:
            held[:carriers] += mass * against(point)[:carriers]
        return held, against(weights[-1][2])

    def write(self, path: str | Path) -> None:
        """Complete or absent."""
        write_json(path, {"format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, path: str | Path) -> ArmModel:
        """Or say what is wrong with it."""
        data = read_json(Path(path))
        try:
            if data["format"] != FORMAT:
                raise FormatError(f"{path} is an arm of another version of gapless")
            links = tuple(ArmLink(**{k: _plain(v) for k, v in e.items()}) for e in data["links"])
            if not all(0.1 < link.strength < 10.0 for link in links):
                raise FormatError(f"{path}: a strength is a share of a torque, between 0.1 and 10")
            return cls(str(data["robot"]), str(data["hand"]), links, tuple(data["joints"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path} is no model of an arm: {error}") from error


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _alone(way: Sequence[int], parents: Sequence[int]) -> set[int]:
    """Links of a way that nothing beside it hangs on: what they carry is known."""
    branching = {p for row, p in enumerate(parents) if row not in way}
    first = max((k + 1 for k, row in enumerate(way) if row in branching), default=0)
    if first >= len(way):
        raise DataError("the hand is no end of an arm: other links hang on it")
    return set(way[first:])


def _link(robot: Robot, frame, carried: bool) -> ArmLink:  # noqa: ANN001 (LinkFrame is not public)
    inertia = robot.inertia(frame.name)
    axis = frame.axes[0] if frame.axes else None
    return ArmLink(
        pos=tuple(frame.pos.tolist()),
        quat_wxyz=tuple(frame.quat.tolist()),
        joint="" if axis is None else robot.joints.names[axis.column],
        axis=(0.0, 0.0, 1.0) if axis is None else tuple(axis.axis.tolist()),
        anchor=(0.0, 0.0, 0.0) if axis is None else tuple(axis.pos.tolist()),
        zero=0.0 if axis is None else float(axis.zero),
        mass=float(inertia.mass) if carried else 0.0,
        com=tuple(np.asarray(inertia.com, float).tolist()),
    )
