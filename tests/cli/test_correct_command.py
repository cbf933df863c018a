"""`gapless correct` and `gapless measure --correction`."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gapless.cli import correct_options
from gapless.cli.main import main
from gapless.cli.training_view import TrainingView
from gapless.corrections import Correction
from gapless.corrections.training.trainer import TrainingProgress
from gapless.recordings import Dataset
from gapless.robots import Robot
from gapless.verdict import Verdict
from hidden_pair import TRUTH, recorded

LOCKED = ("shoulder_pan", "wrist_flex", "wrist_roll", "gripper")
SMALL = ["--physics-step", "0.005", "--model", "mlp", "--model-set", "sizes=[8]", "--members", "1"]
ROUNDS = ["--trainer-set", "horizons=[0.2,0.3]", "iterations=10", "samples=240"]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small networks are fastest on one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five motions of each of two units, in a folder for each unit and one for both."""
    robot = Robot.load("so101", lock=LOCKED)
    hidden = robot.with_joints(**{k: f * getattr(robot.joints, k) for k, f in TRUTH.items()})
    folder, both = tmp_path_factory.mktemp("data"), []
    for unit in ("1", "2"):
        clips = recorded(hidden, ["a", "b", "c", "d", "e"], seconds=3.0, unit=unit, payloads={})
        Dataset.from_recordings(clips, robot="so101").save(folder / unit)
        both += clips
    Dataset.from_recordings(both, robot="so101").save(folder / "both")
    return folder


def command(dataset: Path, out: Path, *extra: str) -> list[str]:
    """A small training."""
    options = ["--lock", *LOCKED, *SMALL, *ROUNDS, "--out", str(out)]
    return ["correct", str(dataset), *options, *extra]


@pytest.fixture(scope="module")
def correction(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command learned from one unit."""
    out = tmp_path_factory.mktemp("cor") / "cor"
    beside = ["--json", f"{out}.json", "--log", f"{out}.log", "--plots", f"{out}.plots"]
    assert main(command(data / "1", out, *beside)) == 0
    return out


def test_correct_writes_a_correction_that_helps(correction: Path) -> None:
    """The folder, the figures, event files and pictures are there, progress is gone."""
    figures = json.loads(Path(f"{correction}.json").read_text())
    for part in ("choose", "test"):
        assert figures[part]["after"] < figures[part]["before"]
        assert figures[part]["motions"] == figures["made_by"]["split"][part]
    assert set(figures["usage"]["mean_output"]) == {"shoulder_lift", "elbow_flex"}
    assert figures["slowdown"] > 0
    assert Correction.load(correction).contract.settings["sizes"] == [8]
    assert not list(correction.parent.glob(".*progress*"))
    assert list(Path(f"{correction}.log").glob("events*"))
    pictures = {p.name for p in Path(f"{correction}.plots").rglob("*.png")}
    assert "outputs.png" in pictures and len(pictures) > 1


def test_measure_shows_the_gap_that_is_left(
    data: Path, correction: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The corrected gap is smaller, and what the correction did is told."""
    options = ["--lock", *LOCKED, "--physics-step", "0.005", "--horizons", "0.5", "--no-causes"]
    errors = []
    for extra in ([], ["--correction", str(correction)]):
        file = tmp_path / "gap.json"
        assert main(["measure", str(data / "2"), *options, "--json", str(file), *extra]) == 0
        errors.append(json.loads(file.read_text()))
    before, after = (e["summary"][0]["metrics"]["mpjae"]["value"] for e in errors)
    assert after < before
    (used,) = errors[1]["corrections"]
    assert used["steps"] > 0 and 0 <= used["outside"] < 1
    assert "outside its envelope" in capsys.readouterr().out


def test_measure_says_which_motions_taught(
    data: Path, correction: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that nobody takes the figure for a held-out one, whatever recordings are called."""
    split = Correction.load(correction).made_by["split"]
    clips = {r.name: replace(r, name=f"new {r.name}") for r in Dataset.open(data / "1")}
    options = ["--lock", *LOCKED, "--physics-step", "0.005", "--horizons", "0.5", "--no-causes"]
    options += ["--correction", str(correction), "--json", str(tmp_path / "gap.json")]
    for name, own in (("all", clips), ("test", split["test"])):
        Dataset.from_recordings([clips[n] for n in own], robot="so101").save(tmp_path / name)
        assert main(["measure", str(tmp_path / name), *options]) == 0
        told = json.loads((tmp_path / "gap.json").read_text())["taught"]
        assert ("not a held-out error" in " ".join(capsys.readouterr().out.split())) is bool(
            told["note"]
        )
        assert bool(told["note"]) is (name == "all") and told["held_out"] == len(split["test"])
        if name == "all":
            assert {*told["learn"]} == {f"new {n}" for n in split["learn"]}
            assert {*told["choose"]} == {f"new {n}" for n in split["choose"]}


def test_what_nothing_chose_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what to type, and --keep-anyway keeps it."""
    assert main(command(data / "1", tmp_path / "cor", "--choose", "0")) != 0
    told = " ".join(capsys.readouterr().err.split())
    assert "no motion chooses" in told and "--keep-anyway" in told
    assert not (tmp_path / "cor").exists()
    assert main(command(data / "1", tmp_path / "cor", "--choose", "0", "--keep-anyway")) == 0
    assert Correction.load(tmp_path / "cor").choose is None


def test_measure_refuses_a_correction_of_another_world(
    data: Path, correction: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other joints, and a folder that is no correction."""
    other = ["--lock", *LOCKED[1:], "--correction", str(correction)]
    assert main(["measure", str(data / "1"), *other]) == 2
    assert "does not fit" in capsys.readouterr().err
    nothing = ["--lock", *LOCKED, "--correction", str(data)]
    assert main(["measure", str(data / "1"), *nothing]) == 2
    assert "is no correction" in capsys.readouterr().err


@pytest.fixture
def _heeds_ctrl_c() -> Iterator[None]:
    """A job in the background is started with SIGINT ignored, and Python then leaves it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeds_ctrl_c")
@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_training_goes_on_to_the_same_result(
    data: Path,
    correction: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stop: signal.Signals,
    code: int,
) -> None:
    """Ctrl-C and SIGTERM leave progress; the same command then gives what no stop would have."""
    watch = TrainingView.watch

    def watch_and_stop(self: TrainingView, now: TrainingProgress) -> None:
        watch(self, now)
        if now.correction is not None:
            os.kill(os.getpid(), stop)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingView, "watch", watch_and_stop)
        assert main(command(data / "1", tmp_path / "cor")) == code
    assert "same command again" in capsys.readouterr().err
    assert not (tmp_path / "cor").exists()
    assert (tmp_path / ".cor.progress.safetensors").exists()
    assert main(command(data / "1", tmp_path / "cor", "--seed", "1")) == 2
    assert "--restart" in capsys.readouterr().err
    assert main(command(data / "1", tmp_path / "cor")) == 0
    found, uninterrupted = (Correction.load(c) for c in (tmp_path / "cor", correction))
    assert found.fingerprint() == uninterrupted.fingerprint()


@pytest.mark.parametrize(("part", "code"), [("choose", 1), ("test", 0)])
def test_a_correction_that_does_not_help_is_refused(
    part: str,
    code: int,
    data: Path,
    correction: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 1, no folder, figures that say so; --keep-anyway keeps it. Tests decide nothing."""
    from gapless.corrections import correction_training

    judged = correction_training.judged
    motions = Correction.load(correction).made_by["split"][part]

    def worse(*asked: Any) -> Verdict | None:
        seen = judged(*asked)
        assert seen is not None
        return replace(seen, after=2 * seen.before) if list(seen.motions) == motions else seen

    monkeypatch.setattr(correction_training, "judged", worse)
    out, figures = tmp_path / "cor", tmp_path / "figures.json"
    asked = command(data / "1", out, "--json", str(figures))
    assert main(asked) == code
    assert ("--keep-anyway" in capsys.readouterr().err) is bool(code)
    found = json.loads(figures.read_text())[part]
    assert out.exists() is not bool(code) and found["after"] == 2 * found["before"]
    assert main([*asked, "--keep-anyway", "--overwrite"]) == 0
    assert out.exists() and not list(tmp_path.glob(".*progress*"))


def test_units_and_other_datasets_judge(data: Path, tmp_path: Path) -> None:
    """--units and --test-on test on other units; motions that were learned from never do."""
    figures = tmp_path / "figures.json"
    ways = {
        "units": [data / "both", "--units", "2"],
        "test_on": [data / "1", "--test-on", str(data / "2"), "--learn", "a", "b", "c", "d"],
    }
    for name, (dataset, *extra) in ways.items():
        asked = command(Path(dataset), tmp_path / name, "--json", str(figures), *map(str, extra))
        assert main([*asked, "--trainer-set", "horizons=[0.2]", "iterations=8", "samples=200"]) == 0
        found = json.loads(figures.read_text())
        parts = [found["made_by"]["split"][part] for part in ("learn", "choose", "test")]
        assert [len(part) for part in parts] == [3, 1, 1] and len(set().union(*parts)) == 5
        assert [found[part]["motions"] for part in ("choose", "test")] == parts[1:]


def test_transfer_and_onnx_are_reached(
    data: Path, correction: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--transfer moves a correction and judges it by motions it never saw; --onnx exports it."""
    from gapless.corrections import onnx_export
    from gapless.corrections.operator import transfer

    moved, exported = [], []
    monkeypatch.setattr(
        transfer, "transferred", lambda found, world, seed: moved.append(world) or found
    )
    monkeypatch.setattr(onnx_export, "export_onnx", lambda found, path: exported.append(path))
    file, figures = tmp_path / "cor.onnx", tmp_path / "figures.json"
    beside = ["--transfer", str(correction), "--onnx", str(file), "--json", str(figures)]
    assert main(command(data / "2", tmp_path / "new", *beside)) == 0
    learned = set(Correction.load(correction).made_by["split"]["learn"])
    found = json.loads(figures.read_text())
    parts = [set(found[part]["motions"]) for part in ("choose", "test")]
    assert len(moved) == 1 and exported == [file]
    assert all(parts) and not parts[0] & parts[1] and not set.union(*parts) & learned


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--model", "mpl"], "Did you mean 'mlp'"),
        (["--trainer", "gradiant"], "Did you mean 'gradient'"),
        (["--head", "acton"], "Did you mean 'action'"),
        (["--joints", "elbow"], "Did you mean 'elbow_flex'"),
        (["--trainer-set", "iteration=3"], "Did you mean 'iterations'"),
        (["--trainer-set", "iterations=many"], "such as 300"),
        (["--model-set", "sizes"], "KEY=VALUE"),
        (["--learn", "nothing*"], "there are: a"),
        (["--units", "9"], "units 1, 2"),
        (["--minutes", "3"], "unknown setting of the gradient trainer"),
        (["--loaded"], "--calibration"),
        (["--learn", "a"], "unbroken stretch of 1.0 s"),
        (["--model", "actuator", "--model-set", "share=motor"], "Did you mean 'motors'"),
        (["--test-on", "SAME", "--test", "0"], "learned from too"),
    ],
)
def test_what_is_wrong_is_said(
    data: Path,
    extra: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, a message that names it, no folder."""
    given = [str(data / "1") if e == "SAME" else e for e in extra]
    dataset = data / ("1" if "--learn" in extra else "both")
    assert main(command(dataset, tmp_path / "cor", *given)) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "cor").exists()


def test_an_existing_correction_is_not_overwritten(
    data: Path, correction: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and what to type."""
    assert main(command(data / "1", correction)) == 2
    assert "--overwrite" in capsys.readouterr().err


def test_the_next_command_means_the_same_world() -> None:
    """Robot, locks and calibration are repeated in what is suggested."""
    args = correct_options.Correct(
        dataset=Path("d"),
        out=Path("o"),
        robot="so101",
        lock=("gripper",),
        calibration=Path("c.json"),
    )
    expected = " --robot so101 --lock gripper --calibration c.json"
    assert correct_options.same_world(args) == expected
