"""`gapless identify` and `gapless measure --calibration`."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import pytest

from gapless.cli.main import main
from gapless.recordings import Dataset
from gapless.robots import Payload, Robot
from hidden_pair import TRUTH, recorded

LOCKED = ("shoulder_pan", "wrist_flex", "wrist_roll", "gripper")
FAST = ["--physics-step", "0.005", "--windows", "16"]


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Two joints of an arm."""
    return Robot.load("so101", lock=LOCKED)


@pytest.fixture(scope="module")
def hidden(robot: Robot) -> Robot:
    """The arm that is recorded."""
    return robot.with_joints(**{k: f * getattr(robot.joints, k) for k, f in TRUTH.items()})


@pytest.fixture(scope="module")
def dataset(hidden: Robot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unloaded and loaded recordings."""
    full = hidden.with_payloads({"gripper": Payload(0.3)})
    clips = [
        *recorded(hidden, ["a", "b", "c", "d", "e"]),
        *recorded(full, ["load_a", "load_b"], first=5),
    ]
    path = tmp_path_factory.mktemp("data") / "set"
    Dataset.from_recordings(clips, robot="so101").save(path)
    return path


@pytest.fixture(scope="module")
def options(dataset: Path) -> list[str]:
    """The dataset and the joints that were not recorded."""
    return [str(dataset), "--lock", *LOCKED]


@pytest.fixture(scope="module")
def calibration(options: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command finds in two stages."""
    out = tmp_path_factory.mktemp("cal") / "cal.json"
    asked = ["--set", "kp", "damping", "frictionloss", "--payload", "mass/gripper"]
    files = ["--out", str(out), "--mjcf", str(out.with_suffix(".xml"))]
    assert main(["identify", *options, *FAST, "--plan", "two-stage", *asked, *files]) == 0
    return out


def test_two_stages_from_the_command_line(calibration: Path, hidden: Robot) -> None:
    """The file holds gains near the truth, the load, and an MJCF that MuJoCo loads."""
    found = json.loads(calibration.read_text())
    values = {e["name"]: e["value"] for e in found["estimates"]}
    assert values["kp/elbow_flex"] == pytest.approx(
        hidden.joints.kp[hidden.joints.index("elbow_flex")], rel=0.05
    )
    (load,) = found["loaded"]["estimates"]
    assert load["value"] - load["nominal"][0] == pytest.approx(0.3, abs=0.02)
    assert mujoco.MjModel.from_xml_path(str(calibration.with_suffix(".xml"))).nu == 2
    assert not list(calibration.parent.glob("*.progress"))


def test_measure_shows_the_gap_that_is_left(
    options: list[str], calibration: Path, tmp_path: Path
) -> None:
    """The calibrated gap is a small part of the nominal one."""
    common = ["measure", *options, "--physics-step", "0.005", "--horizons", "1.0", "--no-causes"]
    errors = []
    for extra in ([], ["--calibration", str(calibration)]):
        file = tmp_path / "gap.json"
        assert main([*common, "--json", str(file), *extra]) == 0
        clips = json.loads(file.read_text())["clips"]
        errors.append(next(max(c["joints"]["mpjae"]) for c in clips if c["name"] == "a"))
    assert errors[1] < 0.2 * errors[0]
    assert main([*common, "--calibration", str(calibration), "--loaded"]) == 0


def test_an_existing_file_is_not_overwritten(
    options: list[str], calibration: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and what to type."""
    before = calibration.read_bytes()
    assert main(["identify", *options, "--out", str(calibration)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert calibration.read_bytes() == before


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--set", "kpp"], "Did you mean 'kp'"),
        (["--set", "kp/knee"], "unknown joint"),
        (["--bounds", "kp=3"], "name=number:number"),
        (["--bounds", "kp=30:20"], "contradict"),
        (["--plan", "three-stage"], "unknown plan"),
        (["--optimiser", "magic"], "unknown optimiser"),
        (["--learn", "nothing*"], "there are: a"),
        (["--set", "floor_friction"], "no place"),
        (["--horizon", "100"], "shorter"),
    ],
)
def test_what_is_wrong_is_said(
    options: list[str],
    extra: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, a message that names it, no file."""
    out = tmp_path / "cal.json"
    assert main(["identify", *options, *FAST, "--out", str(out), *extra]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not out.exists()


def test_measure_refuses_what_is_no_calibration(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing file, another JSON, --loaded without a load."""
    other = tmp_path / "other.json"
    other.write_text("{}")
    for extra in (["--calibration", str(tmp_path / "none.json")], ["--calibration", str(other)]):
        assert main(["measure", *options, *extra]) == 2
    assert main(["measure", *options, "--loaded"]) == 2
    assert "--calibration" in capsys.readouterr().err
