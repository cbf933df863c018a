"""`gapless train`: the policy of Python, a stop that resumes, and errors to act on."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gapless
from gapless.cli.main import main
from gapless.cli.train_command import Train
from gapless.cli.training_options import checkpoint_of, evaluated
from gapless.policies import Policy
from gapless.progress import Progress
from gapless.tracking import TrainSettings, training
from gapless.worlds import MujocoWorld
from pendulum import pendulum, swings

SMALL = ["--environments", "8", "--samples", "200"]
"""One iteration."""


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """A motion and its robot."""
    motion = swings(0.5).save(tmp_path / "swings.npz")
    return [str(motion), "--robot", pendulum(tmp_path / "robot").source]


def test_command_and_python_give_the_same_policy(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte; the figures as JSON, a log for TensorBoard."""
    out, figures, log = tmp_path / "a" / "p", tmp_path / "f.json", tmp_path / "log"
    told = ["--json", str(figures), "--log", str(log), "--seed", "3"]
    assert main(["train", *given, "--out", str(out), *SMALL, *told]) == 0
    shown = capsys.readouterr()
    assert "p: bodies are" in shown.out and f"next: gapless policy show {out}\n" in shown.err
    how = TrainSettings(environments=8).with_samples(200)
    world = MujocoWorld(pendulum(tmp_path / "robot"), physics_step=0.005)
    by_python = gapless.train(swings(0.5), world, tmp_path / "b" / "p", how, seed=3)
    assert (out / "policy.onnx").read_bytes() == by_python.source.read_bytes()
    assert json.loads(figures.read_text())["samples"] == 192
    assert list(log.iterdir()) and not checkpoint_of(out).exists()


def test_choices_reach_the_training(given: list[str], tmp_path: Path) -> None:
    """Preset, meaning of actions, simulators that differ, noise."""
    out = tmp_path / "p"
    choices = ["--preset", "beyondmimic", "--action", "default", "--vary", "2"]
    choices += ["--sensor-noise", "0.5", "--physics-step", "0.01"]
    assert main(["train", *given, "--out", str(out), *SMALL, *choices]) == 0
    facts = json.loads((out / "training.json").read_text())
    how, contract = facts["settings"], Policy.load(out).contract
    assert (how["preset"], how["action"], how["vary"]) == ("beyondmimic", "default", 2)
    assert (how["sensor_noise"], how["noise"]) == (0.5, 1.0)
    assert contract.physics_step == 0.01 and contract.action.meaning == "offset"


def stopping(at: int) -> Any:
    """train(), of which somebody presses Ctrl-C."""

    def train(*args: Any, **options: Any) -> Policy:
        shown = options.pop("watch")

        def watch(now: Progress) -> None:
            shown(now)
            if now.done >= at:
                raise KeyboardInterrupt

        return training.train(*args, **options, watch=watch)

    return train


@pytest.mark.slow
def test_the_same_command_resumes(
    given: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After Ctrl-C; the progress lies beside the policy until it is written."""
    out = tmp_path / "p"
    asked = ["train", *given, "--environments", "4", "--samples", str(12 * 4 * 24)]
    with monkeypatch.context() as patched:
        patched.setattr("gapless.tracking.train", stopping(2))
        assert main([*asked, "--out", str(out)]) == 130
        assert "nothing was finished yet" in capsys.readouterr().err
        patched.setattr("gapless.tracking.train", stopping(11))
        assert main([*asked, "--out", str(out)]) == 130
    assert "the same command again resumes" in capsys.readouterr().err
    assert checkpoint_of(out).is_file() and not out.exists()
    assert main([*asked, "--out", str(out), "--seed", "1"]) == 2
    assert "--restart" in capsys.readouterr().err
    assert main([*asked, "--out", str(out)]) == 0
    assert " 11 of 12" in capsys.readouterr().err  # the first line: it did not begin anew
    assert (out / "policy.onnx").is_file() and not checkpoint_of(out).exists()


def test_one_motion_of_several_is_picked(given: list[str], tmp_path: Path) -> None:
    """By its name; the first otherwise."""
    folder = tmp_path / "motions"
    folder.mkdir()
    for name in ("a", "b"):
        replace(swings(0.5), name=name).save(folder / f"{name}.npz")
    out = tmp_path / "p"
    asked = ["train", str(folder), *given[1:], "--out", str(out), *SMALL]
    assert main([*asked, "--pick", "b"]) == 0
    assert json.loads((out / "training.json").read_text())["motion"] == "b"


def test_what_is_typed_next_works(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A robot that is held is not evaluated; one on its feet is, by the file it came from."""
    out, held = tmp_path / "a policy", pendulum(tmp_path / "robot")
    assert main(["train", *given, "--out", str(out), *SMALL]) == 0
    typed = capsys.readouterr().err.splitlines()[-1].removeprefix("next: gapless ")
    assert main(shlex.split(typed)) == 0
    asked = Train(motion=Path("m.npz"), robot=held.source, out=Path("p"), lock=("arms",))
    free = replace(held, mount="free")
    told = f"gapless evaluate p --world mujoco --robot {held.source} --lock arms"
    assert evaluated(asked, free, "--world", "mujoco") == told
    assert evaluated(asked, free, "--run", "r") == "gapless evaluate p --run r"


WRONG = {
    "robot": (["--robot", "g1_24dof"], "g1_24dof"),
    "preset": (["--preset", "asapp"], "unknown preset 'asapp'. Did you mean 'asap'"),
    "action": (["--action", "torque"], "unknown meaning of actions 'torque'"),
    "world": (["--world", "bullet"], "unknown engine 'bullet'"),
    "pick": (["--pick", "swimgs"], "unknown motion 'swimgs'. Did you mean 'swings'"),
    "lock": (["--lock", "knee"], "unknown joint or joint group 'knee'"),
    "few environments": (["--environments", "2"], "no more minibatches than environments"),
    "push of a held robot": (["--push", "1"], "a push: that needs a base"),
    "noise": (["--sensor-noise", "-1"], "sensor_noise is -1.0; expected"),
    "vary a hidden robot": (["--world", "mujoco:hard", "--vary", "2"], "can be varied"),
    "vary too many": (["--vary", "9"], "vary asks for 9 simulators"),
    "physics step": (["--physics-step", "0"], "must be above 0"),
    "no samples": (["--samples", "-5"], "samples is -5.0; expected control steps"),
    "samples without end": (["--samples", "inf"], "samples is inf; expected control steps"),
    "not a number": (["--push", "nan"], "push is nan; expected finite numbers"),
    "seed": (["--seed", "-1"], "seed is -1; give 0 or more"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_named(
    case: str, given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what was expected; nothing is left behind."""
    wrong, said = WRONG[case]
    before = sorted(tmp_path.rglob("*"))
    assert main(["train", *given, "--out", str(tmp_path / "p"), *SMALL, *wrong]) == 2
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_there_is_not_replaced(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it is a policy and may be; the message comes before the work."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    for asked, said in (([], "already exists"), (["--overwrite"], "did not write it")):
        assert main(["train", *given, "--out", str(mine), *SMALL, *asked]) == 2
        shown = capsys.readouterr()
        assert said in shown.err and "bodies are" not in shown.out
    assert [p.name for p in mine.iterdir()] == ["notes.txt"]
    (tmp_path / "file").write_text("")
    assert main(["train", *given, "--out", str(tmp_path / "file" / "p"), *SMALL]) == 2
    assert "is a file, not a folder" in capsys.readouterr().err
