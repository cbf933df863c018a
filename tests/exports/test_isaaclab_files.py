"""The folder for Isaac Lab, read back without it."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import mujoco
import pytest

from gapless import export
from gapless.artifact import read_json
from gapless.closing import Run


@pytest.fixture(scope="module")
def folder(arm_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of an arm."""
    path = tmp_path_factory.mktemp("isaac") / "arm"
    export(arm_run, "isaaclab", path)
    return path


def module_of(file: Path) -> ModuleType:
    """A Python file of an export."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_articulation_is_plain_data(folder: Path, arm_run: Run) -> None:
    """Python literals, the same as the JSON; gains, limits, friction and delay as identified."""
    tree = ast.parse((folder / "articulation.py").read_text())
    told = ast.literal_eval(tree.body[-1].value)  # type: ignore[attr-defined]
    kept = read_json(folder / "articulation.json")
    assert told["actuators"] == kept["actuators"]
    joints = arm_run.world().robot.joints
    (group,) = told["actuators"].values()
    assert group["class_name"] == "DelayedPDActuator"
    assert group["min_delay"] == group["max_delay"] == round(0.013 / 0.005)
    for i, joint in enumerate(joints.names):
        assert group["stiffness"][joint] == joints.kp[i]
        assert group["damping"][joint] == joints.kd[i]
        assert group["effort_limit"][joint] == joints.effort[i]
        assert group["armature"][joint] == joints.armature[i]
        assert group["friction"][joint] == joints.frictionloss[i]
        assert group["viscous_friction"][joint] == joints.damping[i]
        assert told["encoder_bias"][joint] == pytest.approx(0.02)


def test_a_robot_without_delay_has_implicit_drives(plain_run: Run, tmp_path: Path) -> None:
    """And nothing learned beside it."""
    found = export(plain_run, "isaaclab", tmp_path / "arm")
    (group,) = read_json(tmp_path / "arm" / "articulation.json")["actuators"].values()
    assert group["class_name"] == "ImplicitActuator" and "max_delay" not in group
    assert "frozen_correction.py" not in found.files


def test_its_configuration_is_made_of_the_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With stand-ins for Isaac Lab's classes: the real ones are not here."""

    def kept(**fields: Any) -> SimpleNamespace:
        return SimpleNamespace(**fields)

    cfg = type("ArticulationCfg", (), {"InitialStateCfg": staticmethod(kept)})
    cfg.__new__ = staticmethod(lambda _, **fields: kept(**fields))  # type: ignore[assignment]
    stand_ins = {
        "isaaclab": ModuleType("isaaclab"),
        "isaaclab.sim": kept(UsdFileCfg=kept, ArticulationRootPropertiesCfg=kept),
        "isaaclab.actuators": kept(DelayedPDActuatorCfg=kept, ImplicitActuatorCfg=kept),
        "isaaclab.assets": kept(ArticulationCfg=cfg),
    }
    stand_ins["isaaclab"].sim = stand_ins["isaaclab.sim"]  # type: ignore[attr-defined]
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    made = module_of(folder / "isaaclab_robot.py").articulation_cfg("robot.usd")
    (group,) = made.actuators.values()
    assert group.max_delay == 3 and group.stiffness.keys() == group.effort_limit_sim.keys()
    assert made.spawn.articulation_props.fix_root_link is True


def test_the_model_is_there_and_what_is_untested_is_said(folder: Path) -> None:
    """MuJoCo loads robot.xml; the README says what was never run."""
    model = mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    assert model.nu == 2
    text = (folder / "README.md").read_text()
    assert "None of this was run in Isaac Lab" in text and "rounded" in text
