"""A servo humanoid's logs from end to end: own model, odd names, a gain in each file's name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.cli.main import main
from gapless.identification import IdentifySettings, identify
from gapless.motions.excitation import multisine
from gapless.recordings import Dataset, robot_of
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

LEG = """<body name="oberschenkel_{s}" pos="0 {y} -.02">
  <joint name="Gelenk.{s}1" axis="0 1 0" range="-1.5 1.5" armature=".01"/>
  <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.1" mass=".2"/>
  <geom type="mesh" mesh="huelle" class="schau"/>
  <body name="schuh-{s}" pos="0 0 -.1">
    <joint name="Gelenk.{s}2" axis="0 1 0" range="-1.5 1.5" armature=".01"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.08" mass=".1"/>
    <geom type="cylinder" size=".03 .01" pos="0 0 -.09" mass=".05"/></body></body>"""
MODEL = """<mujoco model="Zwerg No. 2"><compiler angle="radian" meshdir="netze"/>
<default><default class="schau"><geom contype="0" conaffinity="0" mass="0"/></default></default>
<asset><mesh name="huelle" file="huelle_v3.stl"/></asset>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="Rumpf (alt)" pos="0 0 .3"><freejoint name="frei"/>
<geom type="box" size=".05 .06 .05" mass="1"/>{legs}</body></worldbody>
<actuator>{drives}</actuator></mujoco>"""
JOINTS = tuple(f"Gelenk.{s}{k}" for s in "LR" for k in (1, 2))
DRIVE = '<position joint="{}" kp="8" kv=".4" forcerange="-4 4"/>'
MAPPING = """rate = 50
joints = ["Gelenk.L1", "Gelenk.L2", "Gelenk.R1", "Gelenk.R2"]
q = "ist"
target = "soll"
pairing = "acts_after"
start = 0.5
[gains]
kp = { name = "P{value}", scale = 0.02 }
"""
REGISTERS = {"hocke_P300": 300, "tritt_P400": 400, "winken_P600": 600}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, the mapping, and logs of positions and commands; servos give 0.7 of their kp."""
    path = tmp_path_factory.mktemp("zwerg")
    legs = "".join(LEG.format(s=s, y=y) for s, y in (("L", 0.05), ("R", -0.05)))
    model = MODEL.format(legs=legs, drives="".join(map(DRIVE.format, JOINTS)))
    (path / "zwerg 2.xml").write_text(model)
    (path / "mapping.toml").write_text(MAPPING)
    (path / "logs").mkdir()
    robot = Robot.load(path / "zwerg 2.xml", mount="fixed")
    for seed, (name, register) in enumerate(REGISTERS.items()):
        own = robot.with_joints(kp=np.full(4, 0.7 * 0.02 * register))
        world = MujocoWorld(own, 50.0, physics_step=0.005)
        targets = multisine(robot, 5.0, 50.0, seed=seed)
        clip = record(world, targets, name, start=world.home())
        np.savez(path / "logs" / f"{name}.npz", ist=clip.q, soll=clip.target)
    return path


@pytest.fixture(scope="module")
def data(folder: Path) -> Path:
    """Imported from the command line."""
    told = ["--mapping", str(folder / "mapping.toml"), "--robot", str(folder / "zwerg 2.xml")]
    out = folder / "data"
    assert main(["import", "generic", str(folder / "logs"), *told, "--out", str(out)]) == 0
    return out


def test_every_log_has_its_gain(data: Path) -> None:
    """Scaled from its file's name; kd is the model's, half a second is gone, notes say so."""
    dataset = Dataset.open(data)
    for recording in dataset:
        gain = 0.02 * REGISTERS[recording.name]
        assert recording.conditions.gains == {j: pytest.approx((gain, 0.4)) for j in JOINTS}
        assert recording.duration == pytest.approx(4.5, abs=0.05)
        assert any("trimmed to 0.5 s" in note for note in recording.provenance["notes"])


def test_the_dataset_remembers_its_robot(data: Path, folder: Path) -> None:
    """By its path; the missing mesh is named and the cylinders still touch the floor."""
    robot = robot_of(Dataset.open(data))
    assert robot.source == str(folder / "zwerg 2.xml") and robot.root == "Rumpf (alt)"
    assert robot.joints.names == JOINTS and robot.mount == "free"
    (note,) = [n for n in robot.notes if "do not exist" in n]
    assert "huelle_v3.stl" in note
    # Hip 0.02 below the root, then thigh 0.1, and the cleat's lower face at 0.1.
    assert robot.standing_height == pytest.approx(0.22, abs=1e-3)
    assert main(["check", str(data)]) == 0


def test_the_gains_reach_replay_and_identification(data: Path) -> None:
    """What the servos give of the gains that the logs state is found, over all gains at once."""
    dataset = Dataset.open(data)
    robot = robot_of(dataset, mount="fixed")
    how = IdentifySettings(horizon=0.5, windows=12, physics_step=0.005)
    found = identify(dataset, robot, ["kp"], settings=how)
    ratios = np.array([found.values[f"kp/{j}"] for j in JOINTS]) / robot.joints.kp
    np.testing.assert_allclose(ratios, 0.7, rtol=0.03)
    assert found.test is not None and found.test.after < 0.1 * found.test.before
