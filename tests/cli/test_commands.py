"""The command line, from a log to its gap."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless.cli.main import VERBS, main, usage
from gapless.motions.excitation import multisine
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from log_writers import write_sage


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two motions of an arm with weaker gains, as a SAGE logger writes them."""
    robot = Robot.load("so101")
    world = MujocoWorld(robot.with_joints(kp=0.7 * robot.joints.kp))
    folder = tmp_path_factory.mktemp("logs")
    names = ["Rotation", "Pitch", "Elbow", "Wrist_Pitch", "Wrist_Roll", "Jaw"]
    for seed in range(2):
        clip = record(
            world, multisine(robot, 8.0, 50, seed=seed), f"wave_{seed}", start=world.home()
        )
        write_sage(folder / clip.name, clip.q, clip.target, joints=names)
    return folder


@pytest.fixture(scope="module")
def dataset(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs, imported by the command line."""
    out = tmp_path_factory.mktemp("data") / "set"
    assert main(["import", "sage", str(logs), "--robot", "so101", "--out", str(out)]) == 0
    return out


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """`gapless` and `gapless --help` say what can be done."""
    for arguments in ([], ["--help"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out == usage()
    assert all(verb in usage() for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`gapless VERB --help` parses and prints its options."""
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert f"gapless {verb}" in capsys.readouterr().out


def test_unknown_verb_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, the message on standard error."""
    assert main(["mesure"]) == 2
    assert "Did you mean 'measure'?" in capsys.readouterr().err


def test_robots_are_listed_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables for people, JSON for programs."""
    assert main(["robots"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("g1", "g1_23dof", "h1_2", "so101", "kbot_legs"))
    file = tmp_path / "so101.json"
    assert main(["robots", "show", "so101", "--json", str(file)]) == 0
    assert "shoulder_pan" in capsys.readouterr().out
    assert json.loads(file.read_text())["aliases"]["Rotation"] == "shoulder_pan"
    assert main(["robots", "show", "so100"]) == 2
    assert "Did you mean 'so101'?" in capsys.readouterr().err


def test_import_reports_what_it_did(logs: Path, tmp_path: Path) -> None:
    """The report as JSON: recordings, rate, refusals, masks."""
    report = tmp_path / "report.json"
    arguments = ["--robot", "so101", "--out", str(tmp_path / "d"), "--json", str(report)]
    assert main(["import", "sage", str(logs), *arguments]) == 0
    found = json.loads(report.read_text())
    assert (found["recordings"], found["rate"], found["refused"]) == (2, 50, {})


def test_import_refuses_to_overwrite(logs: Path, dataset: Path) -> None:
    """An existing dataset is kept unless --overwrite says otherwise."""
    arguments = ["import", "sage", str(logs), "--robot", "so101", "--out", str(dataset)]
    assert main(arguments) == 2
    assert main([*arguments, "--overwrite"]) == 0


def test_the_same_import_twice_is_the_same_bytes(logs: Path, tmp_path: Path) -> None:
    """Fault 34: identical inputs give identical files."""
    for out in ("a", "b"):
        assert (
            main(["import", "sage", str(logs), "--robot", "so101", "--out", str(tmp_path / out)])
            == 0
        )
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*"))
    assert files
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_check_is_clean_for_a_clean_dataset(dataset: Path, tmp_path: Path) -> None:
    """Exit code 0 and ok."""
    file = tmp_path / "check.json"
    assert main(["check", str(dataset), "--json", str(file)]) == 0
    assert json.loads(file.read_text())["ok"] is True


def test_measure_finds_the_weak_gains(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a log to its gap and the likely cause; a picture on request."""
    file = tmp_path / "gap.json"
    arguments = [str(dataset), "--json", str(file), "--plots", str(tmp_path / "pictures")]
    assert main(["measure", *arguments, "--horizons", "0.5", "full"]) == 0
    assert "Gap by joint" in capsys.readouterr().out
    gap = json.loads(file.read_text())
    overall = gap["attribution"]["overall"]
    assert max(overall, key=overall.get) == "gain error"
    lost = gap["attribution"]["joints"]["shoulder_lift"]["amplitude"]["gain error"]
    assert lost == pytest.approx(0.3, abs=0.06)
    assert [s["horizon"] for s in gap["summary"]] == [0.5, "full"]
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["measure", "no/such/folder"], "no/such/folder"),
        (["import", "saga", ".", "--robot", "so101", "--out", "x"], "Did you mean 'sage'?"),
        (["import", "sage", ".", "--robot", "so102", "--out", "x"], "Did you mean 'so101'?"),
        (["import", "sage", "no/such", "--robot", "so101", "--out", "x"], "no/such"),
    ],
)
def test_wrong_names_answer_with_the_right_ones(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a way forward."""
    assert main(arguments) == 2
    assert expected in capsys.readouterr().err


def test_measure_refuses_a_wrong_horizon(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A horizon is a number of seconds or "full"."""
    assert main(["measure", str(dataset), "--horizons", "long"]) == 2
    assert "full" in capsys.readouterr().err


def test_empty_folder_is_refused_with_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither import nor check nor measure accept an empty folder."""
    for arguments in (
        ["import", "sage", str(tmp_path), "--robot", "so101", "--out", str(tmp_path / "o")],
        ["check", str(tmp_path)],
        ["measure", str(tmp_path)],
    ):
        assert main(arguments) == 2
        assert "gapless:" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
def test_demo_runs_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo records, closes the gap and shows it; once more, it has nothing left to do."""
    told = ["demo", "--out", str(tmp_path / "demo"), "--hours", "0.01"]
    quick = ['parameters=["kp"]', "windows=6", "members=1", "physics_step=0.005"]
    quick.append('trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}')
    for _ in range(2):
        assert main([*told, "--set", *quick]) == 0
        text = capsys.readouterr().out
        assert "raw" in text and "identified" in text and "report.html" in text
    assert (tmp_path / "demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "demo" / "run" / "report.html").is_file()


def test_missing_matplotlib_is_said_before_the_work(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pictures need an extra; the message says how to get it, and nothing was simulated."""
    monkeypatch.setattr("gapless.measurement.gap_plots.find_spec", lambda _: None)
    assert main(["measure", str(dataset), "--plots", "pictures"]) == 2
    captured = capsys.readouterr()
    assert "gapless[plots]" in captured.err
    assert captured.out == ""
