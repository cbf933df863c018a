"""A part of `make fuzz` in every run of the tests, and the cases that once broke something."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from fuzz.campaign import Tally, try_reader
from fuzz.cases import BROKEN, READ, READERS, REFUSED, Bench

KEPT = json.loads((Path(__file__).parent / "kept_cases.json").read_text())
"""Reader -> numbers of cases that once ended in a traceback."""
CASES = 60


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if r.slow else []) for n, r in READERS.items()],
)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """Never an exception but ours; what is not damaged is read, and most damage is noticed."""
    bench = Bench(READERS[name], tmp_path / "bench")
    assert bench.attempt() == (READ, "")
    found: dict[str, int] = {}
    for number in [*KEPT.get(name, []), *range(CASES)]:
        how, why = bench.case(number)
        assert how != BROKEN, f"{name} {number}\n{why}"
        found[how] = found.get(how, 0) + 1
    assert found.get(REFUSED, 0) > 0
    assert bench.attempt() == (READ, "")


def test_a_number_is_the_same_damage_every_time(tmp_path: Path) -> None:
    """So that a failure can be looked at again."""
    seen = []
    for place in ("a", "b"):
        bench = Bench(READERS["mjcf"], tmp_path / place)
        for number in range(10):
            with bench.damaged(number) as path:
                seen.append(path.read_bytes())
    assert seen[:10] == seen[10:] and len(set(seen)) > 5


def test_the_campaign_counts_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case is read or refused; asked again for more, it does only those."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]))
    first = try_reader("safety.toml", 5, tmp_path)
    again = try_reader("safety.toml", 8, tmp_path)
    assert first.done == 5 and again.done == 8
    assert again.read + again.refused == 8 and not again.failures


def test_a_process_that_is_ended_is_a_failure() -> None:
    """The case it was at is named, and the next one follows."""
    tally = Tally("mjcf", done=7)
    tally.ended(-signal.SIGPROF)
    tally.ended(None)
    assert [f["number"] for f in tally.failures] == [7, 8] and tally.done == 9
    assert "over 10 s" in tally.failures[0]["how"] and "silent" in tally.failures[1]["how"]
