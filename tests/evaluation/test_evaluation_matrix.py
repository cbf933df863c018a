"""A matrix of evaluations: cells are made once, tables hold mean and spread, errors are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.errors import FormatError
from gapless.evaluation import Evaluation
from gapless.evaluation.evaluation_matrix import EvaluationMatrix
from still_policy import write_policy

TEXT = """
robot = "go2"
worlds = ["mujoco", "mujoco:mild"]
seeds = [0, 1]
episodes = 2
seconds = 1.5
push = 0.5
[policies]
still = "still/policy.toml"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A matrix of four cells."""
    (tmp_path / "still").mkdir()
    write_policy(tmp_path / "still")
    (tmp_path / "matrix.toml").write_text(TEXT)
    return tmp_path / "matrix.toml"


def test_cells_are_made_once_and_summed_up(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time nothing is played; the table has both worlds."""
    assert main(["evaluate", "--matrix", str(file), "--json", str(file.parent / "m.json")]) == 0
    shown = capsys.readouterr().out
    assert "mujoco:mild" in shown and "over 2 seeds" in shown
    matrix = EvaluationMatrix.read(file)
    assert all(cell.file.exists() for cell in matrix.cells())
    mean, spread = matrix.scores()["mujoco"]["still"]["survival"]
    assert 0.0 <= mean <= 1.0 and spread >= 0.0
    first = Evaluation.load(next(matrix.cells()).file)
    assert max(first.worlds[0].seconds) <= 1.5
    monkeypatch.setattr(
        "gapless.evaluation.evaluation_matrix.evaluate",
        lambda *a, **k: pytest.fail("a cell was made again"),
    )
    assert main(["evaluate", "--matrix", str(file)]) == 0


def test_a_missing_cell_alone_is_made_again(file: Path) -> None:
    """Cells are files of their own."""
    matrix = EvaluationMatrix.read(file)
    some = EvaluationMatrix(
        **{**vars(matrix), "seeds": (0,), "worlds": ("mujoco",), "episodes": 1}
    ).run()
    (cell,) = some.cells()
    before = cell.file.read_bytes()
    cell.file.unlink()
    some.run()
    assert cell.file.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('robot = "go2"\n', "lacks policies, worlds"),
        (TEXT.replace("worlds", "world"), "'world' is not known"),
        ("robot = [", "is no valid matrix"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, says: str) -> None:
    """And what was expected."""
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(FormatError, match=says):
        EvaluationMatrix.read(tmp_path / "m.toml")


def test_neither_policy_nor_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    """Says what to type."""
    assert main(["evaluate"]) == 2
    assert "--matrix" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value"),
    [("worlds", "3.5"), ("seeds", "7"), ("out", "[]"), ("worlds", "[1.0]"), ("episodes", "'x'")],
)
def test_a_matrix_of_the_wrong_kinds_is_refused(key: str, value: str, tmp_path: Path) -> None:
    """The key is named before anything is evaluated."""
    told = {"robot": "'go2'", "worlds": "['mujoco']", "policies": "{a = 'a'}", key: value}
    file = tmp_path / "matrix.toml"
    file.write_text("\n".join(f"{k} = {v}" for k, v in told.items()))
    with pytest.raises(FormatError, match=f"{key} of EvaluationMatrix"):
        EvaluationMatrix.read(file)
