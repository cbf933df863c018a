"""`gapless correct --on`: each training a task, the same correction, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.corrections import Correction
from gapless.recordings import Dataset
from hidden_pair import LOCKED, STEP, nominal_pair, recorded
from small_fleet import TOOK

SMALL = [
    *("--lock", *LOCKED, "--physics-step", str(STEP), "--model", "mlp", "--members", "1"),
    *("--model-set", "sizes=[8]", "--horizon", "0.5", "--keep-anyway"),
    *("--trainer-set", "horizons=[0.5]", "iterations=4", "samples=100"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three motions of an arm with weak motors: so few that each chooses in turn."""
    pair = nominal_pair()
    weak = pair.with_joints(kp=0.65 * pair.joints.kp)
    path = tmp_path_factory.mktemp("data") / "waves"
    clips = recorded(weak, list("abc"), seconds=2.0)
    Dataset.from_recordings(clips, "so101").save(path)
    return path


def test_trainings_elsewhere_are_the_same(data: Path, tmp_path: Path) -> None:
    """The final one and those of the motions that choose, in two processes."""
    made = {}
    for place in ("local", "local:2"):
        out = tmp_path / place.replace(":", "") / "fix"
        out.parent.mkdir()
        assert main(["correct", str(data), *SMALL, "--out", str(out), "--on", place]) == 0
        assert [p.name for p in out.parent.iterdir()] == ["fix"]
        files = (p for p in out.rglob("*") if p.is_file())
        made[place] = {p.name: TOOK.sub(b"", p.read_bytes()) for p in files}
        choosing = Correction.load(out).made_by["split"]["choosing"]
        assert choosing == "cross-validation"
    assert made["local"] == made["local:2"]


def test_only_trainings_go_elsewhere(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A transfer trains nothing, a log follows a training here; a place must be one."""
    words = ["correct", str(data), *SMALL, "--out", str(tmp_path / "fix")]
    assert main([*words, "--on", "moon"]) == 2
    assert "local, local:N, ray" in capsys.readouterr().err
    assert main([*words, "--on", "local:2", "--log", str(tmp_path / "log")]) == 2
    assert "--log and --wandb" in capsys.readouterr().err
