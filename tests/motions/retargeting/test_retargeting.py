"""Retargeting: other robots, feet, limits, and ASAP's own people."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError
from gapless.motions import Motion
from gapless.motions.retargeting import Retargeted, retarget
from gapless.motions.retargeting.correspondences import TABLES, Correspondences
from gapless.motions.retargeting.difficulty import rate_difficulty
from gapless.motions.soles import soles_of
from gapless.robots import Robot
from gapless.worlds.world import State
from people import keypoints_of, squatting, write_joints

PICKLES = ("asap_g1_23dof", "asap_g1_more")


@pytest.fixture(scope="module")
def robot() -> Robot:
    """On its feet."""
    return Robot.load("g1_23dof")


@pytest.fixture(scope="module")
def person(robot: Robot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person of another size, who floats, slides slowly and dips into the floor."""
    places = keypoints_of(squatting(robot), robot)
    count = len(places["pelvis"])
    drift = np.stack([0.02 * np.sin(np.arange(count) / 15), np.zeros(count), np.zeros(count)], 1)
    moved = {key: 1.35 * (place + drift) + [0, 0, 0.05] for key, place in places.items()}
    return write_joints(tmp_path_factory.mktemp("person") / "tall.npz", moved)


def value(found: Retargeted, name: str) -> float:
    """Of a check, after repairs."""
    return next(c.value for c in found.after.checks if c.name == name)


@pytest.mark.parametrize("name", ["g1_23dof", "g1", "h1_2", "kbot"])
def test_one_file_for_all_robots(name: str, person: Path) -> None:
    """Ranges and speeds hold, feet stand still on the floor, keypoints are near."""
    robot = Robot.load(name)
    found = retarget(person, robot)
    q = found.motion.q
    assert found.motion.joints == robot.joints.names
    assert ((q >= robot.joints.lower) & (q <= robot.joints.upper)).all()
    speed = np.abs(np.diff(q, axis=0)) * found.motion.rate
    assert (speed <= robot.joints.velocity).all()
    assert found.after.ok and found.error < 0.05
    assert value(found, "sliding of feet") < 0.02
    assert value(found, "feet below the floor") < 0.003
    assert value(found, "feet above the floor") < 0.01
    assert set(found.motion.person) == set(found.person.keypoints)


def test_without_repairs_feet_slide(robot: Robot, person: Path) -> None:
    """As the person's do."""
    plain, mended = (retarget(person, robot, repair=repair) for repair in (False, True))
    assert plain.before.to_dict() == plain.after.to_dict()
    assert plain.error <= mended.error
    assert value(mended, "sliding of feet") < 0.5 * value(plain, "sliding of feet")


def test_a_motion_keeps_its_person(robot: Robot, person: Path, tmp_path: Path) -> None:
    """In a .npz, at other rates, and with a lead-in."""
    found = retarget(person, robot)
    loaded = Motion.load(found.save(tmp_path / "squat.npz"))
    assert np.array_equal(loaded.q, found.motion.q)
    for key, place in found.motion.person.items():
        assert np.abs(loaded.person[key] - place).max() < 1e-6
    assert len(loaded.resampled(60).person["head"]) == len(loaded.resampled(60))
    led = loaded.with_lead_in(robot, 1.0)
    assert len(led.person["head"]) == len(led)
    with pytest.raises(DataError, match=r"person: head has shape \(2, 3\)"):
        Motion("a", ("j",), 30, np.zeros((3, 1)), person={"head": np.zeros((2, 3))})


def test_links_of_ones_own_robot(robot: Robot, tmp_path: Path) -> None:
    """A table says which is which; what is missing is named."""
    with pytest.raises(DataError, match=r"which links of go2 stand for pelvis.*--correspondences"):
        Correspondences.of(Robot.load("go2"))
    table = tmp_path / "own.toml"
    lines = [f'{k} = ["{link}", {list(at)}]' for k, (link, at) in TABLES["g1"].items()]
    table.write_text("\n".join(lines))
    own, built_in = Correspondences.of(robot, table), Correspondences.of(robot)
    assert own.segments == built_in.segments and own.points["pelvis"] == built_in.points["pelvis"]
    for text, error, told in (
        ('left_knee = "left_knee_link"', DataError, "no link stands for pelvis, left_hip"),
        ('left_knee = ["left_knee_link", 3]', FormatError, r"left_knee is .*expected \"link\""),
        ("left_knee", FormatError, "is no valid file of correspondences"),
    ):
        table.write_text(text)
        with pytest.raises(error, match=told):
            Correspondences.of(robot, table)


def test_difficulty_follows_the_rule(robot: Robot) -> None:
    """Standing is easy, fast arms are medium, a jump is hard."""
    q = np.tile(robot.joints.default, (91, 1))
    pos = np.tile([0.0, 0.0, robot.standing_height], (91, 1))
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (91, 1))
    names = robot.joints.names
    assert rate_difficulty(Motion("a", names, 30, q, pos, quat), robot).level == "easy"
    waved = q.copy()
    waved[:, names.index("left_elbow_joint")] += 0.6 * np.sin(np.arange(91) * 15 / 30)
    found = rate_difficulty(Motion("a", names, 30, waved, pos, quat), robot)
    assert found.level == "medium" and 0.15 < found.speed < 0.4
    pos[40:50, 2] += 0.1
    jumped = rate_difficulty(Motion("a", names, 30, q, pos, quat), robot)
    assert jumped.level == "hard" and jumped.flight > 0.2


def test_soles_are_where_the_floor_is(robot: Robot) -> None:
    """In the default pose at its standing height."""
    q = robot.joints.default[None]
    base = np.array([[0.0, 0.0, robot.standing_height]])
    state = State(q, 0 * q, base, np.array([[1.0, 0.0, 0.0, 0.0]]))
    soles = soles_of(robot, state)
    assert soles is not None and np.abs(soles.height).max() < 1e-3


@pytest.mark.slow
def test_asaps_people_are_met_at_least_as_well_as_by_asap(
    robot: Robot, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 16, with feet repaired: keypoints nearer, less sliding, nothing fatal."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    from retarget_errors import row  # type: ignore[import-not-found]

    files = sorted(
        p for folder in PICKLES for p in (shared_data / "motions" / folder).glob("*.pkl")
    )
    rows = [row(path, robot) for path in files]
    sys.modules.pop("retarget_errors")
    assert len(rows) == 16
    for found in rows:
        ours, asap = found["ours"], found["asap"]
        assert ours["error"] <= asap["error"], found["motion"]
        assert ours["slide"] <= max(asap["slide"], 0.05), found["motion"]
        assert ours["deep"] < 0.01 and found["ok"], found["motion"]
