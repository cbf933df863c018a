"""`gapless view` from the command line: an address, a clean end, refusals that say what to type."""

from __future__ import annotations

import socket
import webbrowser
from pathlib import Path

import pytest

from gapless.cli.main import main
from gapless.cli.view_command import source_of
from gapless.recordings import Dataset
from gapless.reports.viewer import Viewer
from gapless.robots import Robot
from hidden_pair import recorded

LOCKED = ["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One short motion of two joints of an arm."""
    pair = Robot.load("so101", lock=LOCKED)
    path = tmp_path_factory.mktemp("data") / "waves"
    held = {joint: 0.0 for joint in LOCKED}
    waves = recorded(pair, ["a"], seconds=1.0, held=held)
    Dataset.from_recordings(waves, "so101").save(path)
    return path


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ctrl-C as soon as it serves; gathers the addresses that a browser was asked to open."""
    opened: list[str] = []

    def interrupt(self: Viewer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "wait", interrupt)
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)))
    return opened


def test_view_says_the_address_and_ends_cleanly(
    data: Path, ended: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It opens a browser, says so where there is none, and leaves it be where asked to."""
    assert main(["view", str(data), "--port", "0"]) == 0
    text = capsys.readouterr()
    assert "http://127.0.0.1:" in text.out and "no browser" in text.out
    assert ended[0] in text.out
    assert main(["view", str(data), "--port", "0", "--no-browser"]) == 0
    assert len(ended) == 1 and "no browser" not in capsys.readouterr().out


def test_a_port_in_use(data: Path, ended: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The message names it, and --port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["view", str(data), "--port", port, "--no-browser"]) == 2
    message = capsys.readouterr().err
    assert port in message and "--port" in message


def test_a_folder_that_is_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line that says what is expected."""
    for folder in (tmp_path, tmp_path / "absent"):
        assert main(["view", str(folder), "--no-browser"]) == 2
        message = capsys.readouterr().err
        assert "neither a dataset" in message and "nor a run" in message
        assert message.count("\n") == 1


def test_the_robot_is_the_datasets_or_as_asked(data: Path) -> None:
    """Joints that no recording has are welded."""
    assert source_of(data, None, None).robot.joints.names == ("shoulder_lift", "elbow_flex")
    assert source_of(data, "so101", "fixed").robot.mount == "fixed"
