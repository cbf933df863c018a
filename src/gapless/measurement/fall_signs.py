"""Whether a recorded robot fell: by the tilt that was logged, else by its feet alone."""

from __future__ import annotations

import numpy as np

from gapless.measurement.base_estimate import LIES, BaseEstimate, first_long
from gapless.measurement.base_tilt import up_felt
from gapless.measurement.carried_weight import usually_carried, without_weight
from gapless.recordings.findings import Finding
from gapless.recordings.preparation.orientation import QUATERNIONS, up_in_body
from gapless.recordings.recording import Recording

UNIT = 0.05
"""How far an orientation may be from length one."""


def fall_finding(recording: Recording, estimate: BaseEstimate | None) -> Finding | None:
    """A warning where a robot on a free base seems to have fallen.

    A tilt in the log shows a fall, and that there was none: who kicks balances with the centre of
    mass beside the foot. Joints alone show what the legs carry, which is nothing once it lies;
    where they do not show that either, no robot stays beside its feet for long.

    Args:
        recording: of the robot.
        estimate: of its base from its feet, where it was made.
    """
    lean = logged_lean(recording)
    if lean is not None:
        return _fallen(recording, lean, estimate)
    if estimate is None:
        return None
    if estimate.carried is not None and usually_carried(estimate.carried) is not None:
        bare = without_weight(estimate.carried, recording.rate)
        return _finding(recording, "its legs carry no weight", first_long(bare, recording.rate))
    stretch = estimate.unbalanced(recording.rate)
    return _finding(recording, "nothing holds its centre of mass", stretch)


def logged_lean(recording: Recording) -> np.ndarray | None:
    """(T,) of the base from upright, rad; NaN where the log does not say, None where it never does.

    An orientation says it, or the gravity that an accelerometer feels.
    """
    for quat in (recording.channels.get(name) for name in QUATERNIONS):
        # An IMU that says nothing is logged as zeros, or as no numbers.
        if quat is not None and (told := np.abs(np.linalg.norm(quat, axis=1) - 1) < UNIT).any():
            return np.where(told, _from_upright(up_in_body(quat)), np.nan)
    felt = up_felt(recording)
    return None if felt is None else _from_upright(felt)


def _from_upright(up: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(up[:, 2], -1.0, 1.0))


def _fallen(
    recording: Recording, lean: np.ndarray, estimate: BaseEstimate | None
) -> Finding | None:
    """By the tilt; one that sits is upright, but something else is lower than its feet."""
    known = np.isfinite(lean)
    lies = known & (np.nan_to_num(lean) > LIES)
    if stretch := first_long(lies, recording.rate):
        text = f"its base leans by up to {np.degrees(lean[lies].max()):.0f} deg from upright"
        return _finding(recording, text, stretch)
    if estimate is None or estimate.orientation not in ("imu", "accelerometer"):
        return None
    sits = known & np.isnan(estimate.base_pos[:, 2])
    return _finding(recording, "it is not on its feet", first_long(sits, recording.rate))


def _finding(
    recording: Recording, what: str, stretch: tuple[float, float] | None
) -> Finding | None:
    if stretch is None:
        return None
    text = f"{what} from {stretch[0]:.1f} to {stretch[1]:.1f} s: it may have fallen; "
    text += "import it with --trim to before that, or leave it out"
    return Finding("warning", "balance", text, None, 1, recording.name)
