"""Do the numbers make sense in the units they are said to have?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.recordings.findings import Finding

if TYPE_CHECKING:
    from gapless.robots.joints import Joints

DEGREES = 180 / np.pi
MOVING = 0.02
"""rad/s (rms) above which a joint's velocity can be compared."""


def angle_problem(q: np.ndarray, joints: Joints) -> str | None:
    """Say so if positions are degrees: far beyond the limits as radians, inside as degrees.

    Args:
        q: (T, J) positions taken as radians; NaN where not logged.
        joints: the robot's joints.
    """
    reach = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    reach = np.where(np.isfinite(reach), np.maximum(reach, 0.5), 2 * np.pi)
    if not (np.abs(q) > np.maximum(3 * reach, np.pi)).any():
        return None
    largest = np.array([_high(column) for column in np.abs(q).T])
    beyond = largest > np.maximum(3 * reach, np.pi)
    if not beyond.any() or (largest / DEGREES > 1.5 * reach).any():
        return None
    worst = int(np.argmax(largest / reach))
    return (
        f"positions look like degrees: {joints.names[worst]} reaches {largest[worst]:.1f}, its "
        f"limit is {reach[worst]:.2f} rad ({int(beyond.sum())} joints are that far out); "
        "give --angle-unit deg"
    )


def tiny_angles(q: np.ndarray, mask: np.ndarray) -> list[Finding]:
    """Warn if declared degrees leave hardly any motion: the log may be in radians already."""
    used = mask.any(axis=0)
    if not used.any() or np.ptp(q[:, used], axis=0).max() > 0.1:
        return []
    text = "read as degrees, no joint moves by more than 0.1 rad; are the angles radians already?"
    return [Finding("warning", "angles_tiny", text)]


def speed_problem(dq: np.ndarray, mask: np.ndarray, joints: Joints) -> str | None:
    """Say so if joints move far beyond their speed limits: the clock's unit is wrong.

    Args:
        dq: (T, J) differentiated positions, rad/s.
        mask: (T, J) usable samples.
        joints: the robot's joints.
    """
    speed = np.abs(dq)
    if not ((speed > 5 * joints.velocity) & mask).any():
        return None
    high = np.array([_high(np.where(m, s, np.nan)) for s, m in zip(speed.T, mask.T, strict=True)])
    moving = high > MOVING
    ratio = np.where(moving, high / joints.velocity, 0.0)
    if not moving.any() or np.median(ratio[moving]) < 5:
        return None
    worst = int(np.argmax(ratio))
    return (
        f"joints move {np.median(ratio[moving]):.0f} times faster than their limits "
        f"({joints.names[worst]}: {high[worst]:.3g} rad/s, limit {joints.velocity[worst]:.3g}): "
        "the time unit or the angle unit is wrong; give --time-unit or --angle-unit"
    )


def velocity(
    derived: np.ndarray, mask: np.ndarray, logged: np.ndarray | None
) -> tuple[np.ndarray, str, list[Finding]]:
    """Joint velocities: as logged where they agree with the positions, else differentiated.

    Args:
        derived: (T, J) differentiated positions, rad/s.
        mask: (T, J) usable samples.
        logged: (T, J) as the log has them, or None.

    Returns:
        (T, J) rad/s without NaN, "logged" or "differentiated", and what there is to say.
    """
    if logged is None:
        return derived, "differentiated", []
    lacking = ~(mask & np.isfinite(logged))
    scale, agreement = _agreement(_zero(derived, lacking), _zero(logged, lacking))
    if agreement > 0.5 and 0.5 < scale < 2.0:
        logged = logged.copy()
        logged[lacking] = np.where(mask[lacking], derived[lacking], 0.0)
        return logged, "logged", []
    unit = " (deg/s?)" if 30 < 1 / max(abs(scale), 1e-9) < 120 else ""
    text = (
        f"logged velocities do not match the positions{unit}: scale {scale:.3g}, correlation "
        f"{agreement:.2f}; positions were differentiated instead"
    )
    return derived, "differentiated", [Finding("warning", "velocity_mismatch", text)]


def _zero(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    out = values.copy()
    out[where] = 0.0
    return out


def _agreement(derived: np.ndarray, logged: np.ndarray) -> tuple[float, float]:
    """Scale (derived over logged) and correlation, medians over joints that move."""
    a, b = _smooth(derived), _smooth(logged)
    aa, bb, ab = (np.einsum("tj,tj->j", u, v) for u, v in ((a, a), (b, b), (a, b)))
    moving = aa > MOVING**2 * len(a)
    if not moving.any():
        return 1.0, 1.0
    agreement = ab[moving] / np.sqrt(np.maximum(aa * bb, 1e-30))[moving]
    ratio = np.sqrt(aa[moving] / np.maximum(bb[moving], 1e-30)) * np.sign(ab[moving])
    return float(np.median(ratio)), float(np.median(agreement))


def _smooth(values: np.ndarray, width: int = 5) -> np.ndarray:
    """Moving average: quantised positions make noisy differences."""
    total = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=total[1:])
    return (total[width:] - total[:-width]) / width


def _high(values: np.ndarray) -> float:
    """The 98th percentile of what is finite; 0 where nothing is."""
    finite = values[np.isfinite(values)]
    return float(np.quantile(finite, 0.98)) if len(finite) else 0.0
