"""`gapless close` from the command line: a table, a run, and refusals that say what to type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gapless import Policy, Robot
from gapless.cli.main import main
from gapless.closing import Run
from gapless.recordings import Dataset
from gapless.worlds import Effects, MujocoWorld
from hidden_pair import LOCKED, STEP, nominal_pair, recorded
from leaning_policy import takes_in, write_leaning_policy

QUICK = [
    *("--set", 'parameters=["kp"]', "windows=8", "members=1", f"physics_step={STEP}"),
    'trainer_settings={"horizons": [0.3], "iterations": 5, "samples": 200}',
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three motions of an arm with weak motors, as a dataset."""
    pair = nominal_pair()
    waves = recorded(pair.with_joints(kp=0.65 * pair.joints.kp), ["a", "b", "c"], noise=0.0)
    path = tmp_path_factory.mktemp("data") / "waves"
    Dataset.from_recordings(waves, "so101").save(path)
    return path


def test_close_prints_the_table_and_writes_the_run(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Raw and identified errors with the reduction; the figures as JSON beside them."""
    out, figures = tmp_path / "run", tmp_path / "close.json"
    told = ["close", str(data), "--out", str(out), "--json", str(figures), "--lock", *LOCKED]
    assert main([*told, *QUICK]) == 0
    text = capsys.readouterr()
    assert "identified" in text.out and "(-9" in text.out
    assert "use.py" in text.out and "report.html" in text.out
    rows = json.loads(figures.read_text())["rows"]
    assert rows["identified"]["error"] < 0.1 * rows["raw"]["error"]
    for name in ("calibration.json", "robot.xml", "ranges.json", "use.py", "report.html"):
        assert (out / name).is_file()
    assert main([*told, "--set", "horizon=0.4"]) == 2
    assert "--restart" in capsys.readouterr().err


def test_settings_that_are_not_understood(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what was expected."""
    told = ["close", str(data), "--out", str(tmp_path / "run"), "--lock", *LOCKED, "--set"]
    assert main([*told, "horizon"]) == 2
    assert "KEY=VALUE" in capsys.readouterr().err
    assert main([*told, "windows=lots"]) == 2
    assert "such as 48" in capsys.readouterr().err
    assert main([*told, "model=operatr"]) == 2
    assert "Did you mean 'operator'" in capsys.readouterr().err
    assert main([*told, "horizont=1"]) == 2
    assert "horizont" in capsys.readouterr().err
    for word, expected in (("horizon=-1", "above 0"), ("members=0", "1 or"), ("seed=-1", "0 or")):
        assert main([*told, word]) == 2
        said = capsys.readouterr().err
        assert word.split("=")[0] in said and f"{expected}" in said and "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_parts_are_named(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patterns say what teaches and what tests; the run holds both, and what was left out."""
    monkeypatch.setattr("gapless.cli.close_command._report", lambda _: None)
    told = ["close", str(data), "--lock", *LOCKED, *QUICK, "--learn", "[a]", "--out"]
    assert main([*told, str(tmp_path / "run"), "--test", "c*"]) == 0
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["split"]["test"] == ["c"] and facts["split"]["learn"] == ["a#learn"]
    assert "left out: b" in capsys.readouterr().err
    assert facts["settings"]["learn"] == ["[a]"] and facts["settings"]["test"] == ["c*"]
    assert main([*told, str(tmp_path / "other"), "--test", "kick*"]) == 2
    assert "no motion is named as kick*; there are: a, b, c" in capsys.readouterr().err


def test_a_run_is_whole_without_the_report(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the extra is missing it says so, and the report can be made later."""
    monkeypatch.setattr("gapless.reports.page.find_spec", lambda _: None)
    out = tmp_path / "run"
    told = ["close", str(data), "--out", str(out), "--lock", *LOCKED, *QUICK]
    assert main(told) == 0
    assert "gapless[report]" in capsys.readouterr().err
    assert (out / "summary.json").is_file() and not (out / "report.html").exists()
    monkeypatch.undo()
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    assert "page.html" in capsys.readouterr().out
    assert "less." in (tmp_path / "page.html").read_text("utf-8")
    assert main(["report", str(tmp_path / "nothing")]) == 2
    assert "gapless close" in capsys.readouterr().err


@pytest.mark.slow
def test_a_recorded_tracker_judges_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run says so; without it, it is another question."""
    file = write_leaning_policy(tmp_path)
    go2, policy = Robot.load("go2", mount="free"), Policy.load(file)
    askew = MujocoWorld(go2, effects=Effects(imu_pitch=0.08))
    takes = [replace(t, name=f"take {i}") for i, t in enumerate(takes_in(askew, policy, push=0.1))]
    Dataset.from_recordings(takes, "go2").save(tmp_path / "data")
    told = ["close", str(tmp_path / "data"), "--mount", "free", "--out", str(tmp_path / "run")]
    quick = ["--set", 'parameters=["kp@all"]', "windows=4", "members=1", QUICK[-1]]
    assert main([*told, *quick, "--policy", str(file)]) == 0
    run = Run.open(tmp_path / "run")
    assert run.facts["policy"]["name"] == "leans back"
    capsys.readouterr()
    assert main([*told, *quick]) == 2
    assert "--restart" in capsys.readouterr().err


def test_a_tracker_is_of_one_dataset_here(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither of a fleet nor of another machine; and it must be there."""
    out = ["--out", str(tmp_path / "run"), "--policy", str(tmp_path / "nothing")]
    assert main(["close", str(data), str(data), *out]) == 2
    assert "one by one" in capsys.readouterr().err
    assert main(["close", str(data), *out, "--on", "local:2"]) == 2
    assert "--on" in capsys.readouterr().err
    assert main(["close", str(data), *out, "--lock", *LOCKED]) == 2
    assert "does not exist" in capsys.readouterr().err and not (tmp_path / "run").exists()
