"""Close the gap in one call, then use the corrected simulator in a loop of your own.

Runs offline in half a minute. Closing needs torch (pip install 'gapless[learn]'), using it not.
"""

import tempfile
from pathlib import Path

import mujoco
import numpy as np

import gapless
from gapless.closing import CloseSettings
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])
folder = Path(tempfile.mkdtemp())

# The robot as it really is: weak gains, and friction that grows with the torque it transmits.
weak = robot.with_joints(kp=0.7 * robot.joints.kp)
real = gapless.MujocoWorld(weak, effects=gapless.Effects(load_friction=0.2))
clips = [
    record(real, multisine(robot, 6.0, real.rate, seed=s), f"wave_{s}", start=real.home())
    for s in range(6)
]

# The whole loop, on a split of its own. The settings only make it quick: leave them out for yours.
quick = {"horizons": (0.3,), "iterations": 100, "samples": 3000}
settings = CloseSettings(windows=15, members=1, trainer_settings=quick)
gapless.close(clips, robot, folder / "run", settings=settings)

# Another day, another program: a run is a folder. Its world is reset and stepped like any other.
run = gapless.Run.open(folder / "run")
print(run)
world = run.world()
state = world.home(environments=4)
world.reset(state)
goal = state.q + np.linspace(0.1, 0.4, 4)[:, None]  # rad, another goal for each environment
integral = np.zeros_like(goal)
for _ in range(150):
    integral += 0.02 * (goal - state.q)  # your controller: position targets from what it reads
    state = world.step(goal + 2.0 * integral)
print("left of the way, rad:", np.abs(goal - state.q).max(axis=1).round(4))

# The identified parameters alone are a plain model, for any tool that loads MJCF.
model = mujoco.MjModel.from_xml_path(str(folder / "run" / "robot.xml"))
data = mujoco.MjData(model)
data.ctrl[:] = goal[0]
while data.time < 1.0:
    mujoco.mj_step(model, data)
print("plain MuJoCo after a second, rad:", data.qpos.round(4))
print("gains in robot.xml, N·m/rad:", model.actuator_gainprm[:, 0].round(1))
