"""Which joints share a network of the `actuator`: where it is asked, those with the same motor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapless.corrections.training.enough_data import SECONDS_A_JOINT
from gapless.errors import DataError, unknown
from gapless.parameters.motors import motor_numbers
from gapless.robots import Robot

MOTORS, FEW = "motors", "few"
"""Joints with the same motor share a network: always, or where data are fewer than
SECONDS_A_JOINT for each corrected joint."""


def with_numbers(
    settings: dict[str, Any], robot: Robot, joints: int, seconds: float
) -> dict[str, Any]:
    """Settings of a model with a number for each joint in the place of a word.

    Args:
        settings: of the model; those without `share` stay as they are.
        robot: nominal: a calibration gives every motor parameters of its own.
        joints: how many are corrected.
        seconds: of recordings to learn from.
    """
    share = settings.get("share")
    if isinstance(share, str):
        if share not in (MOTORS, FEW):
            raise unknown("share", share, (MOTORS, FEW))
        many = share == FEW and seconds >= SECONDS_A_JOINT * joints
        others = {k: v for k, v in settings.items() if k != "share"}
        return others if many else others | {"share": motor_numbers(robot)}
    if share is not None:
        _refuse_other_numbers(share, len(robot.joints.names))
    return settings


def numbers_of(settings: dict[str, Any], robot: Robot, joints: Sequence[str]) -> list[int]:
    """The number of the network of each joint."""
    share = settings.get("share") or range(len(robot.joints.names))
    return [share[robot.joints.index(j)] for j in joints]


def _refuse_other_numbers(share: Any, joints: int) -> None:
    listed = isinstance(share, list | tuple) and len(share) == joints
    if not listed or {*share} != {*range(len({*share}))}:
        raise DataError(
            f"share={share} does not say which network each joint has: expected {joints} "
            f"numbers, counted from 0, or {MOTORS!r}"
        )
