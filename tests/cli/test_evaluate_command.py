"""`gapless evaluate` and `gapless policy`: the numbers of Python, and errors to act on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless import Dataset, MujocoWorld, Policy, Robot, Scenario, evaluate
from gapless.cli.main import main
from still_policy import write_policy

SHORT = ["--episodes", "3", "--seconds", "2.5"]


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A contract and its network."""
    return write_policy(tmp_path)


def test_command_and_python_give_the_same_numbers(policy: Path, tmp_path: Path) -> None:
    """Word for word."""
    out = tmp_path / "e.json"
    assert main(["evaluate", str(policy), *SHORT, "--push", "3", "--json", str(out)]) == 0
    world = MujocoWorld(Robot.load("go2", mount="free"))
    scenario = Scenario(episodes=3, seconds=2.5, push=3.0)
    found = evaluate(Policy.load(policy), world, scenario)
    assert json.loads(out.read_text()) == json.loads(json.dumps(found.to_dict()))


def test_several_policies_are_set_side_by_side(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each as if it were alone; what is of one policy is refused."""
    (tmp_path / "other").mkdir()
    both = [str(policy), str(write_policy(tmp_path / "other"))]
    out = tmp_path / "e.json"
    assert main(["evaluate", *both, *SHORT, "--world", "mujoco", "--json", str(out)]) == 0
    shown, found = capsys.readouterr().out, json.loads(out.read_text())
    assert "survival" in shown and list(found) == both
    world = MujocoWorld(Robot.load("go2", mount="free"))
    alone = evaluate(Policy.load(policy), {"mujoco": world}, Scenario(episodes=3, seconds=2.5))
    assert found[both[0]] == json.loads(json.dumps(alone.to_dict()))
    assert main(["evaluate", *both, "--record", str(tmp_path / "r")]) == 2
    assert "--record is of one policy" in capsys.readouterr().err
    assert main(["evaluate", *both, "--motions", "a", "b", "c"]) == 2
    assert "3 motions for 2 policies" in capsys.readouterr().err


def test_a_hidden_robot_is_recorded_and_predicted(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dataset under a policy, then what the raw simulator predicts of it."""
    logs, out = tmp_path / "logs", tmp_path / "e.json"
    common = [str(policy), *SHORT, "--command", "0,0,0"]
    assert (
        main(["evaluate", *common, "--world", "mujoco", "mujoco:mild", "--record", str(logs)]) == 0
    )
    assert len(Dataset.open(logs)) == 3
    assert main(["evaluate", *common, "--against", str(logs), "--json", str(out)]) == 0
    assert "predicted and done" in capsys.readouterr().out
    assert json.loads(out.read_text())["closed_loop"]["recordings"] == 3


def test_show_prints_the_contract(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns, joints, gains; the same as JSON."""
    out = tmp_path / "c.json"
    assert main(["policy", "show", str(policy.parent), "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "12 to 14" in shown and "FL_calf_joint" in shown
    assert json.loads(out.read_text())["rate"] == 50


def test_check_says_what_fails(policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And exits with 1."""
    assert main(["policy", "check", str(policy), "--no-simulation"]) == 0
    assert main(["policy", "check", str(policy), "--robot", "g1", "--no-simulation"]) == 1
    assert "fails: joints" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--command", "fast"], "expected e.g. 0.5,0,0"),
        (["--payload", "trunk"], "expected LINK=KG"),
        (["--payload", "base=1@0,0"], "LINK=KG@X,Y,Z"),
        (["--payload", "base=500"], "beyond the motors of go2"),
        (["--payload", "trunk=1"], "unknown link 'trunk'"),
        (["--command", "0.5"], "has 3 numbers"),
        (["--sensitivity", "4"], "needs a --run"),
        (["--run", "nowhere"], "is no run"),
        (["--run", "nowhere", "--calibration", "c.json"], "give one of --run, --calibration"),
        (["--calibration", "absent.json"], "absent.json"),
        (["--episodes", "0"], "are no scenario"),
        (["--world", "mujoco:huge"], "unknown preset 'huge'"),
        (["--world", "bullet"], "unknown engine 'bullet'"),
        (["--world", "physx:hard:x"], "the unit is 'x'"),
        (["--against", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_named(
    policy: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was expected."""
    assert main(["evaluate", str(policy), "--seconds", "0.1", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_network_without_a_contract_says_what_to_add(
    policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And an empty folder, and a missing file."""
    policy.rename(policy.with_suffix(".txt"))
    network = policy.with_name("policy.onnx")
    assert main(["policy", "show", str(network)]) == 2
    assert "action.scale" in capsys.readouterr().err
    empty = policy.parent / "empty"
    empty.mkdir()
    assert main(["policy", "show", str(empty)]) == 2
    assert main(["policy", "show", str(policy.parent / "absent.onnx")]) == 2
    assert "does not exist" in capsys.readouterr().err
