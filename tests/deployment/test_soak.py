"""The soak, for a short time: each fault once over each link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install gapless[deploy]")
SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
def test_every_fault_is_answered_and_nothing_beyond_limits_arrives(tmp_path: Path) -> None:
    """By its own check, within a control step of being visible; recordings are whole."""
    out = tmp_path / "soak.json"
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(SOAK.parent)])}
    command = [sys.executable, str(SOAK), "--minutes", "0.1", "--json", str(out)]
    subprocess.run(command, check=True, env=env, timeout=600)
    for found in json.loads(out.read_text()):
        assert found["commands_heard"] > 100 and found["commands_beyond_limits"] == 0
        assert found["recordings_whole"] == found["flights"]
        for row in found["rows"]:
            assert row["answered"] == row["times"], (found["link"], row)
            assert row["worst_ticks"] <= 1, (found["link"], row)
