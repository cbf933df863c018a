"""A few kills of every command; `make kill-test` makes hundreds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kills.jobs import JOBS


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_a_killed_command_gives_the_same_when_it_is_run_again(name: str, tmp_path: Path) -> None:
    """In a process that has computed nothing yet, from which the killed ones are forked."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    told = ["--count", "3", "--jobs", name, "--out", str(tmp_path), "--seed", "5"]
    run = [sys.executable, "-m", "kills.campaign", *told]
    done = subprocess.run(
        run, env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}, capture_output=True
    )
    found = json.loads((tmp_path / "kills.json").read_text())
    assert done.returncode == 0, done.stdout.decode()
    assert found["kills"] >= 1 and not found["jobs"][0]["problems"]
