"""Compare methods: one arm, one split of its motions, one table of errors that none trained on.

Runs offline in half a minute. Learning needs torch (pip install 'gapless[learn]').
"""

import gapless
from gapless.comparison.comparing import compare
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])

# The robot as it really is: weak gains, and friction that grows with the torque it transmits.
weak = robot.with_joints(kp=0.7 * robot.joints.kp)
real = gapless.MujocoWorld(weak, effects=gapless.Effects(load_friction=0.2))
clips = [
    record(real, multisine(robot, 6.0, real.rate, seed=s), f"wave_{s}", start=real.home())
    for s in range(6)
]

# The simulator as it is; its parameters identified; a paper's method, which learns a residual
# torque from encoders alone; ours, which identifies and then learns what is left. The settings only
# make it quick: leave them out for yours.
quick = {
    "identify": {"windows": 8},
    "ours": {
        "members": 1,
        "model": "actuator",
        "trainer_settings": {"horizons": (0.3,), "iterations": 100, "samples": 3000},
    },
}
split = gapless.Dataset.from_recordings(clips, robot="so101").split()
found = compare(
    split,
    robot,
    ["raw", "identify", "residual-torque", "ours"],
    seeds=1,
    horizons=(0.25, 1.0),
    physics_step=0.005,
    settings=quick,
)
print(found)
print("held out:", ", ".join(split.motions["test"]))
