"""Learn what a simulated arm does that its model does not, as a correction of its targets.

Runs offline in half a minute. Learning needs torch (pip install 'gapless[learn]'), running not.
"""

import tempfile
from pathlib import Path

import gapless
from gapless.corrections.correcting import CorrectSettings
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

# One network per joint, trained by gradients through linearised replays. Some motions teach, others
# decide what is kept, and those to test on are only reported.
split = gapless.Dataset.from_recordings(clips, robot="so101").split()
quick = {"horizons": (0.3,), "iterations": 150, "samples": 4000}
how = CorrectSettings(model="actuator", trainer="gradient", members=2, trainer_settings=quick)
correction = gapless.correct(split, robot, settings=how)
tested = correction.test
print(f"motions {', '.join(tested.motions)}, which neither taught nor decided:")
print(f"{tested.before:.4f} rad without the correction, {tested.after:.4f} rad with it")

# It is a folder of numbers; with it, a world is another world.
folder = Path(tempfile.mkdtemp())
correction.save(folder / "arm")
aligned = gapless.CorrectedWorld(
    gapless.MujocoWorld(robot), None, [gapless.Correction.load(folder / "arm")]
)
print(gapless.measure(split.test, aligned, horizons=(1.0,)).mean("replay_error", 1.0))
print("mean output, rad:", aligned.usage[0].to_dict()["mean_output"])
assert tested.after < 0.5 * tested.before
