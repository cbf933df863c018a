"""`gapless motion`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from gapless.cli.motion_command import run
from gapless.errors import GaplessError, NameMismatchError
from gapless.motions import CATALOGUE, Motion
from gapless.motions.levels import LEVELS
from gapless.robots import Robot


def test_without_a_name_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Every motion and level, in one table."""
    assert run([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (*CATALOGUE, *LEVELS))


def test_a_clean_motion_is_saved_drawn_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0, the file, the picture, the figures."""
    out, png, figures = (tmp_path / n for n in ("chirp.npz", "chirp.png", "chirp.json"))
    arguments = ["chirp", "--robot", "so101", "--joints", "gripper", "--lead-in", "0.5"]
    arguments += ["--seconds", "6", "--rate", "100"]
    files = ["--out", str(out), "--plot", str(png), "--json", str(figures)]
    assert run([*arguments, *files]) == 0
    motion = Motion.load(out)
    assert motion.rate == 100 and motion.seconds == pytest.approx(7, abs=0.02)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert json.loads(figures.read_text())["chirp"]["ok"]
    assert "gripper" in capsys.readouterr().out


@pytest.fixture
def wild(tmp_path: Path) -> Path:
    """A motion that goes beyond the range of one joint."""
    robot = Robot.load("so101")
    q = np.tile(robot.joints.default, (100, 1))
    q[:, 1] = 2.5 * np.sin(np.arange(100) / 30)
    Motion("wild", robot.joints.names, 50, q).save(tmp_path / "wild.csv")
    return tmp_path / "wild.csv"


def test_a_motion_that_breaks_a_limit_is_not_saved(
    wild: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, the joint in the table; --fit and --force save it."""
    out = tmp_path / "out.npz"
    assert run([str(wild), "--robot", "so101", "--out", str(out)]) == 1
    assert not out.exists()
    assert "position" in capsys.readouterr().out
    assert run([str(wild), "--robot", "so101", "--out", str(out), "--fit"]) == 0
    fitted = Motion.load(out)
    assert fitted.q[:, 1].max() <= Robot.load("so101").joints.upper[1]
    assert run([str(wild), "--robot", "so101", "--out", str(out), "--force"]) == 1
    assert Motion.load(out).q.max() > 2.4


def test_several_motions_go_into_a_folder_or_one_is_picked(tmp_path: Path) -> None:
    """Levels make as many as asked for; what was saved is read again by its folder."""
    out = tmp_path / "set"
    level = ["per_joint", "--robot", "so101", "--count", "3", "--seconds", "2", "--out", str(out)]
    assert run(level) == 0
    with pytest.raises(GaplessError, match="--overwrite"):
        run(level)
    assert run([*level, "--overwrite"]) == 0
    saved = sorted(name for name in os.listdir(out) if name.endswith(".npz"))
    assert len(saved) == 3
    one = tmp_path / "one.csv"
    pick = ["--pick", saved[1].removesuffix(".npz"), "--out", str(one)]
    assert run([str(out), "--robot", "so101", *pick]) == 0
    assert np.allclose(Motion.load(one).q, Motion.load(out / saved[1]).q)
    with pytest.raises(NameMismatchError, match="per_joint_0000"):
        run([str(out), "--robot", "so101", "--pick", "per_joint"])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["chirp"], "which robot"),
        (["chrip", "--robot", "so101"], "Did you mean 'chirp'"),
        (["per_joint", "--robot", "so101", "--amplitude", "0.5"], "--amplitude: only for"),
        (["per_joint", "--robot", "so101", "--count", "0"], "--count is 0; give 1 or more"),
        (["chirp", "--robot", "so101", "--count", "2"], "--count: only for a level"),
        (["chirp", "--robot", "so101", "--file-rate", "50"], "--file-rate: only for a file"),
        (["chirp", "--robot", "so101", "--seed", "-1"], "--seed is -1"),
        (["waypoints", "--robot", "so101", "--seconds", "nan"], "seconds is nan"),
        (["multisine", "--robot", "so101", "--seconds", "6", "--lead-in", "-3"], "lead-in is -3"),
        (["multisine", "--robot", "so101", "--seconds", "6", "--lead-in", "nan"], "lead-in is nan"),
    ],
)
def test_mistakes_are_explained(arguments: list[str], problem: str) -> None:
    """With what to type instead."""
    with pytest.raises(GaplessError, match=problem):
        run(arguments)


@pytest.mark.parametrize("flag", ["--seconds", "--seed", "--count"])
def test_a_file_refuses_what_only_made_motions_know(wild: Path, flag: str) -> None:
    """Nothing is ignored in silence."""
    with pytest.raises(GaplessError, match=f"{flag}: only for .*wild.csv is a file"):
        run([str(wild), "--robot", "so101", flag, "2"])


def test_a_wrong_suffix_is_refused_before_any_work(
    wild: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No motion is made, and none that was read is checked."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("gapless.motions.make", work)
    monkeypatch.setattr("gapless.motions.limits.check_motion", work)
    for name in ("chirp", str(wild)):
        with pytest.raises(GaplessError, match=r"not as '\.pkl'"):
            run([name, "--robot", "so101", "--out", "chirp.pkl"])
