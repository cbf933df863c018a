"""gapless.deploy and `gapless deploy`: limits that somebody signed, dry runs, recordings."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.cli.main import main
from gapless.deployment.datagram_robot import DatagramRobot
from gapless.deployment.deploying import DeploySettings, deploy
from gapless.deployment.gantry import Gantry
from gapless.deployment.link_addresses import UDP_CHANNELS, LinkOptions, address_of, open_link
from gapless.deployment.safety_file import read_safety
from gapless.errors import DataError, GaplessError, NameMismatchError, SafetyError
from gapless.policies import Policy
from gapless.recordings.dataset import Dataset
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld
from still_policy import write_policy

PLAN = "stand 0.4, walk 0.4, lower, walk 0.6 0.5 0 0, damp 0.2"
HUNG = LinkOptions(hang=4.0)


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    """It holds a Go2's stance."""
    return Policy.load(write_policy(tmp_path / "policy"))


def test_a_run_in_a_world_is_recorded_by_what_was_asked(policy: Policy, tmp_path: Path) -> None:
    """From when the robot was on its feet; what was braked is not there."""
    settings = DeploySettings(plan=PLAN, options=HUNG)
    flown = deploy([policy], Robot.load("go2"), settings, tmp_path / "data")
    assert flown.ok and flown.armed and flown.recorded == tmp_path / "data"
    assert flown.stages == ("damp", "zero", "stand", "locomotion", "damp")
    clips = list(Dataset.open(tmp_path / "data"))
    assert [clip.name for clip in clips] == ["walk 0.5 0 0"] and not clips[0].flags
    assert len(clips[0].q) == pytest.approx(30, abs=3)
    assert main(["check", str(tmp_path / "data")]) == 0
    assert json.dumps(flown.to_dict()) and "flown" in flown.answer


def test_the_command_does_what_python_does(
    policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer first; the same stages, the same recording, and what to type next."""
    told = ["--plan", PLAN, "--hang", "4", "--robot", "go2", "--json", str(tmp_path / "run.json")]
    file = str(policy.source)
    assert main(["deploy", file, *told, "--record", str(tmp_path / "data")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("go2: flown") and "gapless close" in out
    found = json.loads((tmp_path / "run.json").read_text())
    settings = DeploySettings(plan=PLAN, options=HUNG)
    flown = deploy([policy], Robot.load("go2"), settings, tmp_path / "again")
    assert found["stages"] == list(flown.stages)
    one, two = (next(iter(Dataset.open(tmp_path / name))) for name in ("data", "again"))
    np.testing.assert_array_equal(one.q, two.q)


def test_a_robot_without_signed_limits_is_refused(policy: Policy, tmp_path: Path) -> None:
    """A file is written once; it must be signed; nothing else makes it fly."""
    file = tmp_path / "safety.toml"
    settings = DeploySettings(link="udp://127.0.0.1:9", plan=PLAN, safety=file, arm=True)
    with pytest.raises(SafetyError, match=r"was written from the figures.*write your name"):
        deploy([policy], Robot.load("go2"), settings)
    assert read_safety(file).signed_by == ""
    with pytest.raises(SafetyError, match="nobody signed"):
        deploy([policy], Robot.load("go2"), settings)


def _robot() -> DatagramRobot:
    world = MujocoWorld(Robot.load("go2"), 100)
    gantry = Gantry(60.0, 100)
    return DatagramRobot(world, channels=UDP_CHANNELS, patience=30.0, gantry=gantry)


def test_a_dry_run_sends_nothing_and_records_nothing(policy: Policy, tmp_path: Path) -> None:
    """Everything else is done."""
    robot, over = _robot(), threading.Event()
    living = threading.Thread(target=robot.run, args=(over.is_set,))
    living.start()
    file = tmp_path / "safety.toml"
    settings = DeploySettings(
        f"udp://127.0.0.1:{robot.address[1]}", safety=file, seconds=3.0, patience=30.0
    )
    try:
        with pytest.raises(SafetyError, match="was written"):
            deploy([policy], Robot.load("go2"), settings)
        text = file.read_text().replace('signed_by = ""', 'signed_by = "A. Tester"')
        file.write_text(text.replace('limit = 5, action = "damp"', 'limit = 5, action = "off"'))
        flown = deploy([policy], Robot.load("go2"), settings, tmp_path / "data")
    finally:
        over.set()
        living.join()
    assert not flown.armed and flown.recorded is None and not (tmp_path / "data").exists()
    assert flown.report.steps > 5 and not robot.body.commanded
    assert any("--arm" in line for line in flown.lines())


def test_what_cannot_be_flown_is_refused(policy: Policy) -> None:
    """Before anything moves."""
    go2 = Robot.load("go2")
    with pytest.raises(DataError, match="which policy"):
        deploy([], go2, DeploySettings(plan=PLAN))
    with pytest.raises(DataError, match="2 that walk"):
        deploy([policy, policy], go2, DeploySettings(plan=PLAN))
    with pytest.raises(DataError, match="nobody would ask"):
        deploy([policy], go2, DeploySettings())
    with pytest.raises(NameMismatchError, match="unknown link"):
        deploy([policy], go2, DeploySettings(link="serial", plan=PLAN))
    with pytest.raises(DataError, match="no address"):
        address_of("udp://nowhere")
    with pytest.raises(NameMismatchError, match="Unitree robot"):
        open_link("unitree", Robot.load("so101"), 50, LinkOptions())
    with pytest.raises(GaplessError, match="which policy"):
        from gapless.cli.deploy_command import run

        run([])


def test_a_run_that_left_no_recording_is_still_told(policy: Policy, tmp_path: Path) -> None:
    """A robot that is damped at once: why must not be hidden, and the same can be typed again."""
    settings = DeploySettings(plan=PLAN, seconds=0.1, options=HUNG)
    (tmp_path / "data").mkdir()
    for _ in range(2):
        flown = deploy([policy], Robot.load("go2"), settings, tmp_path / "data")
        assert flown.recorded is None and flown.report.steps == 5
        assert any("fewer than 10 control steps" in line for line in flown.lines())
    assert not list(tmp_path.glob("data.*")) and not list((tmp_path / "data").iterdir())


def test_known_loads_are_carried_and_recorded(policy: Policy, tmp_path: Path) -> None:
    """A world carries them; recordings say so. Links that are none are refused."""
    go2 = Robot.load("go2")
    loads = {go2.root: Payload(2.0)}
    settings = DeploySettings(plan=PLAN, options=HUNG, payloads=loads)
    deploy([policy], go2, settings, tmp_path / "data")
    deploy([policy], go2, replace(settings, payloads={}), tmp_path / "bare")
    loaded, bare = (next(iter(Dataset.open(tmp_path / name))) for name in ("data", "bare"))
    assert loaded.conditions.payloads == loads and bare.conditions.payloads is None
    assert np.abs(loaded.q[:20] - bare.q[:20]).max() > 1e-3
    with pytest.raises(NameMismatchError, match="wing"):
        deploy([policy], go2, replace(settings, payloads={"wing": Payload(1.0)}))
    with pytest.raises(DataError, match="which arms were weighed"):
        deploy([policy], go2, replace(settings, weighed=(tmp_path / "data",)))
