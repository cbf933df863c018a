"""No traceback reaches a user: one sentence, a file, a code of its own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gapless.cli import main as command_line
from gapless.cli.crash_report import CRASHED, report_crash
from gapless.cli.main import main


def test_a_defect_is_a_sentence_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file has the command, the software and the traceback."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def broken(verb: str, rest: list[str]) -> int:
        raise ZeroDivisionError(f"{verb}\n{rest}")

    monkeypatch.setattr(command_line, "_run", broken)
    assert main(["check", "data"]) == CRASHED == 70
    (file,) = tmp_path.iterdir()
    shown, text = capsys.readouterr().err, file.read_text()
    assert str(file) in shown and shown.count("\n") == 1 and "Traceback" not in shown
    assert "Traceback" in text and "gapless check data" in text and "mujoco" in text


def test_it_is_told_though_nothing_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk hides no defect; a lack of memory is none."""
    monkeypatch.setattr(Path, "write_text", _full)
    assert report_crash(ValueError("odd"), []) == CRASHED
    assert "No file could be written" in capsys.readouterr().err
    assert report_crash(MemoryError(), []) == CRASHED
    assert "not enough memory" in capsys.readouterr().err


def _full(*_: object, **__: object) -> None:
    raise OSError("full")


def test_a_terminal_of_ascii_and_a_closed_one_are_no_defects(tmp_path: Path) -> None:
    """Letters that it lacks are replaced; output that nobody reads ends the command quietly."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    code = "from gapless.cli.main import main; raise SystemExit(main())"
    run = [sys.executable, "-c", code]
    found = subprocess.run(
        [*run, "check", "naïve[bold]"], env=env, capture_output=True, text=True, check=False
    )
    assert found.returncode == 2 and "Traceback" not in found.stderr
    assert "ve[bold]" in found.stderr
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        found = subprocess.run(
            [*run, "robots"], stdout=closed, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Traceback" not in found.stderr and "Exception ignored" not in found.stderr
    assert found.returncode in (0, 141)


@pytest.mark.parametrize("name", ["[/red]x", "[bold]x[/]", "[link=y]"])
def test_file_names_are_no_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are shown as they are."""
    assert main(["check", name]) == 2
    assert name in capsys.readouterr().err


def test_versions_may_differ_with_any_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The option is taken from wherever it stands."""
    from gapless.errors import ArtifactError
    from gapless.software_versions import refuse_other_mujoco

    def use(verb: str, rest: list[str]) -> int:
        assert rest == ["data"]
        refuse_other_mujoco({"mujoco": "3.0.0"}, "this")
        return 0

    monkeypatch.setattr(command_line, "_run", use)
    assert main(["check", "data", "--allow-version-mismatch"]) == 0
    assert main(["check", "data"]) == 2
    with pytest.raises(ArtifactError):
        refuse_other_mujoco({"mujoco": "3.0.0"}, "this")


def test_an_ascii_terminal_shows_tables() -> None:
    """What it cannot show is a question mark."""
    asked = "from gapless.cli.main import main; raise SystemExit(main(['robots', 'show', 'so101']))"
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, env=plain)
    assert done.returncode == 0, done.stderr.decode()
    assert b"so101" in done.stdout
    assert max(done.stdout) < 128


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_a_disk_that_refuses_is_no_defect_of_ours(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever it refuses: it is said what to do, and no report of a crash is written."""

    def refused(*_: object) -> int:
        raise OSError(number, "no", "out/there")

    monkeypatch.setattr("gapless.cli.robots_command.run", refused)
    assert main(["robots"]) == 2
    said = capsys.readouterr().err
    assert "cannot write out/there" in said and "--out" in said and "defect" not in said
