"""A finished run of a small arm whose names would be programs, were they not escaped."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path

from gapless.closing import CloseSettings, Run, close
from gapless.robots import Robot
from hidden_pair import STEP, recorded

HOSTILE = "</script><img src=x onerror=alert(1)>"
SEED = 13
QUICK = CloseSettings(
    parameters=("kp",),
    windows=8,
    members=1,
    physics_step=STEP,
    trainer_settings={"horizons": (0.3,), "iterations": 5, "samples": 200},
)
ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody><body name="upper">
<joint name="{0}" axis="0 1 0" range="-1.5 1.5" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.3"/>
<body name="lower" pos="0 0 0.2"><joint name="elbow" axis="0 1 0" range="-1.5 1.5" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.2"/></body></body></worldbody>
<actuator><position joint="{0}" kp="20" kv="1" forcerange="-10 10"/>
<position joint="elbow" kp="20" kv="1" forcerange="-10 10"/></actuator></mujoco>"""


def closed_arm(folder: Path) -> Run:
    """Close the gap of an arm with weak motors; the motion with the hostile name tests."""
    file = folder / "arm.xml"
    file.write_text(ARM.format(escape(HOSTILE)))
    arm = Robot.load(str(file))
    soft = arm.with_joints(kp=0.65 * arm.joints.kp)
    waves = recorded(soft, [HOSTILE, "b", "c", "d", "e"], noise=0.0, unit=HOSTILE)
    found = close(waves, arm, folder / "run", settings=replace(QUICK, seed=SEED))
    assert HOSTILE in found.facts["split"]["test"]
    return found
