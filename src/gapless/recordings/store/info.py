"""Checking what meta/info.json says: version, rate, and which columns there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gapless.recordings.store import lerobot

CONVERTER = "python -m lerobot.datasets.v30.convert_dataset_v21_to_v30 --repo-id=<user>/<name>"


def info_problems(info: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """What is wrong with the version, the rate and the place of the data files.

    Args:
        info: content of meta/info.json.
        facts: content of meta/gapless.json; empty where there is none.
    """
    problems, version, fps = [], info.get("codebase_version"), info.get("fps")
    if version != lerobot.VERSION:
        problems.append(
            f"codebase_version is {version!r}, expected {lerobot.VERSION!r}; "
            f"convert an older dataset with: {CONVERTER}"
        )
    if not isinstance(fps, (int, float)) or not fps > 0:
        problems.append(f"fps is {fps!r}, expected a positive number")
    rate = facts.get("rate", fps)
    if rate != fps:
        problems.append(f"fps is {fps!r}, but the recordings were stored at {rate!r} Hz")
    path = info.get("data_path", lerobot.DATA_PATH)
    if path != lerobot.DATA_PATH:
        problems.append(f"data_path is {path!r}, expected {lerobot.DATA_PATH!r}")
    return problems


def feature_problems(features: Mapping[str, Any], joints: tuple[str, ...]) -> list[str]:
    """What is wrong with the columns; `joints` are the names of the state's."""
    listed = ", ".join(features) or "none"
    problems = [
        f"feature {key!r} is missing; it has {listed}"
        for key in (lerobot.STATE, *lerobot.INDEX)
        if key not in features
    ]
    shapes = [features.get(key, {}).get("shape") for key in (lerobot.STATE, lerobot.ACTION)]
    if None not in shapes and shapes[0] != shapes[1]:
        problems.append(
            f"{lerobot.STATE} has shape {shapes[0]} and {lerobot.ACTION} {shapes[1]}; they must "
            "be the same joints"
        )
    width = widths(features).get(lerobot.STATE)
    if lerobot.STATE in features and not len(joints) == len(set(joints)) == width:
        problems.append(
            f"{lerobot.STATE} names {list(joints)}, expected {width} different joint names; "
            f"write them into {lerobot.INFO}"
        )
    return problems


def widths(features: Mapping[str, Any]) -> dict[str, int]:
    """Number of columns of every feature that is a vector of numbers."""
    return {key: feature["shape"][0] for key, feature in features.items() if _is_vector(feature)}


def element_names(feature: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of a feature's columns, which come as a list, or as a dict that holds one list."""
    names = feature.get("names")
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    if not isinstance(names, list):
        return ()
    return tuple(str(name).removesuffix(".pos") for name in names)


def _is_vector(feature: Mapping[str, Any]) -> bool:
    shape = feature.get("shape")
    numeric = feature.get("dtype") in ("float32", "float64", "int64", "bool")
    return numeric and isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], int)
