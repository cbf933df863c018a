"""Hello, gap: record a robot that differs from its model, and measure the difference.

Runs offline in a few seconds. The "robot" is a simulated SO-101 arm with weak gains and a delay.
"""

import gapless
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101")

# The robot as it really is: 70 % of the gains, commands 20 ms late.
weak = robot.with_joints(kp=0.7 * robot.joints.kp)
real = gapless.MujocoWorld(weak, effects=gapless.Effects(delay=0.02))
clips = [
    record(real, multisine(robot, 8.0, real.rate, seed=s), f"wave_{s}", start=real.home())
    for s in range(3)
]

# The simulator we believe in, measured on what the robot did.
gap = gapless.measure(clips, gapless.MujocoWorld(robot), attribution=True)
print(gap)
print("likely causes:", ", ".join(f"{c} {s:.0%}" for c, s in gap.attribution.overall.items()))
