"""Your robot: any MJCF, its gains made explicit, its joints renamed as your log spells them."""

import tempfile
from pathlib import Path

import gapless

XML = """
<mujoco model="two_links">
  <worldbody>
    <body name="base"><geom type="box" size=".05 .05 .05" mass="1"/>
      <body name="upper" pos="0 0 .1">
        <joint name="shoulder" axis="0 1 0" range="-90 90" armature=".01"/>
        <geom type="capsule" fromto="0 0 0 0 0 .3" size=".03" mass="1"/>
        <body name="lower" pos="0 0 .3">
          <joint name="elbow" axis="0 1 0" range="-120 120" armature=".01"/>
          <geom type="capsule" fromto="0 0 0 0 0 .3" size=".02" mass=".5"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position joint="shoulder" kp="80" dampratio="1" forcerange="-30 30"/>
    <position joint="elbow" kp="40" kv="2" forcerange="-20 20"/>
  </actuator>
</mujoco>
"""

path = Path(tempfile.mkdtemp()) / "two_links.xml"
path.write_text(XML)
robot = gapless.Robot.from_mjcf(path, aliases={"joint_0": "shoulder", "joint_1": "elbow"})
print("kp", robot.joints.kp, "kd", robot.joints.kd, "effort", robot.joints.effort)
print("a log's joint_1 is", robot.match(["joint_0", "joint_1"])[1].joint)

world = gapless.MujocoWorld(robot.with_payloads({"lower": gapless.Payload(1.0, (0.0, 0.0, 0.3))}))
world.reset(world.home(4))
for _ in range(50):
    state = world.step(world.home(4).q)
print("one second later, carrying 1 kg:", state.q[0].round(4))
