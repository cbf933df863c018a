"""`gapless loop`: the answer, the table, the page, and what to type next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from closed_arm import closed_arm
from finished_loop import finished_loop
from gapless.cli.main import main
from gapless.cli.stopping import Terminated
from gapless.errors import ArtifactError, MissingExtraError
from gapless.robots import Robot
from gapless.tracking.policy_loop import PolicyLoop
from standing_motion import standing_motion


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A loop that is done in no time, on a quadruped that only gives it its name."""
    run = closed_arm(tmp_path)

    def done(loop: PolicyLoop) -> dict[str, Any]:
        assert loop.called == "mujoco:mild:2" and loop.settings.rounds == 1
        return finished_loop(loop.path, run).summary

    monkeypatch.setattr(PolicyLoop, "run", done)
    motion = standing_motion(Robot.load("go2", mount="free")).save(tmp_path / "sways.npz")
    told = ["--robot", "go2", "--target", "mujoco:mild:2", "--out", str(tmp_path / "loop")]
    return ["loop", str(motion), *told]


def test_it_ends_with_its_page(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages of the loop and of its run; the figures as JSON."""
    assert main([*asked, "--json", str(tmp_path / "f.json")]) == 0
    shown, out = capsys.readouterr(), tmp_path / "loop"
    assert "E_g-mpjpe 200 -> 100 mm" in shown.out and "policy_1" in shown.out
    assert f"report {out / 'report.html'}" in shown.out.replace("\n", "")
    assert f"next: gapless view {out}" in shown.err.replace("\n", "")
    assert (out / "run_1" / "report.html").is_file()
    assert 'href="run_1/report.html"' in (out / "report.html").read_text("utf-8")
    assert json.loads((tmp_path / "f.json").read_text())["policies"].keys() == {
        "policy_0",
        "policy_1",
    }


@pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_stopped_it_says_how_it_goes_on(
    stop: type[BaseException],
    code: int,
    asked: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By Ctrl-C or SIGTERM, whatever is done by then."""

    def stopped(loop: PolicyLoop) -> None:
        loop.path.mkdir()
        raise stop

    monkeypatch.setattr(PolicyLoop, "run", stopped)
    assert main(asked) == code
    assert "the same command again resumes" in capsys.readouterr().err
    assert not (tmp_path / "loop" / "report.html").exists()


def test_without_the_extra_only_the_page_is_missing(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours of work do not end in an error."""

    def refuse(*_: Any, **__: Any) -> Path:
        raise MissingExtraError("plotly", "report", "a report")

    monkeypatch.setattr("gapless.reports.report", refuse)
    assert main(asked) == 0
    shown = capsys.readouterr()
    assert "no report was written" in shown.err and "E_g-mpjpe 200 -> 100 mm" in shown.out


def test_restart_forgets_what_a_loop_made_and_nothing_else(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes of the user stay; a folder that is no loop's is not touched."""
    out = tmp_path / "loop"
    for folder in (out / "policy_0", out / "run_1"):
        folder.mkdir(parents=True)
    for file in ("summary.json", ".policy_1.progress.safetensors", "notes.txt"):
        (out / file).write_text("{}")

    def no_more(_: PolicyLoop) -> None:
        raise ArtifactError("enough")

    monkeypatch.setattr(PolicyLoop, "run", no_more)
    assert main([*asked, "--restart"]) == 2
    assert (out / "policy_0").exists()
    (out / "loop.json").write_text("{}")
    assert main([*asked, "--restart"]) == 2
    assert [p.name for p in out.iterdir()] == ["notes.txt"]
