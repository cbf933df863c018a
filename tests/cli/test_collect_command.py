"""`gapless collect` and `gapless check` on what it made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless.cli.main import main

ARM = ["--robot", "so101", "--mount", "fixed", "--levels", "whole_body", "--seconds", "2"]
EFFECTS = ["--only", "strength", "coulomb", "encoder_noise"]


def test_collect_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A table for each dataset, the speed, the command on the card; check finds it clean."""
    out, figures = tmp_path / "out", tmp_path / "figures.json"
    options = [*ARM, *EFFECTS, "--units", "1", "--held-out", "2", "--repeats", "2"]
    assert main(["collect", *options, "--out", str(out), "--json", str(figures)]) == 0
    shown = capsys.readouterr().out
    assert "fit/50hz" in shown and "robot hours a minute" in shown and "28.46 h take" in shown
    found = json.loads(figures.read_text())
    assert found["datasets"]["held_out/50hz"]["sequences"] == 2
    assert found["minutes_for_simlifter"] > 0
    assert "gapless collect --robot so101" in (out / "README.md").read_text()
    assert main(["check", str(out), "--json", str(tmp_path / "check.json")]) == 0
    assert "clean" in capsys.readouterr().out
    checked = json.loads((tmp_path / "check.json").read_text())
    assert checked["ok"] and set(checked["datasets"]) == {"fit/50hz", "held_out/50hz"}
    assert main(["collect", *options, "--out", str(out)]) == 0
    assert "were there already" in capsys.readouterr().out


def test_measure_reads_a_collected_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The paired channels do not confuse the measurement."""
    monkeypatch.setattr("gapless.collection.card.draw", lambda *_: None)
    out = tmp_path / "out"
    assert main(["collect", *ARM, *EFFECTS, "--out", str(out)]) == 0
    assert main(["measure", str(out / "fit/50hz"), "--no-causes", "--horizons", "0.5"]) == 0
    assert "MPJAE" in capsys.readouterr().out.upper()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "simlfter"], "Did you mean 'simlifter'"),
        ([], "--preset simlifter, or --robot"),
        ([*ARM, "--payloads", "1", "--payload-links", "hnad"], "unknown link 'hnad'"),
        ([*ARM, "--payloads", "1"], "--payload-links LINK"),
        ([*ARM, "--only", "backlsh"], "Did you mean 'backlash'"),
        (["--robot", "so101", "--motions", "chrip"], "Did you mean 'chirp'"),
    ],
)
def test_bad_input(
    tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    """Exit code 2, a message that helps, and nothing on the disk."""
    assert main(["collect", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
