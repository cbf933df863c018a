"""Which point of a robot stands for which keypoint of a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapless.errors import DataError, FormatError, unknown
from gapless.motions.retargeting.person import ORDER, REQUIRED, SIDES
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics
from gapless.toml_file import load_toml

Offset = tuple[float, float, float]
Entry = tuple[str, Offset]
CENTRE: Offset = (0.0, 0.0, 0.0)

UNITREE: dict[str, Entry] = {
    "pelvis": ("pelvis", CENTRE),
    "chest": ("torso_link", CENTRE),
    "head": ("torso_link", (0.0, 0.0, 0.42)),
    **{
        f"{side}_{part}": (f"{side}_{link}", CENTRE)
        for side in SIDES
        for part, link in {
            "hip": "hip_pitch_link",
            "knee": "knee_link",
            "ankle": "ankle_roll_link",
            "shoulder": "shoulder_pitch_link",
            "elbow": "elbow_link",
            "hand": "wrist_yaw_link",
        }.items()
    },
}
"""Names of Unitree's humanoids: G1 and H1-2, and what is built like them."""
H1_2 = UNITREE | {"head": ("torso_link", (0.0, 0.0, 0.66))}
KBOT: dict[str, Entry] = {
    "pelvis": ("Torso_Side_Right", (0.0927, 0.0, -0.25)),
    "chest": ("Torso_Side_Right", CENTRE),
    "head": ("Torso_Side_Right", (0.0927, 0.0, 0.3)),
    "left_hip": ("RS03_5", CENTRE),
    "right_hip": ("RS03_4", CENTRE),
    "left_knee": ("KC_D_401L_L_Shin_Drive", CENTRE),
    "right_knee": ("KC_D_401R_R_Shin_Drive", CENTRE),
    "left_ankle": ("KB_D_501L_L_LEG_FOOT", CENTRE),
    "right_ankle": ("KB_D_501R_R_LEG_FOOT", CENTRE),
    "left_shoulder": ("RS03_6", CENTRE),
    "right_shoulder": ("RS03_3", CENTRE),
    "left_elbow": ("KC_C_401L_L_UpForearmDrive", CENTRE),
    "right_elbow": ("KC_C_401R_R_UpForearmDrive", CENTRE),
    "left_hand": ("KB_C_501X_Left_Bayonet_Adapter_Hard_Stop", CENTRE),
    "right_hand": ("KB_C_501X_Right_Bayonet_Adapter_Hard_Stop", CENTRE),
}
TABLES = {"g1": UNITREE, "g1_23dof": UNITREE, "h1_2": H1_2, "kbot": KBOT}
"""Robot -> keypoint -> link and offset in its frame, m."""


@dataclass(frozen=True)
class Correspondences:
    """A robot's points for a person's keypoints.

    Attributes:
        points: by keypoint.
        segments: keypoint -> the link that turns with the person's bone that begins there.
    """

    points: Mapping[str, TrackingPoint]
    segments: Mapping[str, str]

    @classmethod
    def of(cls, robot: Robot, file: str | Path | None = None) -> Correspondences:
        """Those of a built-in robot, or of a file.

        Args:
            robot: whose links.
            file: a .toml with keypoint = "link", or keypoint = ["link", [x, y, z]].

        Raises:
            DataError: a keypoint that is needed has no link.
            NameMismatchError: a link or keypoint does not exist.
        """
        entries = _read(Path(file)) if file is not None else _built_in(robot)
        for key, (link, _) in entries.items():
            if key not in ORDER:
                raise unknown("keypoint", key, ORDER)
            robot.check_link(link)
        missing = [key for key in REQUIRED if key not in entries]
        if missing:
            raise DataError(f"{file}: no link stands for {', '.join(missing)}; give one for each")
        points = {k: TrackingPoint(k, *entries[k]) for k in ORDER if k in entries}
        return cls(points | _tracked(robot, file), _segments(robot, entries))


def _built_in(robot: Robot) -> Mapping[str, Entry]:
    table = TABLES.get(robot.name, UNITREE)
    lacking = {key: link for key, (link, _) in table.items() if link not in robot.links}
    if lacking:
        told = ", ".join(f"{key} ({link})" for key, link in list(lacking.items())[:4])
        raise DataError(
            f"which links of {robot.name} stand for {told}{', ...' if len(lacking) > 4 else ''}? "
            'Write a .toml with a line a keypoint, left_knee = "LINK", for '
            f"{', '.join(REQUIRED)}, and give it: --correspondences FILE"
        )
    return table


def _tracked(robot: Robot, file: str | Path | None) -> dict[str, TrackingPoint]:
    """Tracking points that a robot itself calls head or hand."""
    return {} if file is not None else {p.name: p for p in robot.tracking if p.name in ORDER}


def _segments(robot: Robot, entries: Mapping[str, Entry]) -> dict[str, str]:
    """A bone begins at its keypoint: a thigh is the link that carries the knee's."""
    kinematics = Kinematics.of(robot)
    above = dict(zip(kinematics.links, kinematics.parents, strict=True))
    found = {key: entries[key][0] for key in ("pelvis", "chest") if key in entries}
    for side in SIDES:
        for part, begins in {"knee": "hip", "elbow": "shoulder"}.items():
            link = entries[f"{side}_{part}"][0]
            found[f"{side}_{begins}"] = kinematics.links[above[link]]
        for part in ("knee", "ankle", "elbow", "hand"):
            found[f"{side}_{part}"] = entries[f"{side}_{part}"][0]
    return found


def _read(path: Path) -> dict[str, Entry]:
    told = load_toml(path, "file of correspondences")
    return {str(key): _entry(path, key, value) for key, value in told.items()}


def _entry(path: Path, key: str, value: Any) -> Entry:
    link, offset = (value, CENTRE) if isinstance(value, str) else (*value, CENTRE)[:2]
    try:
        x, y, z = (float(v) for v in offset)
        return str(link), (x, y, z)
    except (TypeError, ValueError):
        raise FormatError(
            f'{path}: {key} is {value!r}; expected "link" or ["link", [x, y, z]]'
        ) from None
