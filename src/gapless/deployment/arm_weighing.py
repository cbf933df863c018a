"""weighed_arm: what an arm's drives really make of what they are told, from loads that are known.

A scale is set with a known weight. Recordings of the arm without a load and with one that somebody
weighed say, joint by joint, how much of the torque that a motor is told to make reaches the load;
nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from gapless.deployment.arm_model import ArmModel
from gapless.errors import DataError
from gapless.recordings.recording import Recording

LEAST_KG, SETTLES = 0.2, 0.5
"""kg by which loads must differ; s at the start of a recording that are left out."""
LEAST_SHARE = 0.01
"""Of the largest torque in the arm: nearer than that no joint is known, however still it is."""
SLIDES = 0.1
"""rad/s at which dry friction shows most of itself."""
LIKELY, ALIKE = 0.2, 0.5
"""Std of strengths around 1 before anything is known; s within which samples say the same."""


def weighed_arm(arm: ArmModel, recordings: Iterable[Recording]) -> ArmModel:
    """The same arm with the strength of each joint.

    Args:
        arm: figures of the arm.
        recordings: of slow motions of it, some with a known load in the hand (`conditions`).

    Raises:
        DataError: no two of them differ in what the hand carries.
    """
    parts = [part for recording in recordings for part in _samples(arm, recording)]
    loads = [kg for kg, *_ in parts]
    if not loads or max(loads) - min(loads) < LEAST_KG:
        raise DataError(
            f"what {arm.hand} carries hardly differs between these recordings; expected some "
            f"that state 0 kg and some that state {LEAST_KG} kg or more, with their gains: "
            f"record them with --payload {arm.hand}=0 and --payload {arm.hand}=KG"
        )
    features = np.concatenate([part[1] for part in parts])
    told = np.concatenate([part[2] for part in parts])
    least, alike = LEAST_SHARE * np.abs(features[:, :, 0]).max(), ALIKE * parts[0][3]
    found = [_fit(features[:, k], told[:, k], least, alike) for k in range(len(arm.joints))]
    return arm.with_strength(np.array(found))


def _samples(
    arm: ArmModel, recording: Recording
) -> Iterator[tuple[float, np.ndarray, np.ndarray, float]]:
    """Load, (T, A, 6) what torques come from, (T, A) what was told; nothing where it is unknown."""
    names, told = recording.joints, recording.conditions
    if recording.target is None or told.payloads is None or set(arm.joints) - set(told.gains or {}):
        return
    columns = [names.index(joint) for joint in arm.joints]
    kp, kd = np.array([(told.gains or {})[joint] for joint in arm.joints]).T
    q, dq = recording.q, recording.channels.get("dq")
    dq = np.gradient(q, 1 / recording.rate, axis=0) if dq is None else dq
    q, dq, target = q[:, columns], dq[:, columns], recording.target[:, columns]
    more = recording.channels.get("torque_ff", np.zeros_like(recording.q))[:, columns]
    asked = kp * (target[:-1] - q[1:]) - kd * dq[1:] + more[:-1]
    kg = sum(load.mass for link, load in told.payloads.items() if link == arm.hand)
    features = np.array([_features(arm, recording, kg, t, dq) for t in range(1, len(q))])
    usable = np.asarray(recording.mask[1:][:, columns].all(axis=1))
    usable[: round(SETTLES * recording.rate)] = False
    if usable.any():
        yield kg, features[usable], asked[usable], recording.rate


def _features(arm: ArmModel, recording: Recording, kg: float, t: int, dq: np.ndarray) -> np.ndarray:
    """(A, 6) of a sample: gravity with the known load, friction, damping, inertia, 1, a load."""
    angles = dict(zip(recording.joints, recording.q[t].tolist(), strict=True))
    upright = recording.channels.get("base_quat_wxyz", recording.channels.get("imu_quat_wxyz"))
    held, load = arm.torques(angles, None if upright is None else upright[t])
    gained = (dq[t] - dq[t - 1]) * recording.rate
    return np.column_stack(
        [held + kg * load, np.tanh(dq[t] / SLIDES), dq[t], gained, np.ones(len(held)), load]
    )


def _fit(features: np.ndarray, told: np.ndarray, least: float, alike: float) -> float:
    """Strength of a joint; one that hardly shows its load is believed to be as told."""
    found = np.linalg.lstsq(features, told, rcond=None)[0]
    spread = max(float(np.std(told - features @ found)), least) * np.sqrt(alike)
    prior = np.zeros(features.shape[1])
    prior[0] = spread / LIKELY
    found = np.linalg.lstsq(np.vstack([features, prior]), np.append(told, prior[0]), rcond=None)[0]
    return float(np.clip(1 / max(found[0], 0.1), 0.5, 2.0))
