"""`gapless retarget` and `gapless view MOTION` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.cli.main import main
from gapless.cli.view_command import source_of
from gapless.errors import FormatError
from gapless.motions import Motion
from gapless.reports.viewer import Viewer
from gapless.robots import Robot
from people import keypoints_of, squatting, write_joints


@pytest.fixture(scope="module")
def robot() -> Robot:
    """On its feet."""
    return Robot.load("g1_23dof")


@pytest.fixture(scope="module")
def person(robot: Robot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a second of squatting."""
    places = keypoints_of(squatting(robot, 0.5), robot)
    return write_joints(tmp_path_factory.mktemp("person") / "squat.npz", places)


def test_the_command_finds_what_python_finds(person: Path, robot: Robot, tmp_path: Path) -> None:
    """To the last digit; the saved motion is one like any other, with its person."""
    out, figures = tmp_path / "robot.npz", tmp_path / "figures.json"
    asked = ["retarget", str(person), "--robot", "g1_23dof", "--out", str(out)]
    assert main([*asked, "--json", str(figures)]) == 0
    found = gapless.retarget(person, robot)
    assert json.loads(figures.read_text()) == json.loads(json.dumps(found.to_dict()))
    saved = Motion.load(out)
    assert np.array_equal(saved.q, found.motion.q) and "head" in saved.person
    assert main(["motion", "check", str(out), "--robot", "g1_23dof"]) == 0


def test_view_shows_the_person_beside_the_robot(person: Path, robot: Robot, tmp_path: Path) -> None:
    """Bones a metre to the left, which move with the time."""
    path = gapless.retarget(person, robot).save(tmp_path / "robot.npz")
    with pytest.raises(FormatError, match="--robot g1"):
        source_of(path, None, None)
    with Viewer(source_of(path, "g1_23dof", None), port=0) as viewer:
        first = np.array(viewer._person._lines.points)  # type: ignore[union-attr]
        assert first.shape == (14, 2, 3) and first[..., 1].mean() == pytest.approx(1.0, abs=0.1)
        viewer.scrub(0.4)
        assert np.abs(viewer._person._lines.points - first).max() > 0.01  # type: ignore[union-attr]


def test_bad_requests_say_what_to_type(
    person: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each, and nothing is written."""
    cases = {
        ("absent.bvh", "--robot", "g1"): "does not exist",
        (str(person), "--robot", "go2"): "--correspondences FILE",
        (str(person), "--robot", "g1", "--keypoints", "left_knee"): "KEYPOINT=JOINT",
        (str(person), "--robot", "g1", "--start", "9"): "--start and --stop",
        (str(person), "--robot", "g1", "--out", str(tmp_path / "a.bvh")): ".npz or .csv",
    }
    for words, told in cases.items():
        assert main(["retarget", *words]) == 2
        message = capsys.readouterr().err
        assert told in message and message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
