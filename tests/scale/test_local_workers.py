"""Workers of this machine: the same files, errors that are told, deaths that cost nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from counting_tasks import task, tasks
from gapless.errors import DataError, MissingExtraError, NameMismatchError, TaskError, WorkerError
from gapless.progress import Progress
from gapless.scale import workers_on
from gapless.scale.local_processes import LocalProcesses
from gapless.scale.task_answers import RemoteDefectError
from gapless.tasks import InProcess, require
from ray_cluster import SOURCES


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes find the tasks of the tests."""
    monkeypatch.setenv("PYTHONPATH", ":".join(SOURCES))


def test_processes_make_the_same_files(tmp_path: Path) -> None:
    """And tell how far they are; more tasks than processes."""
    (tmp_path / "in").write_bytes(b"12345")
    told: list[Progress] = []
    for name, workers in {"here": InProcess(), "there": workers_on("local:2")}.items():
        asked = [task(n, tmp_path / name, inputs={"x": tmp_path / "in"}) for n in "abc"]
        assert workers.run(asked, told.append) == {}
    for n in "abc":
        here, there = (tmp_path / where / f"{n}.json" for where in ("here", "there"))
        assert here.read_bytes() == there.read_bytes() and b'"x": 5' in here.read_bytes()
    assert [now.done for now in told if now.stage == "tasks"] == [1, 2, 3, 1, 2, 3]
    assert any("counting" in now.stage and now.figures == {"inputs": 1.0} for now in told)


def test_own_errors_are_told_and_never_tried_again(tmp_path: Path) -> None:
    """The other tasks go on."""
    tally = tmp_path / "tally"
    asked = [task("bad", tmp_path, refuse=True, tally=str(tally)), task("good", tmp_path)]
    failed = LocalProcesses(2).run(asked)
    assert failed == {"bad": "bad cannot be counted; expected another"}
    assert tally.read_text() == "bad" and (tmp_path / "good.json").is_file()
    assert InProcess().run(asked) == failed
    with pytest.raises(TaskError, match=r"1 cells failed.*\n.*bad cannot be counted"):
        require(failed, "cells")


def test_a_lost_process_is_replaced(tmp_path: Path) -> None:
    """Its task is done again, the others not."""
    (tmp_path / "signs").mkdir()
    asked = tasks(tmp_path, "ab", die_once=str(tmp_path / "signs"), tally=str(tmp_path / "tally"))
    assert LocalProcesses(1).run(asked) == {}
    assert (tmp_path / "tally").read_text() == "aabb"
    assert (tmp_path / "a.json").is_file() and (tmp_path / "b.json").is_file()


def test_a_task_that_always_kills_its_process_ends(tmp_path: Path) -> None:
    """After some processes, with what to do."""
    with pytest.raises(WorkerError, match=r"enough memory.*goes on with what is finished"):
        LocalProcesses(1).run(tasks(tmp_path, "a", die=True))


def test_a_defect_is_no_error_of_the_user(tmp_path: Path) -> None:
    """Its traceback comes along."""
    with pytest.raises(RemoteDefectError, match="ZeroDivisionError: a defect"):
        LocalProcesses(1).run([task("a", tmp_path, **{"break": True})])


def test_an_interrupt_ends_what_runs(tmp_path: Path) -> None:
    """At once, and nothing half-made is left."""

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalProcesses(2).run(tasks(tmp_path, "ab", wait=600.0), stop)
    assert list(tmp_path.glob("*.json")) == []


def test_what_is_not_understood(tmp_path: Path) -> None:
    """Places and arguments are named with what was expected."""
    for place in ("cloud", "local:0", "ray://host", "ray:2"):
        with pytest.raises(NameMismatchError, match="local:N, ray or ray://HOST:PORT"):
            workers_on(place)
    with pytest.raises(DataError, match="no plain JSON"):
        task("a", tmp_path, about={1, 2})


def test_without_ray_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is made."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--on ray.*gapless\[scale\]"):
        workers_on("ray").run(tasks(tmp_path / "out", "a"))
    assert list(tmp_path.iterdir()) == []
