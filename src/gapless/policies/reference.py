"""The motion that a tracker sees while it follows it: frames at the policy's own rate."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gapless.errors import DataError, FormatError

MAX_BYTES = 200_000_000
"""Largest file of reference frames that is read."""


@dataclass(frozen=True)
class Reference:
    """A moment of the motion, one row an environment; joints in the policy's order.

    Attributes:
        joint_pos: (n, A) rad.
        joint_vel: (n, A) rad/s.
        anchor_pos_w: (n, 3) position of the anchor link in the world, m.
        anchor_quat_w: (n, 4) orientation of it, wxyz.
    """

    joint_pos: np.ndarray
    joint_vel: np.ndarray
    anchor_pos_w: np.ndarray
    anchor_quat_w: np.ndarray


@dataclass(frozen=True)
class ReferenceMotion:
    """The same over time: arrays (T, ...)."""

    frames: Reference

    def __post_init__(self) -> None:
        lengths = {len(array) for array in vars(self.frames).values()}
        if len(lengths) != 1 or lengths == {0}:
            raise DataError(f"arrays of a reference motion have {sorted(lengths)} frames")
        for name, array in vars(self.frames).items():
            if not np.isfinite(array).all():
                raise DataError(f"{name} of the reference motion is not finite")

    def __len__(self) -> int:
        return len(self.frames.joint_pos)

    def at(self, step: np.ndarray) -> Reference:
        """The frames of (n,) control steps; after the end, the last."""
        rows = np.minimum(step, len(self) - 1)
        return Reference(**{name: array[rows] for name, array in vars(self.frames).items()})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], anchor: int) -> ReferenceMotion:
        """From mjlab's and BeyondMimic's arrays; the anchor is a row of their bodies."""
        for name in ("joint_pos", "joint_vel", "body_pos_w", "body_quat_w"):
            if name not in arrays:
                raise FormatError(f"a reference motion lacks {name}; it has {sorted(arrays)}")
        bodies = arrays["body_pos_w"].shape[1]
        if not 0 <= anchor < bodies:
            raise DataError(f"the anchor is body {anchor} of {bodies}")
        return cls(
            Reference(
                np.asarray(arrays["joint_pos"], float),
                np.asarray(arrays["joint_vel"], float),
                np.asarray(arrays["body_pos_w"][:, anchor], float),
                np.asarray(arrays["body_quat_w"][:, anchor], float),
            )
        )


def read_reference(path: Path, rate: float, anchor: str, bodies: Sequence[str]) -> ReferenceMotion:
    """Frames from an .npz of mjlab or BeyondMimic.

    Args:
        path: of the file; it must not hold Python objects.
        rate: of the policy; frames of another rate are refused.
        anchor: link that is compared with the robot's; "" is the first body.
        bodies: links in the order of the file's bodies; empty where only the first is needed.
    """
    if not path.is_file():
        raise FormatError(f"{path} does not exist; motion.file is the reference the policy follows")
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path} is larger than {MAX_BYTES} bytes")
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(entry.file_size for entry in packed.infolist()) > MAX_BYTES:
                raise FormatError(f"{path} unpacks to more than {MAX_BYTES} bytes")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (OSError, ValueError, TypeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} is no .npz of plain arrays: {error}") from error
    said = np.ravel(arrays.get("fps", rate))
    if said.size != 1 or said.dtype.kind not in "fiu":
        raise FormatError(f"{path}: fps is {str(said)[:60]!r}; expected frames a second")
    fps = float(said[0])
    if not np.isclose(fps, rate):
        raise DataError(f"{path} has {fps:g} frames a second, the policy {rate:g}; resample it")
    return ReferenceMotion.from_arrays(arrays, anchor_body(anchor, bodies))


def anchor_body(anchor: str, bodies: Sequence[str]) -> int:
    """Row of the anchor among a motion's bodies; the first where nothing is said of them."""
    if not anchor or not bodies:
        return 0
    if anchor not in bodies:
        raise DataError(f"anchor {anchor!r} is not among the bodies {', '.join(bodies)}")
    return bodies.index(anchor)
