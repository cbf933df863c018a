"""Artifacts are complete or absent."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Thread

import pytest

from gapless import artifact
from gapless.artifact import (
    MARKER,
    provenance,
    read_json,
    staged,
    write_json,
    write_text_atomic,
)
from gapless.errors import ArtifactError, DataError, FormatError


def _make(path: Path, text: str, overwrite: bool = False) -> None:
    with staged(path, overwrite) as folder:
        (folder / "a.txt").write_text(text)


def test_folder_appears_only_when_the_block_ends(tmp_path: Path):
    """The target does not exist while it is being written."""
    with staged(tmp_path / "deep/out") as folder:
        (folder / "a.txt").write_text("x")
        assert not (tmp_path / "deep/out").exists()
    assert (tmp_path / "deep/out/a.txt").read_text() == "x"
    assert os.listdir(tmp_path / "deep") == ["out"]


def test_exception_leaves_nothing(tmp_path: Path):
    """A failing block leaves neither target nor staging folder, and raises its own error."""
    with pytest.raises(ZeroDivisionError), staged(tmp_path / "out") as folder:
        (folder / "a.txt").write_text("x")
        _ = 1 / 0
    assert os.listdir(tmp_path) == []


def test_existing_target_is_refused_before_work_starts(tmp_path: Path):
    """Without overwrite an existing artifact stays, and the message says what to type."""
    _make(tmp_path / "out", "old")
    with pytest.raises(ArtifactError, match="already exists; choose another --out or pass --over"):
        _make(tmp_path / "out", "new")
    assert (tmp_path / "out/a.txt").read_text() == "old"


def test_overwrite_swaps(tmp_path: Path):
    """With overwrite the new artifact takes the old one's place, and no remains are left."""
    _make(tmp_path / "out", "old")
    _make(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out/a.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_failed_overwrite_keeps_the_previous(tmp_path: Path):
    """An overwrite that fails halfway leaves the previous artifact as it was."""
    _make(tmp_path / "out", "old")
    with pytest.raises(RuntimeError), staged(tmp_path / "out", overwrite=True):
        raise RuntimeError
    assert (tmp_path / "out/a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_overwrite_never_deletes_a_folder_of_the_user(tmp_path: Path):
    """A folder that gapless did not write is not replaced, even with overwrite."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.tex").write_text("years of work")
    with pytest.raises(ArtifactError, match="gapless did not write it"):
        _make(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out/thesis.tex").exists()


def test_empty_folder_may_be_used(tmp_path: Path):
    """A folder the user just made is a valid target."""
    (tmp_path / "out").mkdir()
    _make(tmp_path / "out", "x")
    assert (tmp_path / "out/a.txt").read_text() == "x"


def test_failed_publish_brings_the_previous_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """If the last rename fails, the previous artifact is put back in its place."""
    _make(tmp_path / "out", "old")
    rename = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(source).name.endswith(".staging"):
            raise OSError(errno.EIO, "broken disk")
        rename(source, target)

    monkeypatch.setattr(artifact.os, "replace", failing)
    with pytest.raises(ArtifactError, match="broken disk"):
        _make(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out/a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_case_41_killed_process_leaves_no_artifact(tmp_path: Path):
    """SIGKILL in the middle leaves no target; the next writer clears the remains."""
    script = textwrap.dedent(
        """
        import os, sys
        from gapless.artifact import staged
        with staged(sys.argv[1]) as folder:
            (folder / "a.txt").write_text("half")
            os.kill(os.getpid(), 9)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    assert len(os.listdir(tmp_path)) == 1
    _make(tmp_path / "out", "whole")
    assert os.listdir(tmp_path) == ["out"]


def test_case_41_killed_between_two_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An artifact that a killed process had swapped out comes back."""
    _make(tmp_path / "out", "old")
    monkeypatch.setattr(artifact.os, "getpid", lambda: 2**22 + 5)  # above any real process id
    os.replace(tmp_path / "out", artifact._sibling(tmp_path / "out", "previous"))
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="already exists"):
        _make(tmp_path / "out", "new")
    assert (tmp_path / "out/a.txt").read_text() == "old"


def test_half_a_file_of_a_killed_process_goes_with_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """That of a process that still runs stays."""
    monkeypatch.setattr(artifact.os, "getpid", lambda: 2**22 + 5)  # above any real process id
    artifact._sibling(tmp_path / "a.txt", "part").write_text("ha")
    monkeypatch.undo()
    living = artifact._sibling(tmp_path / "a.txt", "part")
    living.write_text("h")
    artifact.write_text_atomic(tmp_path / "a.txt", "whole")
    assert sorted(os.listdir(tmp_path)) == sorted([living.name, "a.txt"])
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_staging_of_a_living_process_is_left_alone(tmp_path: Path):
    """Two writers of one target do not delete each other's work; the second to end is refused."""
    with pytest.raises(ArtifactError, match="already exists"), staged(tmp_path / "out") as first:
        _make(tmp_path / "out", "second")
        assert first.is_dir()
    assert (tmp_path / "out/a.txt").read_text() == "second"


def test_case_44_disk_full(tmp_path: Path):
    """A full disk is an error that says so; the previous artifact is intact."""
    _make(tmp_path / "out", "old")
    with (
        pytest.raises(ArtifactError, match=r"disk is full.*what was there is intact"),
        staged(tmp_path / "out", overwrite=True),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (tmp_path / "out/a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_case_44_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A read-only file system is refused before any work."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ArtifactError, match="read-only"):
        _make(tmp_path / "out", "x")


def test_other_errors_of_the_block_keep_their_meaning(tmp_path: Path):
    """A missing input file inside the block is not reported as an output problem."""
    with pytest.raises(FileNotFoundError), staged(tmp_path / "out"):
        (tmp_path / "no such input").read_text()


def test_marker_names_the_software(tmp_path: Path):
    """Every artifact says which software made it, with no time and no path of the machine."""
    _make(tmp_path / "out", "x")
    facts = read_json(tmp_path / "out" / MARKER)
    assert facts == provenance()
    assert {"gapless", "mujoco", "numpy", "python", "platform"} == facts.keys()
    assert "time" in provenance(time=True)


def test_json_round_trip_and_refusals(tmp_path: Path):
    """JSON comes back equal; NaN and unknown types are refused and leave the old file."""
    path = tmp_path / "a.json"
    write_json(path, {"ä": [1, None, 2.5]})
    for wrong in (float("nan"), object()):
        with pytest.raises(DataError, match=r"a\.json"):
            write_json(path, wrong)
    assert read_json(path) == {"ä": [1, None, 2.5]}
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("text", ['{"a": 1', "", "[" * 100_000])
def test_damaged_json_is_named_with_its_size(tmp_path: Path, text: str):
    """Truncated, empty or absurdly nested JSON is a FormatError with file and size."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=rf"a\.json \({len(text)} bytes\)"):
        read_json(tmp_path / "a.json")


def test_missing_json(tmp_path: Path):
    """A missing file is named."""
    with pytest.raises(FormatError, match=r"b\.json does not exist"):
        read_json(tmp_path / "b.json")


def test_text_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A failing write leaves the previous text and no temporary file."""
    write_text_atomic(tmp_path / "a.txt", "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(artifact.os, "fsync", full)
    with pytest.raises(ArtifactError, match="disk is full"):
        write_text_atomic(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_is_followed_to_its_file(tmp_path: Path):
    """The link stays, whether its file is there yet or not."""
    (tmp_path / "far").mkdir()
    link, file = tmp_path / "link.json", tmp_path / "far" / "file.json"
    link.symlink_to(file)
    for value in (1, 2):
        write_json(link, value)
        assert link.is_symlink() and file.is_file() and read_json(file) == value
    assert os.listdir(tmp_path / "far") == ["file.json"]


def test_devices_and_pipes_are_written_through(tmp_path: Path):
    """They are what they were afterwards."""
    write_json("/dev/null", 1)
    assert Path("/dev/null").is_char_device()
    pipe, seen = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    write_json(pipe, {"a": 1})
    reader.join(30)
    assert pipe.is_fifo() and json.loads(seen[0]) == {"a": 1}


def test_what_is_no_file_is_refused(tmp_path: Path):
    """Folders and sockets; both stay."""
    where = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(where))
        with pytest.raises(ArtifactError, match="neither a file nor a pipe"):
            write_json(where, 1)
    assert where.is_socket()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ArtifactError, match="it is a folder"):
        write_json(tmp_path / "folder", 1)


def test_standard_output_that_is_a_file_keeps_what_else_is_written(tmp_path: Path):
    """A shell holds that file open: replaced, the rest of the output would be lost."""
    out = tmp_path / "all.txt"
    code = (
        "from gapless.artifact import write_json\n"
        "print('before', flush=True); write_json('/dev/stdout', 1); print('after')"
    )
    with out.open("ab") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert "after" in out.read_text() and "1" in out.read_text()


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"a": 1' + 400 * "0" + "}"])
def test_json_that_could_not_be_written_again_is_refused(tmp_path: Path, text: str) -> None:
    """Half a letter, and a number that is no float."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match="no valid JSON"):
        artifact.read_json(tmp_path / "a.json")


def test_half_a_letter_is_not_written(tmp_path: Path) -> None:
    """UTF-8 has no such thing."""
    with pytest.raises(DataError, match="cannot write"):
        artifact.write_json(tmp_path / "a.json", {"a": "\ud800"})
    assert not list(tmp_path.iterdir())
