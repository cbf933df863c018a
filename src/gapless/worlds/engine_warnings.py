"""MuJoCo's warnings as log records instead of a MUJOCO_LOG.TXT in the user's folder."""

from __future__ import annotations

import logging

import mujoco

_log = logging.getLogger("gapless.mujoco")


def capture_warnings() -> None:
    """Send engine warnings to the logger "gapless.mujoco", unless the user handles them.

    Divergence itself is not taken from here: worlds mark it from the states.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_log.debug)
