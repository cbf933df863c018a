"""The motion that a tracker sees while it follows it: frames at the policy's own rate."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gapless.errors import DataError, FormatError, GaplessError

ARRAYS = {"joint_pos": 0, "joint_vel": 0, "body_pos_w": 3, "body_quat_w": 4}
"""What a file must have: (T, A) of joints, and (T, bodies, this many) of bodies."""
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
        for name, last in ARRAYS.items():
            if name not in arrays:
                raise FormatError(f"a reference motion lacks {name}; it has {sorted(arrays)}")
            _refuse_misshapen(name, arrays[name], last)
        if arrays["joint_vel"].shape[1:] != arrays["joint_pos"].shape[1:]:
            raise FormatError("joint_pos and joint_vel of a reference motion have other joints")
        bodies = min(arrays[name].shape[1] for name in ("body_pos_w", "body_quat_w"))
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


def _refuse_misshapen(name: str, array: np.ndarray, last: int) -> None:
    shape = f"(T, bodies, {last})" if last else "(T, joints)"
    fits = array.ndim == 3 and array.shape[2] == last if last else array.ndim == 2
    if array.dtype.kind not in "fiu" or not fits:
        raise FormatError(
            f"{name} of a reference motion holds {array.dtype} of shape {array.shape}; "
            f"expected numbers {shape}"
        )


def read_reference(path: Path, rate: float, anchor: str, bodies: Sequence[str]) -> ReferenceMotion:
    """Frames from an .npz of mjlab or BeyondMimic.

    Args:
        path: of the file; it must not hold Python objects.
        rate: of the policy; frames of another rate are refused.
        anchor: link that is compared with the robot's; "" is the first body.
        bodies: links in the order of the file's bodies; empty where only the first is needed.
    """
    if not os.path.isfile(path):  # a name may be too long to be looked for
        raise FormatError(f"{path} does not exist; motion.file is the reference the policy follows")
    if path.stat().st_size > MAX_BYTES:
        raise FormatError(f"{path} is larger than {MAX_BYTES} bytes")
    try:
        arrays = _unpacked(path)
    except (GaplessError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails in too many ways to list
        raise FormatError(f"{path} is no .npz of plain arrays: {error}") from error
    said = np.ravel(arrays.get("fps", rate))
    if said.size != 1 or said.dtype.kind not in "fiu":
        raise FormatError(f"{path}: fps is {str(said)[:60]!r}; expected frames a second")
    fps = float(said[0])
    if not np.isclose(fps, rate):
        raise DataError(f"{path} has {fps:g} frames a second, the policy {rate:g}; resample it")
    return ReferenceMotion.from_arrays(arrays, anchor_body(anchor, bodies))


def _unpacked(path: Path) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as packed:
        if sum(entry.file_size for entry in packed.infolist()) > MAX_BYTES:
            raise FormatError(f"{path} unpacks to more than {MAX_BYTES} bytes")
    with np.load(path, allow_pickle=False) as file:
        return {name: np.asarray(file[name]) for name in file.files}


def anchor_body(anchor: str, bodies: Sequence[str]) -> int:
    """Row of the anchor among a motion's bodies; the first where nothing is said of them."""
    if not anchor or not bodies:
        return 0
    if anchor not in bodies:
        raise DataError(f"anchor {anchor!r} is not among the bodies {', '.join(bodies)}")
    return bodies.index(anchor)
