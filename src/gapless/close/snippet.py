"""The program in a run's folder that loads its corrected simulator."""

SNIPPET = '''"""The simulator that behaves like the robot: reset it, step it, look at it."""

from pathlib import Path

import gapless

run = gapless.Run.open(Path(__file__).parent)
world = run.world()  # nominal robot + calibration + correction
joints = world.robot.joints.names  # the order of every column
state = world.home(copies=4)
world.reset(state)
for _ in range(round(world.rate)):  # one second
    state = world.step(state.q)  # your targets here: rad, (copies, joints)
print(f"{world.rate:g} steps a second;", dict(zip(joints, state.q[0].round(3).tolist())))
'''
