"""What a command finds, a few lines of Python find too: the same numbers, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gapless
from closed_arm import ARM
from gapless.cli.main import main
from gapless.corrections.correcting import CorrectSettings
from gapless.errors import DataError, ModelError
from gapless.identification import IdentifySettings
from gapless.identification.sign_conventions import with_signs
from hidden_pair import LOCKED, STEP, nominal_pair, recorded

QUICK = ["--physics-step", str(STEP)]
SETTINGS = IdentifySettings(physics_step=STEP, windows=6)
TURNED = {"elbow_flex": -1.0}
Command = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A soft arm with an elbow that the log counts the other way, empty and loaded."""
    pair = nominal_pair()
    soft = pair.with_joints(kp=0.65 * pair.joints.kp)
    full = soft.with_payloads({"gripper": gapless.Payload(0.2)})
    clips = [
        *recorded(soft, ["a", "b", "c"], seconds=3),
        *recorded(full, ["d", "e", "f"], seconds=5, first=3),
    ]
    path = tmp_path_factory.mktemp("parity") / "data"
    turned = [with_signs(c, TURNED) for c in clips]
    dataset = gapless.Dataset.from_recordings(turned, robot="so101")
    dataset.provenance["locked"] = LOCKED
    dataset.save(path)
    return path


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs a command and gives its figures."""

    def run(*arguments: str | Path) -> dict[str, Any]:
        file = tmp_path / "figures.json"
        assert main([*map(str, arguments), "--json", str(file)]) == 0
        return json.loads(file.read_text())

    return run


def identified(data: Path, **options: Any) -> gapless.Calibration:
    """A quick fit in Python."""
    dataset = gapless.Dataset.open(data)
    return gapless.identify(dataset, gapless.robot_of(dataset), settings=SETTINGS, **options)


FOUND = {
    "signs": {"parameters": ["kp"], "find_signs": True},
    "payload": {"parameters": ["payload/gripper"], "find_signs": True, "keep_anyway": True},
    "stages": {
        "parameters": ["kp"],
        "plan": "two-stage",
        "payload": ["payload/gripper"],
        "find_signs": True,
        "keep_anyway": True,
    },
}


@pytest.fixture(scope="module")
def calibrations(data: Path) -> dict[str, gapless.Calibration]:
    """With a flipped sign; one that finds the load; one of two stages."""
    return {name: identified(data, **options) for name, options in FOUND.items()}


def errors(gap: gapless.Gap | dict[str, Any]) -> list[list[float]]:
    """Joint errors of every clip."""
    figures = gap if isinstance(gap, dict) else gap.to_dict()
    return [clip["joints"]["replay_error"] for clip in figures["clips"]]


def told(calibration: gapless.Calibration | dict[str, Any]) -> list[Any]:
    """All that a calibration says, but how long it took."""
    facts = calibration if isinstance(calibration, dict) else calibration.to_dict()
    facts = json.loads(json.dumps(facts))
    load = [] if facts["loaded"] is None else [told(facts["loaded"] | {"loaded": None})]
    return [
        facts[k]
        for k in ("estimates", "correlation", "choose", "test", "folds", "signs", "carries")
    ] + load


@pytest.mark.parametrize("name", FOUND)
def test_identify(
    name: str,
    data: Path,
    calibrations: dict[str, gapless.Calibration],
    command: Command,
    tmp_path: Path,
) -> None:
    """Values, intervals, signs and both verdicts."""
    asked = dict(FOUND[name])
    words = ["--set", *asked.pop("parameters"), "--windows", "6", "--out", tmp_path / "cal.json"]
    words += ["--find-signs"] if asked.pop("find_signs") else []
    words += ["--keep-anyway"] if asked.pop("keep_anyway", False) else []
    words += [w for k, v in asked.items() for w in (f"--{k}", *([v] if isinstance(v, str) else v))]
    found = calibrations[name]
    assert found.signs == TURNED
    assert told(command("identify", data, *QUICK, *words)) == told(found)
    assert told(gapless.Calibration.load(tmp_path / "cal.json")) == told(found)


@pytest.mark.parametrize(("name", "loaded"), [("signs", False), ("payload", False), ("stages", 1)])
def test_measure(
    name: str,
    loaded: bool,
    data: Path,
    calibrations: dict[str, gapless.Calibration],
    command: Command,
    tmp_path: Path,
) -> None:
    """The gap that a calibration leaves: turned joints, own loads, and the second stage."""
    calibration = calibrations[name]
    calibration.save(tmp_path / "cal.json")
    options = ["--calibration", tmp_path / "cal.json", *(["--loaded"] if loaded else [])]
    by_command = command("measure", data, *QUICK, "--horizons", "0.5", "--no-causes", *options)
    used = calibration.loaded if loaded else calibration
    assert used is not None
    dataset = gapless.Dataset.open(data)
    nominal = gapless.MujocoWorld(gapless.robot_of(dataset), physics_step=STEP)
    aligned = gapless.CorrectedWorld(nominal, used)
    gap = gapless.measure(used.recordings(dataset), aligned, horizons=[0.5])
    assert errors(by_command) == errors(gap)
    alone = used.world(gapless.robot_of(dataset), physics_step=STEP)
    assert errors(gapless.measure(used.recordings(list(dataset)), alone, horizons=[0.5])) == errors(
        gap
    )
    wrong = gapless.measure(dataset, aligned, horizons=[0.5])  # signs as logged
    assert wrong.mean("replay_error", 0.5).value > 2 * gap.mean("replay_error", 0.5).value


@pytest.mark.parametrize(("name", "loaded"), [(None, False), ("signs", False), ("stages", True)])
def test_correct(
    name: str | None,
    loaded: bool,
    data: Path,
    calibrations: dict[str, gapless.Calibration],
    command: Command,
    tmp_path: Path,
) -> None:
    """A training sees the same recordings in the same world, and looks at the same loads."""
    calibration = calibrations[name] if name else None
    words = ["--out", tmp_path / "cor", "--keep-anyway", "--model", "mlp", "--members", "1"]
    words += ["--trainer-set", "iterations=3", "samples=100", "horizons=[0.2]", "--horizon", "0.5"]
    if calibration is not None:
        calibration.save(tmp_path / "cal.json")
        words += ["--calibration", tmp_path / "cal.json", *(["--loaded"] if loaded else [])]
    by_command = command("correct", data, *QUICK, *words)
    dataset = gapless.Dataset.open(data)
    correction = gapless.correct(
        dataset,
        gapless.MujocoWorld(gapless.robot_of(dataset), physics_step=STEP),
        calibration.loaded if loaded and calibration else calibration,
        keep_anyway=True,
        settings=CorrectSettings(
            model="mlp",
            members=1,
            horizon=0.5,
            trainer_settings={"iterations": 3, "samples": 100, "horizons": (0.2,)},
        ),
    )
    for part, verdict in (("choose", correction.choose), ("test", correction.test)):
        assert verdict is not None and by_command[part] == verdict.to_dict()
    assert gapless.Correction.load(tmp_path / "cor").fingerprint() == correction.fingerprint()
    assert ("payload" in correction.contract.signals) is not loaded


@pytest.mark.parametrize("kind", ["xml", "toml"])
def test_a_robot_of_ones_own(kind: str, command: Command, tmp_path: Path) -> None:
    """The file that a dataset was imported with is found; a lost one is asked for."""
    (tmp_path / "arm.xml").write_text(ARM.format("shoulder"))
    (tmp_path / "arm.toml").write_text('model = "arm.xml"\nrate = 50\n[gains]\n"*" = [30, 1]\n')
    file = tmp_path / f"arm.{kind}"
    arm = gapless.Robot.load(str(file))
    clips = recorded(arm.with_joints(kp=0.8 * arm.joints.kp), ["a", "b"], seconds=3)
    dataset = gapless.Dataset.from_recordings(clips, robot=arm.name)
    dataset.provenance["robot_file"] = str(file)
    dataset.save(tmp_path / "data")
    opened = gapless.Dataset.open(tmp_path / "data")
    robot = gapless.robot_of(opened)
    assert robot.fingerprint() == arm.fingerprint()
    words = [*QUICK, "--horizons", "0.5", "--no-causes"]
    gap = gapless.measure(opened, gapless.MujocoWorld(robot, physics_step=STEP), horizons=[0.5])
    assert errors(command("measure", tmp_path / "data", *words)) == errors(gap)
    moved = file.rename(tmp_path / f"moved.{kind}")
    with pytest.raises(ModelError, match="--robot FILE"):
        gapless.robot_of(opened)
    assert gapless.robot_of(opened, str(moved)).fingerprint() == arm.fingerprint()


def test_check_finds_the_robot_of_a_file(command: Command, tmp_path: Path) -> None:
    """As every other command does; so it is with a collected dataset."""
    file = tmp_path / "arm.xml"
    file.write_text(ARM.format("shoulder"))
    arm = gapless.Robot.load(str(file))
    dataset = gapless.Dataset.from_recordings(recorded(arm, ["a"], seconds=3), robot=arm.name)
    dataset.provenance["robot_file"] = str(file)
    dataset.save(tmp_path / "data")
    by_command = command("check", tmp_path / "data")
    opened = gapless.Dataset.open(tmp_path / "data")
    report = gapless.check_dataset(opened, gapless.robot_of(opened))
    assert by_command == json.loads(json.dumps(report.to_dict()))
    plan = ["--levels", "whole_body", "--seconds", "2", "--only", "strength", "--units", "1"]
    assert main(["collect", "--robot", str(file), *plan, "--out", str(tmp_path / "made")]) == 0
    assert command("check", tmp_path / "made" / "fit" / "50hz")["ok"]
    assert command("check", tmp_path / "made")["ok"]


def test_recordings_are_counted_once(
    data: Path, calibrations: dict[str, gapless.Calibration]
) -> None:
    """Counting again changes nothing; another calibration counts from what was logged."""
    found, dataset = calibrations["signs"], gapless.Dataset.open(data)
    once = found.recordings(dataset)
    twice = found.recordings(list(found.recordings(once)))
    assert (twice[0].q == once[0].q).all() and (once[0].q[:, 1] == -dataset[0].q[:, 1]).all()
    back = replace(found, signs={}).recordings(twice)
    assert (back[0].q == dataset[0].q).all() and twice[0].provenance["turned_joints"]
    load = calibrations["stages"].loaded
    assert load is not None and [e.name for e in load.recordings(dataset).episodes] == [
        "d",
        "e",
        "f",
    ]
    with pytest.raises(DataError, match="no recording is loaded"):
        load.recordings(dataset.select(range(3)))
