"""The 95 % intervals hold the truth about as often as they say."""

from __future__ import annotations

import numpy as np

from gapless.identification import IdentifySettings, identify
from gapless.recordings import Split
from gapless.robots import Robot
from hidden_pair import STEP, recorded

NAMES = ("kp", "damping", "frictionloss", "armature")


def test_intervals_cover_the_truth() -> None:
    """Eight hidden robots, eight figures each, noisy encoders, velocities not logged."""
    pair = Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])
    inside, errors = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        factors = {k: rng.uniform(0.7, 1.5, 2) * (3 if k == "frictionloss" else 1) for k in NAMES}
        hidden = pair.with_joints(**{k: f * getattr(pair.joints, k) for k, f in factors.items()})
        clips = recorded(hidden, ["a", "b", "c"], noise=1e-3, seconds=5.0)
        settings = IdentifySettings(physics_step=STEP, windows=20, starts="free")
        found = identify(Split.of(clips), pair, NAMES, settings=settings)
        for estimate in (e for e in found.estimates if e.identifiable):
            (joint,) = estimate.parameter.places
            true = getattr(hidden.joints, estimate.parameter.kind)[hidden.joints.index(joint)]
            low, high = estimate.interval
            inside.append(low <= true <= high)
            errors.append((estimate.value - true) / estimate.std)
    assert len(inside) > 50
    assert np.mean(inside) > 0.88
    assert 0.6 < np.sqrt(np.mean(np.square(errors))) < 1.5
