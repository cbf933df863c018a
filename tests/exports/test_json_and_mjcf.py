"""Figures as a list, and the robot as MuJoCo XML: both read back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from gapless import export
from gapless.artifact import read_json
from gapless.cli.main import main
from gapless.closing import Run
from gapless.errors import ArtifactError, GaplessError
from gapless.exports.mjcf_folder import write_mjcf
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from planted_run import planted_run

STL = b"gapless".ljust(80) + (4).to_bytes(4, "little")
CORNERS = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], "<f4")


def tetrahedron() -> bytes:
    """An STL file."""
    faces = [CORNERS[[0, 2, 1]], CORNERS[[0, 1, 3]], CORNERS[[0, 3, 2]], CORNERS[[1, 2, 3]]]
    return STL + b"".join(b"\0" * 12 + face.tobytes() + b"\0\0" for face in faces)


def test_every_figure_has_unit_and_source(arm_run: Run, tmp_path: Path) -> None:
    """Identified ones have their interval and prior, the others say where they are from."""
    export(arm_run, "json", tmp_path / "figures.json")
    told = read_json(tmp_path / "figures.json")
    rows = {row["name"]: row for row in told["parameters"]}
    assert len(rows) == len(told["parameters"])
    assert all(row["unit"] and row["source"] for row in rows.values())
    robot, calibration = arm_run.robot, arm_run.calibration
    assert calibration is not None
    for column, joint in enumerate(robot.joints.names):
        row = rows[f"kp/{joint}"]
        assert row["value"] == pytest.approx(0.7 * robot.joints.kp[column])
        assert row["interval95"] == pytest.approx(calibration[f"kp/{joint}"].interval)
        assert row["prior"]["value"] == pytest.approx(robot.joints.kp[column])
        assert "identified" in row["source"]
        assert rows[f"delay/{joint}"]["value"] == pytest.approx(0.013)
        assert rows[f"armature/{joint}"]["interval95"] is None
    assert rows["mass/lower_arm"]["value"] == pytest.approx(robot.inertia("lower_arm").mass)


def test_command_and_python_write_the_same(arm_run: Run, tmp_path: Path) -> None:
    """And the figures beside say what was left out."""
    export(arm_run, "json", tmp_path / "a.json")
    told = ["--out", str(tmp_path / "b.json"), "--json", str(tmp_path / "left.json")]
    assert main(["export", str(arm_run.path), "--to", "json", *told]) == 0
    assert read_json(tmp_path / "a.json") == read_json(tmp_path / "b.json")
    assert "correction" in read_json(tmp_path / "left.json")["left_out"][0]


def test_what_is_there_is_not_replaced_unasked(arm_run: Run, tmp_path: Path) -> None:
    """A file and a folder alike."""
    for to, out in (("json", tmp_path / "f.json"), ("mjcf", tmp_path / "folder")):
        export(arm_run, to, out)
        with pytest.raises(ArtifactError, match="overwrite"):
            export(arm_run, to, out)
        export(arm_run, to, out, overwrite=True)


def test_an_unfinished_run_is_refused(arm_run: Run, tmp_path: Path) -> None:
    """What it keeps is not decided."""
    run = planted_run(tmp_path / "run", arm_run.robot, {"kp": 0.7}, model=None)
    (run.path / "summary.json").unlink()
    with pytest.raises(ArtifactError, match="not finished"):
        export(run, "json", tmp_path / "f.json")
    with pytest.raises(GaplessError, match="export format"):
        export(arm_run, "usd", tmp_path / "f.usd")


def played(file: Path, world: MujocoWorld, targets: np.ndarray) -> np.ndarray:
    """(T, J) what plain MuJoCo makes of targets, from the key home on."""
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    rows = []
    for target in targets:
        data.ctrl[:] = target
        mujoco.mj_step(model, data, world.substeps)
        rows.append([data.joint(name).qpos[0] for name in world.robot.joints.names])
    return np.array(rows)


def wave(world: MujocoWorld) -> np.ndarray:
    """(T, J) targets of one second."""
    joints, time = world.robot.joints, np.arange(round(world.rate))[:, None]
    return joints.default + 0.15 * np.sin(time / 8 + np.arange(len(joints)))


def test_the_mjcf_moves_as_our_world(plain_run: Run, tmp_path: Path) -> None:
    """One second in plain MuJoCo, to 1e-9 rad; with lights and a floor."""
    found = export(plain_run, "mjcf", tmp_path / "model")
    assert found.left_out == ()
    world = plain_run.world().world
    assert isinstance(world, MujocoWorld)
    targets = wave(world)
    ours = world.rollout(world.home(), targets[None]).q[0, 1:]
    assert np.abs(played(tmp_path / "model" / "robot.xml", world, targets) - ours).max() < 1e-9
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model" / "robot.xml"))
    assert model.nlight and model.geom("floor").id >= 0


def test_joints_that_were_held_move_again(plain_run: Run, tmp_path: Path) -> None:
    """The whole robot is beside the one that was simulated, with what was identified."""
    export(plain_run, "mjcf", tmp_path / "model")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model" / "whole.xml"))
    assert {model.joint(j).name for j in range(model.njnt)} == set(Robot.load("so101").joints.names)
    joints = plain_run.world().robot.joints
    assert model.actuator("elbow_flex").gainprm[0] == joints.kp[joints.index("elbow_flex")]


def test_what_mjcf_cannot_hold_is_said(arm_run: Run, tmp_path: Path) -> None:
    """In the result, in the README and in the file."""
    found = export(arm_run, "mjcf", tmp_path / "model")
    told = " ".join(found.left_out)
    assert "delay" in told and "encoder_bias" in told and "correction" in told
    assert "encoder_bias" in (tmp_path / "model" / "README.md").read_text()
    assert "encoder_bias" in (tmp_path / "model" / "robot.xml").read_text()


@pytest.mark.parametrize("name,mount", [("g1", "free"), ("h1_2", "fixed"), ("go2", "free")])
def test_built_in_robots_keep_every_digit(name: str, mount: str, tmp_path: Path) -> None:
    """A humanoid on its feet too."""
    world = MujocoWorld(Robot.load(name, mount=mount), physics_step=0.005, threads=1)
    write_mjcf(world.robot, world.timestep, tmp_path)
    targets = wave(world)
    ours = world.rollout(world.home(), targets[None]).q[0, 1:]
    assert np.abs(played(tmp_path / "robot.xml", world, targets) - ours).max() < 1e-9


def test_meshes_come_along(tmp_path: Path) -> None:
    """A user's own model keeps its shapes, found where the XML looks for them."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "tip.stl").write_bytes(tetrahedron())
    (tmp_path / "arm.xml").write_text(
        '<mujoco model="arm"><compiler meshdir="meshes"/><asset><mesh name="tip" file="tip.stl"/>'
        '</asset><worldbody><body name="upper"><joint name="lift" axis="0 1 0" armature=".01"/>'
        '<geom type="capsule" size=".02" fromto="0 0 0 0 0 .2" mass=".3"/>'
        '<geom type="mesh" mesh="tip" pos="0 0 .2" mass=".1"/></body></worldbody>'
        '<actuator><position joint="lift" kp="20" kv="1"/></actuator></mujoco>'
    )
    world = MujocoWorld(Robot.load(tmp_path / "arm.xml"), 50, physics_step=0.005, threads=1)
    (tmp_path / "out").mkdir()
    write_mjcf(world.robot, world.timestep, tmp_path / "out")
    targets = wave(world)
    ours = world.rollout(world.home(), targets[None]).q[0, 1:]
    assert np.abs(played(tmp_path / "out" / "robot.xml", world, targets) - ours).max() < 1e-9
