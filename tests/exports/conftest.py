"""Runs to export: an arm that is held, and a biped on its feet."""

from __future__ import annotations

import pytest

from gapless.closing import Run
from hidden_pair import nominal_pair
from planted_run import planted_run
from small_biped import small_biped


@pytest.fixture(scope="session")
def arm_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two joints of an SO-101, weak, late and with more friction; a network for each joint."""
    found = {"kp": 0.7, "frictionloss": 2.0, "delay@all": 0.013, "encoder_bias": 0.02}
    folder = tmp_path_factory.mktemp("runs") / "arm"
    return planted_run(folder, nominal_pair(), found, model="actuator", members=2)


@pytest.fixture(scope="session")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All that MJCF can hold: weak motors and a heavier link, nothing learned."""
    found = {"kp": 0.7, "frictionloss": 2.0, "mass/lower_arm": 1.3}
    folder = tmp_path_factory.mktemp("runs") / "plain"
    return planted_run(folder, nominal_pair(), found, model=None)


@pytest.fixture(scope="session")
def biped_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small biped on its feet, its motors weak and the floor softer."""
    biped = small_biped(tmp_path_factory.mktemp("biped"))
    found = {"kp": 0.8, "damping": 0.05, "mass/trunk": 1.1, "floor_friction": 0.8, "delay": 0.01}
    folder = tmp_path_factory.mktemp("runs") / "biped"
    return planted_run(folder, biped, found, model="mlp")
