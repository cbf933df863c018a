"""People from files: BVH, and SMPL-style joint positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from gapless.errors import DataError, FormatError
from gapless.motions.retargeting.bvh import read_bvh
from gapless.motions.retargeting.person import ORDER, Person
from gapless.motions.retargeting.person_checks import checked_person
from gapless.motions.retargeting.skeleton_names import SMPL, find_keypoints
from gapless.recordings.importers.named_arrays import positive
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.safe_pickle import read_pickle

KINDS = {
    ".bvh": "BVH",
    ".pkl": "pickle with smpl_joints (T, 24, 3) and fps, as ASAP's",
    ".npz": "arrays: smpl_joints, joints or positions (T, J, 3), fps or rate, joint_names",
}
POSITIONS = ("smpl_joints", "joints", "positions")
RATES = ("fps", "rate", "mocap_framerate", "mocap_frame_rate")


def read_person(
    path: str | Path,
    *,
    rate: float | None = None,
    scale: float | None = None,
    keypoints: Mapping[str, str] | None = None,
    start: float | None = None,
    stop: float | None = None,
) -> Person:
    """Read a person's motion, in metres, z up, without gaps.

    Args:
        path: see KINDS for the files that are known.
        rate: frames per second of a file that does not say it.
        scale: metres that a unit of the file stands for; found by the person's height by default.
        keypoints: keypoint -> joint of the file, where its names are not known.
        start: leave out what is before, s.
        stop: leave out what is after, s.

    Raises:
        FormatError: the file is damaged or of another kind.
        DataError: skeleton, units or frames cannot be used.
    """
    source = Path(path)
    if not source.is_file():
        raise FormatError(f"{source} does not exist; give a .bvh, or a .pkl or .npz of joints")
    kind = source.suffix.lower()
    if kind not in KINDS:
        known = "; ".join(f"{suffix}: {what}" for suffix, what in KINDS.items())
        raise FormatError(f"{source} is no person's motion. Known are {known}")
    if kind == ".bvh":
        person = _from_bvh(source, keypoints or {})
    else:
        person = _from_joints(source, rate, keypoints or {})
    return checked_person(person, scale, start, stop)


def _chosen(names: Sequence[str], told: Mapping[str, str], where: str) -> dict[str, int]:
    """Keypoint -> index, in the order of ORDER, told ones first."""
    for key, name in told.items():
        if key not in ORDER:
            raise DataError(f"{key!r} is no keypoint; known are {', '.join(ORDER)}")
        if name not in names:
            raise DataError(f"{where} has no joint {name!r}; it has {', '.join(names)}")
    named = [next((k for k, v in told.items() if v == name), name) for name in names]
    found = find_keypoints([n.replace("_", "") if n in told else n for n in named], where)
    found |= {key: list(names).index(name) for key, name in told.items()}
    return {key: found[key] for key in ORDER if key in found}


def _from_bvh(path: Path, told: Mapping[str, str]) -> Person:
    bvh = read_bvh(path)
    chosen = _chosen(bvh.names, told, str(path))
    columns = list(chosen.values())
    places, turns = bvh.poses()
    quats = Rotation.from_matrix(turns[:, columns].reshape(-1, 3, 3)).as_quat(scalar_first=True)
    return Person(
        path.stem,
        bvh.rate,
        tuple(chosen),
        places[:, columns],
        quats.reshape(len(places), -1, 4),
        bvh.rest()[columns],
        bvh.notes,
        str(path),
    )


def _from_joints(path: Path, rate: float | None, told: Mapping[str, str]) -> Person:
    name, arrays = _arrays(path)
    key = next((k for k in POSITIONS if k in arrays), None)
    if key is None:
        raise FormatError(
            f"{path} has {', '.join(map(str, arrays))}; expected {' or '.join(POSITIONS)} "
            "(T, J, 3). A robot's motion needs no retargeting: gapless motion FILE"
        )
    try:
        places = np.asarray(arrays[key], float)
    except (TypeError, ValueError, OverflowError):
        places = np.zeros((0, 0, 0))
    if places.ndim != 3 or places.shape[2] != 3:
        raise FormatError(f"{path}: {key} has shape {places.shape}, expected (T, J, 3)")
    said = next((arrays[k] for k in RATES if k in arrays), rate)
    if said is None:
        raise FormatError(f"{path} does not say its frames a second; give --rate")
    chosen = _chosen(_joint_names(arrays, places, path), told, str(path))
    frames = positive(said, f"{path}: frames a second")
    columns = list(chosen.values())
    return Person(name, frames, tuple(chosen), places[:, columns], source=str(path))


def _joint_names(arrays: Mapping[str, Any], places: np.ndarray, path: Path) -> list[str]:
    """Names of the joints: those of the file, or SMPL's order."""
    count = places.shape[1]
    if "joint_names" in arrays:
        names = [str(n) for n in np.atleast_1d(arrays["joint_names"])]
        if len(names) != count:
            raise FormatError(f"{path} has {count} joints and {len(names)} joint_names")
        return names
    if count not in (22, 24):
        raise DataError(
            f"{path} has {count} joints without names; SMPL's order has 22 or 24. Add an array "
            "joint_names to the file"
        )
    return list(SMPL[:count])


def _arrays(path: Path) -> tuple[str, dict[str, Any]]:
    """Name of the motion and its arrays."""
    if path.suffix.lower() == ".npz":
        return path.stem, dict(load_npz(path))
    read = read_pickle(path)
    if not isinstance(read, dict) or not read:
        raise FormatError(f"{path} is no motion: a dict of arrays was expected")
    if any(key in read for key in POSITIONS):
        return path.stem, read
    motions = {str(k): v for k, v in read.items() if isinstance(v, dict)}
    if len(motions) != 1:
        raise FormatError(f"{path} has {len(motions)} motions; one a file was expected")
    name, arrays = next(iter(motions.items()))
    return name, arrays
