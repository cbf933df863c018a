"""The commands of README and docs are run, with small inputs and for a short time."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_inputs import Inputs
from doc_pages import Command, commands
from doc_running import ONLY_PARSED, SMALL, filled_in, prepare, shrunk, slow, why_not_run

from gapless.cli.main import VERBS, main

OURS = [c for c in commands() if c.words[0] == "gapless"]
RUN = [c for c in OURS if why_not_run(c) is None]


def _cases() -> list[object]:
    """Each command, marked where it is slow."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(c, marks=marks[slow(c)], id=f"{c.place} {c}"[:120]) for c in RUN]


def test_every_verb_is_placed() -> None:
    """A new verb is run, or it is said why not."""
    parsed_only = {start.split()[1] for start in ONLY_PARSED}
    assert [verb for verb in VERBS if verb not in SMALL and verb not in parsed_only] == []


def test_what_is_not_run_is_there() -> None:
    """The list of commands that are only parsed does not outlive them."""
    texts = [str(c) for c in OURS]
    stale = [s for s in ONLY_PARSED if not any(text.startswith(s) for text in texts)]
    assert [start for start in stale if start.split()[1] in SMALL] == []


@pytest.mark.parametrize("command", _cases())
def test_it_runs(
    command: Command,
    inputs: Inputs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 0 in a folder with small inputs, and no part of it failed."""
    monkeypatch.chdir(tmp_path)
    words = filled_in(command)
    prepare(command, words, inputs, tmp_path)
    assert main(shrunk(words)) == 0
    assert "failed" not in capsys.readouterr().out
