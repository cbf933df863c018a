"""Every example runs as it stands, offline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))
SLOW = (
    "04_a_payload",
    "05_learn_a_correction",
    "06_compare_methods",
    "07_use_the_corrected_simulator",
)
"""Those that train a correction or climb a ladder of models: up to two minutes of a core."""
STUCK = 1800.0
"""Seconds after which an example hangs: a busy machine is no failure."""


def _cases() -> list[object]:
    """Each example, marked where it is slow."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(p, marks=marks[p.stem in SLOW], id=p.stem) for p in EXAMPLES]


@pytest.mark.parametrize("script", _cases())
def test_example_runs(script: Path, tmp_path: Path) -> None:
    """Exit code 0, something said, nothing left in the working folder."""
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=STUCK
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert list(tmp_path.iterdir()) == []
