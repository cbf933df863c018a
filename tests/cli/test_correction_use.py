"""`gapless evaluate --correction-use`: a policy beside the one that undoes a run's correction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapless import Policy, Robot, Run, Scenario, evaluate
from gapless.artifact import write_json
from gapless.cli.main import main
from gapless.evaluation.inverted_policy import InvertedPolicy
from gapless.worlds.named_worlds import world_of
from known_correction import share_of_error
from still_policy import write_policy

SMALL = ["--episodes", "2", "--seconds", "1"]
WORLD = "mujoco:mild:1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quadruped that stands, and a run whose correction says that its drives are weak."""
    path = tmp_path_factory.mktemp("use")
    write_policy(path / "p")
    robot = Robot.load("go2", mount="free")
    facts = {"settings": {"physics_step": 0.005}, "data": {"rate": 50.0}}
    run = Run.begin(path / "run", robot, facts)
    share_of_error(run.raw(), -0.3).save(path / "run" / "correction")
    write_json(path / "run" / "corrected.json", {"kept": True})
    return path


@pytest.mark.parametrize("use", ["invert", "invert:gradient"])
def test_both_are_set_side_by_side(folder: Path, tmp_path: Path, use: str) -> None:
    """The same columns, and what Python finds."""
    policy, file = folder / "p" / "policy.toml", tmp_path / "found.json"
    asked = ["--run", str(folder / "run"), "--correction-use", use, "--world", WORLD, *SMALL]
    assert main(["evaluate", str(policy), *asked, "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    plain, undone = found[str(policy)], found[f"{policy}, inverted"]
    assert [w["world"] for w in undone["worlds"]] == [WORLD]
    assert undone["worlds"][0]["scores"].keys() == plain["worlds"][0]["scores"].keys()
    counts = found["inversions"][f"{policy}, inverted"]
    assert counts["solved"] == 100
    assert counts["mean_change_rad"] > 0.001
    run, method = Run.open(folder / "run"), use.partition(":")[2] or "fixed-point"
    assert run.correction is not None
    again = InvertedPolicy.of(Policy.load(policy), run.correction, method, 0.0)
    world = world_of(WORLD, run.robot)
    same = evaluate(again, {WORLD: world}, Scenario(episodes=2, seconds=1.0)).to_dict()
    assert json.loads(json.dumps(same))["worlds"] == undone["worlds"]


def test_without_a_robot_the_corrected_simulator_stands_for_it(
    folder: Path, tmp_path: Path
) -> None:
    """It is the only world then."""
    policy, file = folder / "p" / "policy.toml", tmp_path / "found.json"
    asked = ["--run", str(folder / "run"), "--correction-use", "invert", *SMALL]
    assert main(["evaluate", str(policy), *asked, "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert [w["world"] for w in found[str(policy)]["worlds"]] == ["corrected"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--correction-use", "invert"], "needs a --run"),
        (["--run", "RUN", "--correction-use", "undo"], "invert:gradient"),
        (["--run", "RUN", "--correction-use", "invert", "--sensitivity", "1"], "--sensitivity"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    """With what was expected."""
    words = [str(folder / "run") if word == "RUN" else word for word in asked]
    assert main(["evaluate", str(folder / "p" / "policy.toml"), *words, *SMALL]) == 2
    assert said in capsys.readouterr().err
