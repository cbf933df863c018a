"""The folder of a run: faults of the machine, restarts that are stopped, two writers at once."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from closed_arm import QUICK
from gapless import artifact
from gapless.closing import Run, close
from gapless.closing.run_folder import forget_run, held
from gapless.errors import ArtifactError, FormatError
from gapless.recordings import Recording
from gapless.robots import Robot


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(run.path, tmp_path / "run"))


@pytest.mark.parametrize("stage", ["identified", "corrected"])
def test_a_full_disk_is_no_verdict(
    stage: str, copy: Path, pair: Robot, waves: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage is not stored as failed, and the same call makes it once there is room."""
    before = json.loads((copy / f"{stage}.json").read_text())
    for name in (stage, "summary"):
        (copy / f"{name}.json").unlink()
    made = copy / ("calibration.json" if stage == "identified" else "correction")
    shutil.rmtree(made) if made.is_dir() else made.unlink()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(artifact.os, "fsync", full)
        with pytest.raises(ArtifactError, match="disk is full"):
            close(waves, pair, copy, settings=QUICK)
    assert not (copy / f"{stage}.json").exists() and not (copy / "summary.json").exists()
    again = close(waves, pair, copy, settings=QUICK)
    assert again.summary["rows"] and json.loads((copy / f"{stage}.json").read_text()) == before


def test_restart_deletes_what_it_wrote_and_nothing_else(
    copy: Path, pair: Robot, waves: list[Recording]
) -> None:
    """Notes of the user stay."""
    (copy / "notes.txt").write_text("mine")
    (copy / "pictures").mkdir()
    forget_run(copy)
    assert sorted(p.name for p in copy.iterdir()) == ["notes.txt", "pictures"]


def test_a_restart_that_was_stopped_goes_on(
    copy: Path, pair: Robot, waves: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every moment of the deleting."""
    other = replace(QUICK, seed=3)
    deleted, real = 0, Path.unlink

    def stop(path: Path, missing_ok: bool = False) -> None:
        nonlocal deleted
        deleted += path.parent == copy
        if deleted == 4:
            raise KeyboardInterrupt
        real(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stop)
        with pytest.raises(KeyboardInterrupt):
            close(waves, pair, copy, settings=other, restart=True)
    assert (copy / "run.json").exists()
    assert close(waves, pair, copy, settings=other, restart=True).facts["settings"]["seed"] == 3


def test_what_a_killed_start_left_is_gone_on_with(
    pair: Robot, waves: list[Recording], run: Run, tmp_path: Path
) -> None:
    """A robot, and hidden staging; a folder of other people is refused and named."""
    path = tmp_path / "run"
    shutil.copytree(run.path / "robot", path / "robot")
    (path / ".robot.host.1.0a0a0a0a.staging").mkdir()
    assert close(waves, pair, path, settings=QUICK).summary == run.summary
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(ArtifactError, match=r"no run: it has thesis\.tex"):
        close(waves, pair, tmp_path / "other", settings=QUICK)
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["thesis.tex"]


def test_a_run_without_its_facts_says_what_to_type(
    copy: Path, pair: Robot, waves: list[Recording], run: Run
) -> None:
    """And that is enough."""
    (copy / "run.json").unlink()
    with pytest.raises(ArtifactError, match=r"lost its run\.json.*--restart"):
        close(waves, pair, copy, settings=QUICK)
    assert close(waves, pair, copy, settings=QUICK, restart=True).summary == run.summary


def test_two_writers_are_not_let_in(
    copy: Path, pair: Robot, waves: list[Recording], tmp_path: Path
) -> None:
    """The other one is named; when it is dead, its lock is no more."""
    code = f"""
        import sys
        from pathlib import Path
        from gapless.closing.run_folder import held
        with held(Path({str(copy)!r})):
            print("held", flush=True)
            sys.stdin.readline()
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], **pipes) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(ArtifactError, match=f"being written by process {other.pid}"):
            close(waves, pair, copy, settings=QUICK)
        other.kill()
    assert close(waves, pair, copy, settings=QUICK).summary["rows"]
    assert not (copy / ".lock").exists()
    with held(tmp_path / "nothing"):
        assert (tmp_path / "nothing").is_dir()
    assert not (tmp_path / "nothing").exists()


def test_another_mujoco_does_not_go_on(
    copy: Path, pair: Robot, waves: list[Recording], run: Run
) -> None:
    """A run that is finished is read."""
    facts = json.loads((copy / "run.json").read_text())
    facts["made_by"]["mujoco"] = "3.0.0"
    (copy / "run.json").write_text(json.dumps(facts))
    assert close(waves, pair, copy, settings=QUICK).summary == run.summary
    (copy / "summary.json").unlink()
    with pytest.raises(ArtifactError, match=r"begun with MuJoCo 3\.0\.0.*--restart"):
        close(waves, pair, copy, settings=QUICK)


@pytest.mark.parametrize("name", ["raw", "identified", "check", "replays", "summary"])
@pytest.mark.parametrize("text", ["[]", "null", '"x"', "{", '{"gap": 3}', "{}"])
def test_a_file_that_was_tampered_with_is_named_or_harmless(
    name: str, text: str, copy: Path
) -> None:
    """Never another error than ours; deleted, it is made again."""
    (copy / f"{name}.json").write_text(text)
    try:
        found = Run.open(copy)
        assert found.read(name) in ({"gap": 3}, {})
        assert found.stages and name not in ("raw", "identified")
    except FormatError as error:
        assert f"{name}.json" in str(error)


def test_a_damaged_stage_is_made_again(
    copy: Path, pair: Robot, waves: list[Recording], run: Run
) -> None:
    """After it was deleted, as the message says."""
    (copy / "raw.json").write_text("{}")
    with pytest.raises(FormatError, match=r"raw\.json is damaged.*delete it"):
        close(waves, pair, copy, settings=QUICK)
    (copy / "raw.json").unlink()
    assert close(waves, pair, copy, settings=QUICK).summary == run.summary
