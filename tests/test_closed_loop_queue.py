"""The queue of the closed-loop table: names of files alone, rows that exist, and it goes on."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gapless.artifact import read_json
from gapless.errors import DataError, GaplessError
from gapless.policies.contract_toml import read_toml
from gapless.robots import Robot
from standing_motion import standing_motion

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
QUEUE = BENCHMARKS / "closed_loop_queue.toml"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("closed_loop")


@pytest.fixture
def queue(table: ModuleType) -> ModuleType:
    """What reads its queue."""
    return import_module("closed_loop_queue")


def test_all_motions_and_rows_are_queued(table: ModuleType, queue: ModuleType) -> None:
    """Twelve motions at least, of every level, each with every row that it lacks."""
    listed = queue.read_queue(QUEUE, table.KNOWN)
    assert any(set(table.SWEPT) <= set(entry.rows) for entry in listed)
    assert len({entry.file for entry in listed}) == len(listed) >= 12
    assert {entry.level for entry in listed} == {"easy", "medium", "hard"}
    assert all(set(table.BESIDE) <= set(entry.rows) for entry in listed)
    assert sum(set(table.ROWS) <= set(entry.rows) for entry in listed) == len(listed) - 4
    names = [name for entry in listed for name in (entry.file, entry.policy)]
    assert all(Path(name).name == name for name in names)


def test_its_motions_are_among_asaps(
    table: ModuleType, queue: ModuleType, shared_data: Path
) -> None:
    """Where these are on the machine."""
    for entry in queue.read_queue(QUEUE, table.KNOWN):
        assert queue.file_of(entry.file, shared_data / "motions", "--motions").is_file()
        if entry.policy:
            assert queue.file_of(entry.policy, shared_data / "policies", "--policies").is_file()


SMALL = """
[rows]
some = ["vanilla", "noise-0.1"]
[[motions]]
file = "absent.npz"
level = "easy"
rows = ["oracle"]
[[motions]]
file = "sways.npz"
level = "easy"
rows = ["some", "ours"]
"""


def test_it_goes_on_after_a_cell_that_cannot_be_made(
    table: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It ends with 1; typed again, only what is missing is tried."""
    made: list[tuple[str, int]] = []

    def scored(cell: Any, row: str) -> dict[str, float]:
        made.append((row, cell.seed))
        if row == "vanilla":
            raise DataError("it fell")
        return {name: 1.0 for name in (*table.SCORES, "survival", "seconds")}

    monkeypatch.setattr(table.Cell, "scored", scored)
    standing_motion(Robot.load("g1_23dof"), 0.3).save(tmp_path / "deep" / "sways.npz")
    (tmp_path / "q.toml").write_text(SMALL)
    words = ["--queue", str(tmp_path / "q.toml"), "--motions", str(tmp_path), "--seeds", "0", "1"]
    words += ["--results", str(tmp_path / "r.json"), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["closed_loop.py", *words])
    with pytest.raises(SystemExit, match="1"):
        table.main()
    shown = capsys.readouterr()
    assert "has no absent.npz" in shown.err and "sways.npz, vanilla: it fell" in shown.err
    assert "noise-0.1" in shown.out
    assert set(read_json(tmp_path / "r.json")["sways"]) == {"noise-0.1", "ours"}
    assert made == [("vanilla", 0), *((r, s) for r in ("noise-0.1", "ours") for s in (0, 1))]
    made.clear()
    with pytest.raises(SystemExit, match="1"):
        table.main()
    assert made == [("vanilla", 0)]


def test_rows_are_tuned_alike_but_for_what_they_are_about(table: ModuleType) -> None:
    """The rows of the table by the settings of `finetune` alone."""
    cell = table.Cell(None, None, 0, type("Args", (), {"tuning": 1.2e6}))
    simulated = [row for row in table.ROWS if row != "ceiling"]
    assert all(cell.settings(row) == table.FINETUNED.with_samples(1.2e6) for row in simulated)
    assert cell.settings("ceiling").vary == 0
    assert [cell.settings(f"noise-{n:g}").action_noise for n in table.NOISES] == list(table.NOISES)
    assert cell.settings("intervals").ranges == "intervals"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL.replace('"ours"', '"our"'), "unknown row 'our'. Did you mean 'ours'"),
        (SMALL.replace("easy", "eazy"), "unknown level 'eazy'"),
        (SMALL.replace("file =", "flie ="), "'flie' is not known"),
        ("rows = 3", "is no queue"),
        ("rows = [", "is no queue"),
    ],
)
def test_what_is_wrong_with_a_queue_is_said(
    text: str, said: str, table: ModuleType, queue: ModuleType, tmp_path: Path
) -> None:
    """Before anything is made."""
    (tmp_path / "q.toml").write_text(text)
    with pytest.raises(GaplessError, match=said):
        queue.read_queue(tmp_path / "q.toml", table.KNOWN)


def test_a_network_of_asaps_is_given_its_contract(queue: ModuleType, tmp_path: Path) -> None:
    """Its 380 inputs; a file that has a contract is its own."""
    network = tmp_path / "kick_level1.onnx"
    file = queue.contract_beside(network, 3.933, tmp_path / "out")
    contract, named = read_toml(file)
    assert (contract.width, contract.motion_seconds, named) == (380, 3.93, network)
    network.with_suffix(".toml").write_text("")
    assert queue.contract_beside(network, 3.933, tmp_path / "out") == network
