"""Learn what a simulated arm does that its model does not, as a correction of its targets.

Runs offline in half a minute. Learning needs torch (pip install 'gapless[learn]'), running not.
"""

import tempfile
from pathlib import Path

import gapless
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])

# The robot as it really is: weak gains, and friction that grows with the torque it transmits.
weak = robot.with_joints(kp=0.7 * robot.joints.kp)
real = gapless.MujocoWorld(weak, effects=gapless.Effects(load_friction=0.2))
clips = [
    record(real, multisine(robot, 8.0, real.rate, seed=s), f"wave_{s}", start=real.home())
    for s in range(6)
]

# One network a joint, trained by gradients through linearised replays; other motions judge.
quick = {"horizons": (0.3,), "iterations": 150, "samples": 4000}
correction = gapless.correct(
    clips, robot, model="actuator", trainer="gradient", members=2, trainer_settings=quick
)
held = correction.held_out
print(f"motions {', '.join(held.motions)}, never trained on:")
print(f"{held.before:.4f} rad without the correction, {held.after:.4f} rad with it")

# It is a folder of numbers; with it, a world is another world.
folder = Path(tempfile.mkdtemp())
correction.save(folder / "arm")
aligned = gapless.CorrectedWorld(
    gapless.MujocoWorld(robot), None, [gapless.Correction.load(folder / "arm")]
)
print(gapless.measure(clips[-1:], aligned, horizons=(1.0,)).mean("mpjae", 1.0))
print("mean output, rad:", aligned.usage[0].to_dict()["mean_output"])
assert held.after < 0.5 * held.before
