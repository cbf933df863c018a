"""BVH files: a skeleton of offsets, and channels over time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import MAX_TEXT_BYTES, check_file, reading

FASTEST, SLOWEST = 1 / 240, 1 / 5
"""Frame times that a person can have been recorded with, s."""
CHANNELS = {f"{axis}{kind}" for axis in "XYZ" for kind in ("position", "rotation")}


@dataclass(frozen=True)
class BvhJoint:
    """A joint: its name, the index of its parent (-1 for the root), offset and channels."""

    name: str
    parent: int
    offset: tuple[float, ...]
    channels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bvh:
    """What a BVH file says.

    Attributes:
        joints: each after its parent; end sites are left out.
        rate: frames per second.
        values: (T, C) channels, in the file's units and degrees.
        notes: what is odd about the file.
    """

    joints: tuple[BvhJoint, ...]
    rate: float
    values: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Of the joints."""
        return [joint.name for joint in self.joints]

    def rest(self) -> np.ndarray:
        """(J, 3) joints where all channels are zero."""
        places = np.zeros((len(self.joints), 3))
        for i, joint in enumerate(self.joints):
            if joint.parent >= 0:
                places[i] = places[joint.parent] + joint.offset
        return places

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (T, J, 3) and turns (T, J, 3, 3) of all joints; NaN where a frame has one."""
        known = np.asarray(np.isfinite(self.values).all(axis=1))
        values = np.where(known[:, None], self.values, 0.0)
        places = np.empty((len(values), len(self.joints), 3))
        turns = np.empty((len(values), len(self.joints), 3, 3))
        column = 0
        for i, joint in enumerate(self.joints):
            own = values[:, column : column + len(joint.channels)]
            column += len(joint.channels)
            place, turn = _local(joint, own)
            if joint.parent >= 0:
                above = turns[:, joint.parent]
                place = places[:, joint.parent] + np.einsum("tij,tj->ti", above, place)
                turn = above @ turn
            places[:, i], turns[:, i] = place, turn
        places[~known] = np.nan
        return places, turns


def _local(joint: BvhJoint, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place (T, 3) and turn (T, 3, 3) of a joint on its parent."""
    place = np.tile(np.array(joint.offset), (len(values), 1))
    order, angles = "", []
    for k, channel in enumerate(joint.channels):
        if channel.endswith("position"):
            place[:, "XYZ".index(channel[0])] = values[:, k]
        else:
            order, angles = order + channel[0], [*angles, values[:, k]]
    if not order:
        return place, np.tile(np.eye(3), (len(values), 1, 1))
    turns = Rotation.from_euler(order, np.stack(angles, axis=1), degrees=True)
    return place, turns.as_matrix().reshape(-1, 3, 3)


def read_bvh(path: Path) -> Bvh:
    """Read a file.

    Raises:
        FormatError: it is damaged, ends early, or its frame time cannot be right.
    """
    with reading(str(path), "a BVH file"):
        check_file(path, MAX_TEXT_BYTES, "a BVH file")
        text = path.read_text(encoding="utf-8", errors="replace")
    head, motion, rest = text.partition("MOTION")
    if not motion or "HIERARCHY" not in head:
        raise FormatError(f"{path} is no BVH file: HIERARCHY and MOTION were expected in it")
    joints = _skeleton(head.split(), path)
    lines = [line for line in rest.splitlines() if line.strip()]
    told, time = (_fact(lines, k, word, path) for k, word in ((0, "Frames:"), (1, "Frame Time:")))
    if not FASTEST * 0.999 <= time <= SLOWEST * 1.001:
        raise FormatError(
            f"{path}: the frame time is {time:g} s, {1 / time if time else 0:g} frames a second; "
            f"expected {FASTEST:.4f} to {SLOWEST:g}. Mend the line 'Frame Time:' of the file"
        )
    values = _rows(lines[2:], sum(len(j.channels) for j in joints), path)
    notes = ()
    if len(values) != told:
        notes = (f"the file says {told:g} frames and has {len(values)}; all that are there count",)
    return Bvh(joints, round(1 / time, 3), values, notes)


def _fact(lines: list[str], row: int, word: str, path: Path) -> float:
    line = lines[row].strip() if row < len(lines) else ""
    try:
        if not line.startswith(word):
            raise ValueError
        return float(line.removeprefix(word))
    except ValueError:
        raise FormatError(
            f"{path}: after MOTION comes {line!r}; expected '{word} number'"
        ) from None


def _rows(lines: list[str], width: int, path: Path) -> np.ndarray:
    rows = [line.split() for line in lines]
    for k, row in enumerate(rows):
        if len(row) != width:
            raise FormatError(
                f"{path}: frame {k} has {len(row)} numbers, the skeleton {width} channels; the "
                "file is cut off or damaged, export it again"
            )
    try:
        return np.array(rows, float).reshape(-1, width)
    except ValueError as error:
        raise FormatError(f"{path}: {error} among the frames") from None


def _skeleton(words: list[str], path: Path) -> tuple[BvhJoint, ...]:
    """The joints of the hierarchy."""
    joints: list[BvhJoint] = []
    open_: list[int] = []
    """Indices of joints whose braces are open; -2 for an end site."""
    at, last = 0, -2
    try:
        while at < len(words):
            word = words[at]
            if word in ("ROOT", "JOINT"):
                parent = next((i for i in reversed(open_) if i >= 0), -1)
                joints.append(BvhJoint(words[at + 1], parent, (0.0, 0.0, 0.0), ()))
                last, at = len(joints) - 1, at + 2
            elif word == "End":
                last, at = -2, at + 2
            elif word == "{":
                open_, at = [*open_, last], at + 1
            elif word == "}":
                open_.pop()
                at += 1
            elif word == "OFFSET":
                offset = tuple(float(v) for v in words[at + 1 : at + 4])
                _fill(joints, open_[-1], offset=offset)
                at += 4
            elif word == "CHANNELS":
                count = int(words[at + 1])
                _fill(joints, open_[-1], channels=_channels(words[at + 2 : at + 2 + count]))
                at += 2 + count
            elif word == "HIERARCHY":
                at += 1
            else:
                raise ValueError(f"{word!r} is unexpected")
        if open_ or not joints:
            raise ValueError("a brace is not closed" if open_ else "there is no joint")
    except (ValueError, IndexError) as error:
        near = " ".join(words[max(at - 3, 0) : at + 2])
        raise FormatError(
            f"{path}: the hierarchy of the BVH cannot be read near {near!r}: {error}"
        ) from None
    return tuple(joints)


def _fill(joints: list[BvhJoint], index: int, **fields: tuple) -> None:
    if index >= 0:
        joints[index] = BvhJoint(**{**vars(joints[index]), **fields})


def _channels(words: list[str]) -> tuple[str, ...]:
    wrong = [word for word in words if word not in CHANNELS]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no channel")
    return tuple(words)
