"""Friction and gains from recordings, with intervals; then a simulator that has them.

Runs offline in a few seconds. The "robot" is the elbow and shoulder of a simulated SO-101 arm.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import gapless
from gapless.identification import IdentifySettings
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])

# The robot as it really is: three times the dry friction, 80 % of the gains.
dry, kp = 3.0 * robot.joints.frictionloss, 0.8 * robot.joints.kp
real = gapless.MujocoWorld(robot.with_joints(frictionloss=dry, kp=kp))
clips = [
    record(real, multisine(robot, 6.0, real.rate, seed=s), f"wave_{s}", start=real.home())
    for s in range(6)
]
noise = np.random.default_rng(0)
clips = [replace(c, q=c.q + noise.normal(0, 5e-4, c.q.shape)) for c in clips]  # encoders, rad

# Three motions teach, one decides whether that helps, and two are only reported.
split = gapless.Dataset.from_recordings(clips, robot="so101").split()
names = ["kp", "damping", "frictionloss"]
calibration = gapless.identify(split, robot, names, settings=IdentifySettings(windows=15))
print(calibration)
found = [calibration[f"frictionloss/{joint}"] for joint in robot.joints.names]
for estimate, true in zip(found, dry, strict=True):
    low, high = estimate.interval
    print(f"{estimate.name}: {low:.4f} to {high:.4f} {estimate.parameter.unit}, truth {true:.4f}")

# What is done with it: a file, a world, a plain MJCF, other robots that might as well be it.
folder = Path(tempfile.mkdtemp())
calibration.save(folder / "arm.json")
calibration = gapless.Calibration.load(folder / "arm.json")
world = calibration.world(robot)
(folder / "arm.xml").write_text(calibration.to_mjcf(robot))
drawn = calibration.sample(np.random.default_rng(0))
print("drawn for randomisation:", {k: round(v, 4) for k, v in drawn.values.items()})
print(gapless.measure(split.test, world, horizons=[1.0]))
