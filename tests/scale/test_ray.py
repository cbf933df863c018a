"""A cluster of two nodes: the same bytes as in this process, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from counting_tasks import task, tasks
from gapless.cli.main import main
from gapless.errors import WorkerError
from gapless.evaluation.evaluation_matrix import EvaluationMatrix
from gapless.progress import Progress
from gapless.scale import Fleet, close_fleet
from gapless.scale.orders import Order
from gapless.scale.ray_workers import CALLS, RayWorkers, _connect
from gapless.scale.task_answers import RemoteDefectError
from ray_cluster import ENVIRONMENT
from small_fleet import HOW, QUICK, made
from still_policy import write_policy

KILLS = int(os.environ.get("GAPLESS_KILLS", "1"))
"""How often the test kills a worker; more are asked for by hand."""

MATRIX = """
robot = "go2"
worlds = ["mujoco"]
seeds = [0, 1]
episodes = 1
seconds = 1.0
[policies]
still = "still/policy.toml"
"""


def test_cells_of_a_matrix_are_the_same(ray_workers: RayWorkers, tmp_path: Path) -> None:
    """Byte for byte, by the command, and each is made once."""
    (tmp_path / "still").mkdir()
    write_policy(tmp_path / "still")
    (tmp_path / "m.toml").write_text(MATRIX)
    here = EvaluationMatrix.read(tmp_path / "m.toml").run()
    cells = {cell.file: cell.file.read_bytes() for cell in here.cells()}
    for file in cells:
        file.unlink()
    assert main(["evaluate", "--matrix", str(tmp_path / "m.toml"), "--on", "ray"]) == 0
    assert {file: file.read_bytes() for file in cells} == cells
    assert ray_workers.run([]) == {}


@pytest.mark.slow
def test_a_cluster_elsewhere_is_reached_by_its_client_port(
    cluster: tuple[str, str], tmp_path: Path
) -> None:
    """--on ray://HOST:PORT, from a process that is no part of the cluster: the same cells."""
    (tmp_path / "still").mkdir()
    write_policy(tmp_path / "still")
    (tmp_path / "m.toml").write_text(MATRIX)
    here = EvaluationMatrix.read(tmp_path / "m.toml").run()
    cells = {cell.file: cell.file.read_bytes() for cell in here.cells()}
    for file in cells:
        file.unlink()
    words = ["evaluate", "--matrix", str(tmp_path / "m.toml"), "--on", cluster[1]]
    told = [
        sys.executable,
        "-c",
        "import sys; from gapless.cli.main import main; sys.exit(main())",
        *words,
    ]
    done = subprocess.run(
        told, env=os.environ | ENVIRONMENT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {file: file.read_bytes() for file in cells} == cells


class _BusyHead:
    """Stands for the module `ray`: its head fails to serve a client some times, then serves it."""

    def __init__(self, failures: int, told: str) -> None:
        self.failures, self.told, self.calls = failures, told, 0

    def init(self, address: str, **_: object) -> None:
        """As ray.init of a client."""
        self.calls += 1
        if self.calls <= self.failures:
            raise ConnectionError(self.told)


def test_a_head_that_is_too_busy_is_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers that it failed; nobody who answers, or a head that always fails, is told."""
    monkeypatch.setattr("gapless.scale.ray_workers.PAUSE", 0.0)
    busy = _BusyHead(2, "Initialization failure from server: Starting Ray client server failed.")
    _connect(busy, "ray://there:10001")
    assert busy.calls == 3
    for head, calls in (
        (_BusyHead(9, "Initialization failure from server: no memory"), CALLS),
        (_BusyHead(9, "ray client connection timeout"), 1),
    ):
        with pytest.raises(WorkerError, match=r"ray://there:10001.*ray start --head"):
            _connect(head, "ray://there:10001")
        assert head.calls == calls


@pytest.mark.parametrize("time", range(KILLS))
def test_a_killed_worker_costs_nothing(
    closed: Fleet, units: list[Path], ray_workers: RayWorkers, tmp_path: Path, time: int
) -> None:
    """SIGKILL in the middle of a run: another worker goes on with it, to the same bytes."""
    killed: list[int] = []
    lock, over = tmp_path / "fleet" / "u1" / ".lock", Event()

    def kill() -> None:  # progress may come too late: a small run takes a second
        while not killed and not over.wait(0.002):
            with suppress(OSError, ValueError):
                killed.append(int(lock.read_text()))
        if killed:
            os.kill(killed[0], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    try:
        fleet = close_fleet(units, tmp_path / "fleet", settings=QUICK, workers=ray_workers, **HOW)
    finally:
        over.set()
        killer.join()
    assert killed and fleet.failed == {}
    assert made(tmp_path / "fleet") == made(closed.path)


def test_files_that_a_node_does_not_see_are_moved(
    ray_workers: RayWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the object store, once a worker has asked; otherwise nothing is."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_bytes(b"1234")
    asked = task("a", tmp_path / "out", inputs={"x": tmp_path / "in"})
    before = ray_workers.moved
    assert ray_workers.run([asked]) == {} and ray_workers.moved == before
    here = asked.out.read_bytes()
    asked.out.unlink()
    monkeypatch.setattr(
        "gapless.scale.ray_workers.Order.of",
        lambda task, token: Order(task, "no such file", stamps={"x": "as elsewhere"}),
    )
    assert ray_workers.run([asked]) == {} and ray_workers.moved > before
    assert asked.out.read_bytes() == here


def test_own_errors_are_told_and_never_tried_again(ray_workers: RayWorkers, tmp_path: Path) -> None:
    """A death is tried again; a defect comes with its traceback."""
    (tmp_path / "signs").mkdir()
    asked = [
        task("bad", tmp_path, refuse=True, tally=str(tmp_path / "bad")),
        task("dies", tmp_path, die_once=str(tmp_path / "signs"), tally=str(tmp_path / "died")),
    ]
    assert ray_workers.run(asked) == {"bad": "bad cannot be counted; expected another"}
    assert (tmp_path / "bad").read_text() == "bad"
    assert (tmp_path / "died").read_text() == "diesdies" and (tmp_path / "dies.json").is_file()
    with pytest.raises(RemoteDefectError, match="ZeroDivisionError"):
        ray_workers.run([task("broken", tmp_path, **{"break": True})])


def test_an_interrupt_cancels_what_runs(ray_workers: RayWorkers, tmp_path: Path) -> None:
    """Workers are free again at once, also those that were just being given one."""

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    for names in ("abc", "efg", "hij"):
        with pytest.raises(KeyboardInterrupt):
            ray_workers.run(tasks(tmp_path, names, wait=600.0), stop)
    assert ray_workers.run(tasks(tmp_path, "d")) == {}
    assert [p.name for p in tmp_path.iterdir()] == ["d.json"]
