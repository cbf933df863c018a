"""The causes that are tried: what each does to a robot."""

from __future__ import annotations

import numpy as np

from gapless.measurement.causes import ACTUATOR_CAUSES
from gapless.robots import Robot
from gapless.worlds import MujocoWorld


def test_a_gain_error_never_makes_a_gain_negative(arms: Robot) -> None:
    """A probe beyond the largest loss leaves a little of the gain."""
    gain = next(cause for cause in ACTUATOR_CAUSES if cause.name == "gain error")
    weak = gain.apply(MujocoWorld(arms), np.full(len(arms.joints), gain.highest + 0.15))
    assert (weak.robot.joints.kp > 0).all()
    assert (weak.robot.joints.kp < 0.1 * arms.joints.kp).all()
