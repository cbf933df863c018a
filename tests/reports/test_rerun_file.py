"""Replays as a file of rerun, read by rerun's own program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.closing import Run
from gapless.errors import MissingExtraError
from gapless.reports.rerun_file import write_rerun
from gapless.reports.viewer_sources import RunSource
from hidden_pair import nominal_pair
from planted_run import planted_run


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Replays of an arm."""
    return planted_run(tmp_path_factory.mktemp("runs") / "arm", nominal_pair(), {"kp": 0.7})


def test_rerun_reads_every_robot_and_joint(planted: Run, tmp_path: Path) -> None:
    """Its own tool lists them."""
    pytest.importorskip("rerun", reason="rerun-sdk is not installed: pip install 'gapless[rerun]'")
    file = tmp_path / "replays.rrd"
    assert main(["view", str(planted.path), "--rerun", str(file)]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", "-v", str(file)],
        capture_output=True,
        text=True,
        check=True,
    )
    for track in ("real", "raw", "identified", "corrected"):
        assert f"robots/{track}/upper_arm" in done.stdout
        assert f"joints/elbow_flex/{track}" in done.stdout


def test_without_rerun_it_says_what_to_install(
    planted: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And writes nothing."""
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(MissingExtraError, match=r"gapless\[rerun\]"):
        write_rerun(RunSource(planted), tmp_path / "replays.rrd")
    assert not (tmp_path / "replays.rrd").exists()
