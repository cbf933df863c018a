"""`gapless compare --on`: each training a task, the same scores, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gapless.cli.main import main
from gapless.recordings import Dataset
from hidden_pair import LOCKED, STEP, nominal_pair, recorded

QUICK = [
    *("--methods", "raw,asap-sysid", "--seeds", "1", "--windows", "1", "--horizons", "0.5"),
    *("--physics-step", str(STEP), "--set", "asap-sysid.windows=2"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Motions of an arm with weak motors, as a dataset."""
    pair = nominal_pair()
    weak = pair.with_joints(kp=0.65 * pair.joints.kp)
    path = tmp_path_factory.mktemp("data") / "waves"
    Dataset.from_recordings(recorded(weak, list("abcde"), seconds=3.0), "so101").save(path)
    return path


def timeless(values: Any) -> Any:
    """The same without what the clock decides."""
    if isinstance(values, dict):
        return {k: timeless(v) for k, v in values.items() if k != "seconds"}
    return [timeless(v) for v in values] if isinstance(values, list) else values


def test_parts_are_the_whole(data: Path, tmp_path: Path) -> None:
    """Figures of two processes are those of this one."""
    found = {}
    for name, where in {"here": [], "there": ["--on", "local:2"]}.items():
        (tmp_path / name).mkdir()
        file = tmp_path / name / "c.json"
        told = ["compare", str(data), "--lock", *LOCKED, *QUICK, "--json", str(file)]
        assert main([*told, *where]) == 0
        assert [p.name for p in file.parent.iterdir()] == ["c.json"]
        found[name] = timeless(json.loads(file.read_text()))
    assert found["here"] == found["there"]


def test_parts_need_a_place_and_methods_and_recordings_that_exist(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is made."""
    told = ["compare", str(data), "--lock", *LOCKED, "--on", "local:2"]
    assert main(told) == 2
    assert "--on needs --json" in capsys.readouterr().err
    assert main([*told, "--json", str(tmp_path / "c.json"), "--methods", "asapp"]) == 2
    assert "asapp" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
    nowhere = ["compare", str(tmp_path), "--on", "local:2", "--json", str(tmp_path / "c.json")]
    assert main(nowhere) == 2
    assert capsys.readouterr().err.count("is no dataset") == 1 and list(tmp_path.iterdir()) == []
