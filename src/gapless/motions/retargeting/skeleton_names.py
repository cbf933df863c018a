"""Which joint of somebody's skeleton is which keypoint, by the names that programs use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gapless.errors import DataError
from gapless.motions.retargeting.person import OPTIONAL, REQUIRED

SMPL = (
    *("pelvis", "l_hip", "r_hip", "spine1", "l_knee", "r_knee", "spine2", "l_ankle", "r_ankle"),
    *("spine3", "l_foot", "r_foot", "neck", "l_collar", "r_collar", "head", "l_shoulder"),
    *("r_shoulder", "l_elbow", "r_elbow", "l_wrist", "r_wrist", "l_hand", "r_hand"),
)
"""Order of the 24 joints of SMPL; files with 22 end at the wrists."""
MIDDLE: dict[str, tuple[str, ...]] = {
    "pelvis": ("hips", "pelvis", "root", "hip"),
    "chest": ("chest4", "spine3", "chest3", "chest2", "upperchest", "spine2", "chest", "spine1"),
    "head": ("head", "neck1", "neck"),
}
LIMB: dict[str, tuple[str, ...]] = {
    "hip": ("upleg", "upperleg", "thigh", "hip", "hipjoint"),
    "knee": ("leg", "lowleg", "lowerleg", "knee", "shin", "calf"),
    "ankle": ("ankle", "foot"),
    "toe": ("toebase", "toe", "toes", "foot"),
    "shoulder": ("arm", "upperarm", "uparm", "shldr", "shoulder"),
    "elbow": ("forearm", "lowerarm", "lowarm", "elbow"),
    "hand": ("hand", "wrist"),
}
"""Names by which skeletons know a keypoint, the surest first: a LeftShoulder is a collar bone
where there is a LeftArm too, and a LeftFoot is a toe where there is a LeftAnkle."""


def find_keypoints(names: Sequence[str], where: str) -> dict[str, int]:
    """Keypoint -> index among a skeleton's joints.

    Args:
        names: of the skeleton's joints.
        where: the file, for messages.

    Raises:
        DataError: a keypoint that is needed is not recognised.
    """
    plain = [_plain(name) for name in names]
    wanted = {key: _spellings(key) for key in (*REQUIRED, *OPTIONAL)}
    found = {
        key: plain.index(next(s for s in spellings if s in plain))
        for key, spellings in wanted.items()
        if any(s in plain for s in spellings)
    }
    for side in ("left", "right"):  # one joint is not two keypoints
        if found.get(f"{side}_toe") == found.get(f"{side}_ankle"):
            found.pop(f"{side}_toe", None)
    missing = [key for key in REQUIRED if key not in found]
    if missing:
        raise DataError(_refusal(missing, names, where))
    return found


def _refusal(missing: Sequence[str], names: Sequence[str], where: str) -> str:
    told = (f"{key} ({', '.join(_told(key)[:4])}, ...)" for key in missing[:4])
    more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
    return (
        f"{where}: this skeleton has no joint that is known as {'; '.join(told)}{more}. It has "
        f"{', '.join(names[:40])}. Rename its joints, or say which is which: "
        f"--keypoints {missing[0]}=NAME ..."
    )


def _told(key: str) -> list[str]:
    """Spellings as people write them."""
    if key in MIDDLE:
        return [name.capitalize() for name in MIDDLE[key]]
    side, part = key.split("_")
    return [f"{side.capitalize()}{name.capitalize()}" for name in LIMB[part]]


def _spellings(key: str) -> list[str]:
    if key in MIDDLE:
        return list(MIDDLE[key])
    side, part = key.split("_")
    return [form for name in LIMB[part] for form in (f"{side}{name}", f"{side[0]}{name}")]


def _plain(name: str) -> str:
    """A name without its prefix, capitals and signs: mixamorig:LeftUpLeg is leftupleg."""
    return re.sub(r"[^a-z0-9]", "", name.rsplit(":", 1)[-1].lower())
