"""What is not installed is said at once, with the one command that brings it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from gapless.cli import demo_command
from gapless.cli.main import main

ROOT = Path(__file__).parents[2]


def test_the_demo_says_what_is_missing_before_it_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every module and its extra; nothing is written."""
    needed = {"no_such_module": "learn", "neither_this": "report", "numpy": "plots"}
    monkeypatch.setattr(demo_command, "NEEDED", needed)
    assert main(["demo", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "no_such_module, neither_this (of the extras learn, report)" in said
    assert "pip install 'gapless[all]'" in said and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_wheel_in_a_clean_environment(tmp_path: Path) -> None:
    """It installs with what every installation needs, imports, and says what the demo lacks."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path)]
    subprocess.run([*pip, str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("gapless-*.whl")
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean/bin/python"
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, env=clean)
    told = [tmp_path / "clean/bin/gapless", "demo", "--out", tmp_path / "out"]
    done = subprocess.run(told, capture_output=True, text=True, env=clean, cwd=tmp_path)
    assert done.returncode == 2 and "pip install 'gapless[all]'" in done.stderr
    assert "torch" in done.stderr and "matplotlib" in done.stderr
    assert not (tmp_path / "out").exists()
