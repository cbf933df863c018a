"""A type checker finds what a script gets wrong before it runs for minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gapless

LONGEST = 600.0
RIGHT = """
import gapless

robot = gapless.Robot.load("so101")
data = gapless.Dataset.open("data/")
split = data.split(by="motion", test=0.3)
gapless.measure(split.test, gapless.MujocoWorld(robot))
found = gapless.identify(split, robot, settings=gapless.IdentifySettings(horizon=0.5))
gapless.correct(split, robot, found, settings=gapless.CorrectSettings(members=1))
run = gapless.close(data, robot, "run/", settings=gapless.CloseSettings(horizon=0.5))
print(run.summary)
"""
MISTAKES = {
    "gapless.IdentifySettings(horizon=0.5)": "gapless.IdentifySettings(horizn=0.5)",
    "gapless.CorrectSettings(members=1)": "gapless.CorrectSettings(copies=1)",
    "gapless.CloseSettings(horizon=0.5)": "gapless.CloseSettings(held_out=0.5)",
    'data.split(by="motion", test=0.3)': 'data.split(by="motions", test=0.3)',
    "split.test,": "split.held_out,",
    "run.summary": "run.sumary",
}


def complaints(path: Path, script: str) -> list[int]:
    """Lines that pyright reports."""
    path.write_text(script)
    asked = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*asked, str(path)], cwd=path.parent, capture_output=True, text=True, timeout=LONGEST
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [d["range"]["start"]["line"] for d in found if d["severity"] == "error"]


def test_fields_that_do_not_exist_are_reported(tmp_path: Path) -> None:
    """A script that is right passes; each mistake is reported in its own line."""
    pytest.importorskip("pyright")
    assert complaints(tmp_path / "right.py", RIGHT) == []
    wrong = RIGHT
    for right, mistake in MISTAKES.items():
        assert right in wrong
        wrong = wrong.replace(right, mistake)
    lines = [
        i for i, line in enumerate(wrong.splitlines()) if any(m in line for m in MISTAKES.values())
    ]
    assert sorted(set(complaints(tmp_path / "wrong.py", wrong))) == lines


def test_verbs_show_their_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    """`help(gapless.close)` says what it takes."""
    help(gapless.close)
    shown = capsys.readouterr().out
    assert "close(dataset" in shown and "settings: 'CloseSettings | None'" in shown
