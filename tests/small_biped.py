"""A biped that is quick to simulate, and what it is asked to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gapless.robots import Robot

LEG = """<body name="thigh_{s}" pos="0 {y} -.05">
  <joint name="hip_{s}" axis="0 1 0" range="-1.5 1.5" armature=".01"/>
  <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.12" mass=".3"/>
  <body name="shank_{s}" pos="0 0 -.12">
    <joint name="knee_{s}" axis="0 1 0" range="-1.5 1.5" armature=".01"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.12" mass=".3"/>
    <body name="foot_{s}" pos="0 0 -.14">
      <joint name="ankle_{s}" axis="0 1 0" range="-1.5 1.5" armature=".01"/>
      <geom type="box" size=".08 .04 .01" pos=".02 0 -.01" mass=".1"/>
      <geom type="cylinder" size=".01 .005" pos=".09 .03 -.015"/>
      <geom type="cylinder" size=".01 .005" pos=".09 -.03 -.015"/>
      <geom type="cylinder" size=".01 .005" pos="-.05 .03 -.015"/>
      <geom type="cylinder" size=".01 .005" pos="-.05 -.03 -.015"/>
    </body></body></body>"""
MODEL = """<mujoco model="biped"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 .33"><freejoint name="loose"/>
<geom type="box" size=".05 .06 .05" mass="1.5"/>{legs}</body></worldbody>
<actuator>{drives}</actuator></mujoco>"""
JOINTS = tuple(f"{j}_{s}" for s in "lr" for j in ("hip", "knee", "ankle"))
DRIVE = '<position joint="{}" kp="20" kv=".6" forcerange="-8 8"/>'


def small_biped(folder: Path) -> Robot:
    """Six joints, cleats of cylinders; its file is written to a folder."""
    legs = "".join(LEG.format(s=s, y=y) for s, y in (("l", 0.06), ("r", -0.06)))
    file = folder / "biped.xml"
    file.write_text(MODEL.format(legs=legs, drives="".join(map(DRIVE.format, JOINTS))))
    return Robot.load(file, mount="free")


def squat(seed: int) -> np.ndarray:
    """(T, 6) knees that bend, the trunk upright, at several speeds and depths."""
    rng, time = np.random.default_rng(seed), np.arange(400) / 50
    depth, speed = rng.uniform(0.2, 0.5), rng.uniform(0.3, 0.9)
    bend = depth * (1 - np.cos(2 * np.pi * speed * time)) / 2
    lean = 0.03 * np.sin(2 * np.pi * rng.uniform(0.5, 1.5) * time)
    one = np.stack([-bend + lean, 2 * bend, -bend], axis=1)
    return np.concatenate([one, one], axis=1)


def scissor(seed: int) -> np.ndarray:
    """(T, 6) a squat in which one foot is pushed forward and the other back: soles may slip."""
    motion, time = squat(seed), np.arange(400) / 50
    apart = 0.15 * np.sin(2 * np.pi * np.random.default_rng(seed).uniform(0.5, 1.2) * time)
    motion[:, [0, 5]] += apart[:, None]
    motion[:, [2, 3]] -= apart[:, None]
    return motion
