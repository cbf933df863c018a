"""`gapless compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.recordings import Dataset
from gapless.robots import Robot
from hidden_pair import recorded

LOCKED = ("shoulder_pan", "wrist_flex", "wrist_roll", "gripper")
FAST = ["--physics-step", "0.005", "--horizons", "0.5", "--set", "identify.windows=6"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two units of a soft arm, a folder each."""
    robot = Robot.load("so101", lock=LOCKED)
    soft = robot.with_joints(kp=0.65 * robot.joints.kp)
    folder = tmp_path_factory.mktemp("data")
    for unit in ("1", "2"):
        clips = recorded(soft, ["a", "b", "c", "d"], seconds=3.0, unit=unit, payloads={})
        Dataset.from_recordings(clips, robot="so101").save(folder / unit)
    return folder


def command(data: Path, *extra: str) -> list[str]:
    """A comparison that is soon done."""
    return ["compare", str(data / "1"), "--lock", *LOCKED, *FAST, *extra]


def test_methods_side_by_side(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables and figures of held-out motions, and of another unit in motions not learned from."""
    file = tmp_path / "c.json"
    asked = ["--methods", "raw,identify", "--test-on", str(data / "2"), "--json", str(file)]
    assert main(command(data, *asked, "--test", "0.5")) == 0
    shown = capsys.readouterr().out
    for title in ("held-out motions", "motions of 2"):
        assert f"replay error (rad) on {title}" in shown
    found = json.loads(file.read_text())
    assert [row["method"] for row in found["rows"]] == ["raw", "identify"]
    split = found["split"]
    assert found["learn"]["units"] == found["test"]["units"] == ["1"] and len(split["test"]) == 2
    (other,) = found["others"]
    assert other["test"]["units"] == ["2"] and other["test"]["recordings"] == 2
    assert [row["method"] for row in other["rows"]] == ["raw", "identify"]
    assert not set(split["test"]) & {*split["learn"], *split["choose"]}
    assert not list(tmp_path.glob(".*progress*"))


def test_stopping_keeps_what_is_finished(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 130 and how to go on; the same command then goes on."""
    from gapless.comparison.methods import METHODS, Bench
    from gapless.worlds.world import World

    def stopped(bench: Bench) -> World:
        raise KeyboardInterrupt

    asked = command(data, "--methods", "ours", "--seeds", "1", "--json", str(tmp_path / "c.json"))
    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "ours", stopped)
        assert main(asked) == 130
    assert "same command again" in capsys.readouterr().err
    assert list(tmp_path.glob(".*progress*"))
    monkeypatch.setitem(METHODS, "ours", lambda bench: bench.world)
    assert main(asked) == 0
    assert "no improvement" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--methods", "raw,aspa"], "Did you mean 'asap'"),
        (["--set", "ours=3"], "METHOD.KEY=VALUE"),
        (["--horizons", "soon"], "'soon'"),
        (["--test-on", "SAME", "--test", "0"], "learned from too"),
        (["--test", "0"], "nothing is held out"),
        (["--test-on", "SAME", "--units", "9"], "units 9"),
    ],
)
def test_what_is_wrong_is_said(
    data: Path, extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a message that names it."""
    given = [str(data / "1") if e == "SAME" else e for e in extra]
    assert main(command(data, *given)) == 2
    assert message in " ".join(capsys.readouterr().err.split())
