"""`gapless finetune`: in a run or a named world, and errors to act on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.cli.main import main
from gapless.closing import Run
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.parameters import parameters_of
from gapless.policies import Policy
from gapless.policies.mlp_weights import read_mlp
from gapless.robots import Robot
from gapless.tracking.varied_worlds import varied_world
from pendulum import pendulum, swings
from quick_trackers import TINY

SMALL = ["--environments", "8", "--samples", "200"]
"""One iteration, of which the critic alone learns."""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the pendulum."""
    folder = tmp_path_factory.mktemp("pendulum")
    made = gapless.train(swings(0.5), pendulum(folder), folder / "policy", TINY)
    return made.source.parent


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that has only begun: its raw simulator."""
    facts = {"settings": {"physics_step": 0.004}, "data": {"rate": 50.0}}
    return Run.begin(tmp_path / "run", pendulum(tmp_path / "robot"), facts).path


def same_actions(one: Path, other: Path) -> bool:
    """Of both networks, for anything."""
    mine, its = (read_mlp(p / "policy.onnx") for p in (one, other))
    seen = np.random.default_rng(0).normal(size=(9, mine.width))
    return np.allclose(mine(seen), its(seen), atol=1e-5)


def test_a_policy_is_tuned_in_a_run(
    policy: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its last simulator that was kept; the policy begins as it was."""
    out, figures = tmp_path / "tuned", tmp_path / "f.json"
    asked = ["--run", str(run), "--out", str(out), "--json", str(figures), "--noise", "0.01"]
    assert main(["finetune", str(policy), *asked, *SMALL]) == 0
    shown = capsys.readouterr()
    assert "tuned: bodies are" in shown.out
    assert f"next: gapless policy show {out}\n" in shown.err  # it is held, and never evaluated
    facts = json.loads(figures.read_text())
    assert facts["tuned"] and facts["world"]["timestep"] == 0.004
    assert facts["settings"]["action_noise"] == 0.01
    assert same_actions(policy, out)


def test_a_policy_is_tuned_in_a_named_world(policy: Path, tmp_path: Path) -> None:
    """Of a robot from a file, which its contract cannot name."""
    out, robot = tmp_path / "tuned", pendulum(tmp_path).source
    asked = ["--world", "mujoco:hard:2", "--robot", robot, "--out", str(out)]
    assert main(["finetune", str(policy), *asked, *SMALL]) == 0
    assert Policy.load(out).contract.rate == 50.0 and same_actions(policy, out)


def test_a_built_in_robot_is_held_as_in_its_training(tmp_path: Path) -> None:
    """An arm that was trained on its table is tuned there, not in the air."""
    arm, out = Robot.load("so101"), tmp_path / "tuned"
    q = np.tile(arm.joints.default, (26, 1))
    still = replace(swings(0.5), joints=arm.joints.names, q=q)
    gapless.train(still, arm, tmp_path / "arm", TINY)
    asked = ["--world", "mujoco:mild", "--out", str(out)]
    assert main(["finetune", str(tmp_path / "arm"), *asked, *SMALL]) == 0


def test_simulators_are_drawn_within_the_intervals_of_a_run(
    policy: Path, run: Path, tmp_path: Path
) -> None:
    """As many as were asked for, the same for the same seed; Python and command line alike."""
    robot = Run.open(run).robot
    kp = float(robot.joints.kp[0])
    stiff = parameters_of(robot, "kp")
    found = tuple(Estimate(p, 0.8 * kp, 0.05 * kp, True, False, (kp,)) for p in stiff)
    Calibration(robot.name, found, np.eye(len(found))).save(run / "calibration.json")
    (run / "identified.json").write_text('{"kept": true}')
    asked = ["--run", str(run), "--out", str(tmp_path / "tuned"), "--vary", "3"]
    assert main(["finetune", str(policy), *asked, *SMALL]) == 0
    facts = json.loads((tmp_path / "tuned" / "training.json").read_text())
    assert facts["settings"]["vary"] == 3
    many = varied_world(Run.open(run).world(), 3)
    assert facts["world"]["effects_hash"] == many.identity.effects_hash
    drawn = [float(w.robot.joints.kp[0]) / kp for w in many.worlds]
    assert len(set(drawn)) == 3 and all(0.7 < share < 0.9 for share in drawn)


def test_another_motion_may_be_followed(policy: Path, run: Path, tmp_path: Path) -> None:
    """Of its own length."""
    other, out = swings(0.8, "other").save(tmp_path / "other.npz"), tmp_path / "tuned"
    asked = ["--run", str(run), "--out", str(out), "--motion", str(other)]
    assert main(["finetune", str(policy), *asked, *SMALL]) == 0
    assert Policy.load(out).contract.motion_seconds == 0.8


WRONG = {
    "nowhere": ([], "where shall it be tuned? give --run RUN, --calibration FILE, or"),
    "both": (["--world", "mujoco", "--run", "RUN"], "where shall it be tuned?"),
    "no run": (["--run", "nothing"], "nothing is no run"),
    "stage": (["--run", "RUN", "--stage", "corected"], "unknown stage 'corected'. Did you mean"),
    "robot": (["--world", "mujoco"], "unknown robot 'pendulum'"),
    "engine": (["--world", "mujco", "--robot", "ROBOT"], "unknown engine 'mujco'"),
    "motion": (["--run", "RUN", "--motion", "absent.npz"], "absent.npz does not exist"),
    "noise": (["--run", "RUN", "--noise", "-1"], "action_noise is -1.0; expected"),
    "exploration": (["--run", "RUN", "--exploration", "-1"], "noise is -1.0; expected"),
    "intervals": (["--run", "RUN", "--vary", "3"], "--vary draws from the intervals of identified"),
    "vary": (["--run", "RUN", "--vary", "-1"], "vary is -1; expected"),
    "environments": (["--run", "RUN", "--environments", "1"], "expected 1 or more"),
    "samples": (["--run", "RUN", "--samples", "-5"], "samples is -5.0; expected control steps"),
    "not a number": (["--run", "RUN", "--noise", "nan"], "action_noise is nan; expected"),
    "seed": (["--run", "RUN", "--seed", "-1"], "seed is -1; give 0 or more"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_named(
    case: str, policy: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was expected; nothing is left behind."""
    wrong, said = WRONG[case]
    files = {"RUN": str(run), "ROBOT": str(tmp_path / "robot" / "pendulum.xml")}
    before = sorted(tmp_path.rglob("*"))
    asked = [*SMALL, *(files.get(word, word) for word in wrong)]
    assert main(["finetune", str(policy), "--out", str(tmp_path / "tuned"), *asked]) == 2
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_policy_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a network, and no folder at all."""
    for given in (tmp_path, tmp_path / "absent"):
        asked = ["finetune", str(given), "--world", "mujoco", "--out", str(tmp_path / "t")]
        assert main(asked) == 2
    assert "does not exist" in capsys.readouterr().err
