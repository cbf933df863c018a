"""Packages for mjlab, made and imported by what is installed beside it (`make test-mjlab`)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gapless import export
from gapless.closing import Run
from gapless.robots import Robot
from hidden_pair import nominal_pair
from planted_run import planted_run
from small_biped import small_biped
from standing_motion import standing_motion


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs mjlab."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.mjlab)


@pytest.fixture(scope="session", autouse=True)
def mjlab() -> ModuleType:
    """mjlab, or a reason not to test."""
    return pytest.importorskip("mjlab", reason="mjlab is not installed: make test-mjlab")


def imported(folder: Path) -> ModuleType:
    """The package of an export, which registers its tasks."""
    sys.path.insert(0, str(folder))
    return importlib.import_module(folder.name)


@pytest.fixture(scope="session")
def arm_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two joints of an SO-101 with everything that mjlab can hold."""
    found = {"kp": 0.7, "frictionloss": 2.0, "delay": 0.013, "encoder_bias": 0.02}
    folder = tmp_path_factory.mktemp("runs") / "arm"
    return planted_run(folder, nominal_pair(), found, model="actuator", members=2)


@pytest.fixture(scope="session")
def pushed_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same arm, under a learned torque."""
    folder = tmp_path_factory.mktemp("runs") / "pushed"
    told = {"model": "gru", "head": "torque", "bound": 0.3}
    return planted_run(folder, nominal_pair(), {"kp": 0.7}, **told)


@pytest.fixture(scope="session")
def biped_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A biped on its feet, whose correction sees its base."""
    biped = small_biped(tmp_path_factory.mktemp("biped"))
    found = {"kp": 0.8, "damping": 0.05, "mass/trunk": 1.1, "floor_friction": 0.8, "delay": 0.01}
    seen = ("q", "dq", "error", "height", "lin_vel", "ang_vel", "gravity")
    folder = tmp_path_factory.mktemp("runs") / "biped"
    return planted_run(folder, biped, found, model="mlp", settings={"now": seen})


@pytest.fixture(scope="session")
def arm(arm_run: Run, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Its package."""
    folder = tmp_path_factory.mktemp("mjlab") / "planted_arm"
    export(arm_run, "mjlab", folder)
    return imported(folder)


@pytest.fixture(scope="session")
def biped(biped_run: Run, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Its package, with a motion to track."""
    place = tmp_path_factory.mktemp("mjlab")
    motion = standing_motion(biped_run.robot, 2.0).save(place / "sways.npz")
    export(biped_run, "mjlab", place / "planted_biped", motion=motion)
    return imported(place / "planted_biped")


@pytest.fixture(scope="session")
def g1_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A whole humanoid, weaker and later than its table says."""
    folder = tmp_path_factory.mktemp("runs") / "g1"
    return planted_run(folder, Robot.load("g1"), {"kp": 0.9, "delay": 0.01}, model="mlp")


@pytest.fixture(scope="session")
def g1(g1_run: Run, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Its package."""
    folder = tmp_path_factory.mktemp("mjlab") / "planted_g1"
    export(g1_run, "mjlab", folder)
    return imported(folder)
