"""What does the gripper carry? Two stages: the robot from unloaded motions, then only its load.

Runs offline in a few seconds. The model is wrong in its gains and friction: one stage, which
trusts it, takes that for a part of the load.
"""

from dataclasses import replace

import numpy as np

import gapless
from gapless.identification import IdentifySettings
from gapless.identification.plans.two_stage import loads
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

LOAD = 0.25  # kg, which no method is told

robot = gapless.Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])

# The robot as it really is: weaker, with more friction, first empty and then loaded.
real = robot.with_joints(kp=0.85 * robot.joints.kp, frictionloss=3 * robot.joints.frictionloss)
full = real.with_payloads({"gripper": gapless.Payload(LOAD)})
clips = []
for name, arm in (("empty", real), ("loaded", full)):
    world = gapless.MujocoWorld(arm)
    unsaid = gapless.Conditions(payloads=None)  # the log does not say what was carried
    for seed in range(3):
        targets = multisine(robot, 6.0, world.rate, seed=seed)
        clip = record(world, targets, f"{name}_{seed}", start=world.home(), conditions=unsaid)
        noise = np.random.default_rng(seed).normal(0, 5e-4, clip.q.shape)  # encoders, rad
        clips.append(replace(clip, q=clip.q + noise))

asked = {
    "payload": ["mass/gripper"],
    "loaded": ["loaded_*"],
    "settings": IdentifySettings(windows=15),
}
drives = ["kp", "damping", "frictionloss"]
two = gapless.identify(clips, robot, drives, plan="two-stage", **asked)
one = gapless.identify(clips, robot, plan="one-stage", keep_anyway=True, **asked)

for plan, found in (("two stages", two.loaded), ("one stage", one)):
    load = loads(found)[0]
    print(f"{plan}: {load.mass:.4f} ± {1.96 * load.std:.4f} kg, truth {LOAD} kg")
print(two)
