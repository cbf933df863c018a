"""People's files: what is read, and each bad input by its name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError
from gapless.motions.retargeting import read_person
from gapless.motions.retargeting.person import REQUIRED
from gapless.motions.retargeting.skeleton_names import SMPL, find_keypoints
from gapless.robots import Robot
from people import keypoints_of, squatting, write_bvh, write_joints


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Stands for the person."""
    return Robot.load("g1_23dof")


@pytest.fixture(scope="module")
def places(robot: Robot) -> dict[str, np.ndarray]:
    """Keypoints over two seconds, 30 frames a second."""
    return keypoints_of(squatting(robot), robot)


@pytest.fixture(scope="module")
def bvh(robot: Robot, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Text of a good file."""
    path = tmp_path_factory.mktemp("bvh") / "good.bvh"
    return write_bvh(path, squatting(robot, 1.0), robot, robot.joints.default).read_text()


def changed(tmp_path: Path, text: str, old: str, new: str) -> Path:
    """A file with one thing wrong."""
    assert re.search(old, text)
    path = tmp_path / "bad.bvh"
    path.write_text(re.sub(old, new, text))
    return path


def holed(places: dict[str, np.ndarray], start: int, stop: int) -> dict[str, np.ndarray]:
    """The same without numbers in some frames."""
    copies = {key: place.copy() for key, place in places.items()}
    copies["left_knee"][start:stop] = np.nan
    return copies


def test_a_bvh_has_the_robots_keypoints(robot: Robot, bvh: str, tmp_path: Path) -> None:
    """In metres, z up, to the file's digits."""
    (tmp_path / "a.bvh").write_text(bvh)
    person = read_person(tmp_path / "a.bvh")
    wanted = keypoints_of(squatting(robot, 1.0), robot)
    assert person.rate == pytest.approx(30) and len(person) == 31
    for key in REQUIRED:
        assert np.abs(person.at(key) - wanted[key]).max() < 1e-5, key
    assert person.turns is not None and person.rest is not None


@pytest.mark.parametrize(
    ("old", "new", "error", "told"),
    [
        ("LeftLeg", "Bone12", DataError, r"left_knee \(LeftLeg.*Bone12.*--keypoints left_knee="),
        (r"(Left|Right)(\w+)", r"Tentacle\2", DataError, "no joint that is known as .* more"),
        ("Frame Time: .*", "Frame Time: 33.3", FormatError, "frame time is 33.3 s.*Frame Time"),
        ("Frame Time: .*", "Frame Time: soon", FormatError, "Frame Time: number"),
        ("MOTION", "", FormatError, "HIERARCHY and MOTION were expected"),
        ("JOINT Spine2\n{", "JOINT Spine2\n", FormatError, "hierarchy of the BVH cannot be read"),
        ("Xposition Yp", "Xposition Qp", FormatError, "'Qposition' is no channel"),
        (r" \S+\n$", "\n", FormatError, "frame 30 has 89 numbers, the skeleton 90"),
    ],
)
def test_a_bad_bvh_is_named(
    bvh: str, tmp_path: Path, old: str, new: str, error: type[Exception], told: str
) -> None:
    """What is wrong, what was expected, what to type."""
    with pytest.raises(error, match=told):
        read_person(changed(tmp_path, bvh, old, new))


def test_joints_of_other_names_can_be_told(bvh: str, tmp_path: Path) -> None:
    """By keypoint; wrong names are refused."""
    path = changed(tmp_path, bvh, "LeftLeg", "Bone12")
    told = read_person(path, keypoints={"left_knee": "Bone12"})
    (tmp_path / "good.bvh").write_text(bvh)
    assert np.array_equal(told.positions, read_person(tmp_path / "good.bvh").positions)
    with pytest.raises(DataError, match="no joint 'Bone13'"):
        read_person(path, keypoints={"left_knee": "Bone13"})
    with pytest.raises(DataError, match="'tail' is no keypoint"):
        read_person(path, keypoints={"tail": "Bone12"})


def test_more_frames_than_told_all_count(bvh: str, tmp_path: Path) -> None:
    """Nothing is lost, and it is said."""
    person = read_person(changed(tmp_path, bvh, "Frames: 31", "Frames: 20"))
    assert len(person) == 31 and any("says 20 frames and has 31" in n for n in person.notes)


@pytest.mark.parametrize(("scale", "unit"), [(1, None), (100, "centimetres"), (1000, "millim")])
def test_units_are_found_by_the_persons_height(
    places: dict[str, np.ndarray], tmp_path: Path, scale: float, unit: str | None
) -> None:
    """And told, unless they are metres."""
    scaled = {key: scale * place for key, place in places.items()}
    person = read_person(write_joints(tmp_path / "a.npz", scaled))
    assert np.allclose(person.at("head"), places["head"], atol=1e-9)
    assert bool(person.notes) == (unit is not None)
    assert unit is None or unit in person.notes[0]


def test_nobodys_height_is_refused(places: dict[str, np.ndarray], tmp_path: Path) -> None:
    """With the scale that would make a person of it."""
    giant = {key: 17.0 * place for key, place in places.items()}
    path = write_joints(tmp_path / "a.npz", giant)
    with pytest.raises(DataError, match=r"nobody's height.*--scale 0\.0"):
        read_person(path)
    assert 0.9 < read_person(path, scale=1 / 17.0).height < 1.5


def test_short_gaps_are_bridged_and_told(places: dict[str, np.ndarray], tmp_path: Path) -> None:
    """A straight line leads over them."""
    person = read_person(write_joints(tmp_path / "a.npz", holed(places, 20, 25)))
    assert len(person) == 61 and "bridged: 0.67 to 0.83 s" in person.notes[0]
    assert np.abs(person.at("left_knee") - places["left_knee"]).max() < 0.02


def test_ends_without_numbers_are_cut(places: dict[str, np.ndarray], tmp_path: Path) -> None:
    """And how much it was is told."""
    person = read_person(write_joints(tmp_path / "a.npz", holed(places, 0, 15)))
    assert len(person) == 46 and "0.50 s without numbers were cut off at the beg" in person.notes[0]


def test_long_gaps_are_refused_with_their_times(
    places: dict[str, np.ndarray], tmp_path: Path
) -> None:
    """A part without them is taken on request."""
    path = write_joints(tmp_path / "a.npz", holed(places, 30, 45))
    with pytest.raises(DataError, match=r"1\.00 to 1\.50 s.*--start"):
        read_person(path)
    assert len(read_person(path, stop=0.9)) == 28
    with pytest.raises(DataError, match=r"lasts 2\.00 s"):
        read_person(path, start=3.0)


def test_arrays_that_are_no_person(tmp_path: Path, places: dict[str, np.ndarray]) -> None:
    """Each says what was expected."""
    stacked = np.stack(list(places.values()), axis=1)
    cases: list[tuple[dict[str, np.ndarray], type[Exception], str]] = [
        ({"q": stacked}, FormatError, "expected smpl_joints or joints or positions"),
        ({"joints": stacked[0]}, FormatError, r"expected \(T, J, 3\)"),
        ({"joints": stacked}, FormatError, "give --rate"),
        ({"joints": stacked, "fps": np.array(30)}, DataError, "15 joints without names"),
    ]
    for arrays, error, told in cases:
        np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
        with pytest.raises(error, match=told):
            read_person(tmp_path / "a.npz")
    with pytest.raises(FormatError, match=r"no person's motion\. Known are"):
        (tmp_path / "a.fbx").write_text("")
        read_person(tmp_path / "a.fbx")
    with pytest.raises(FormatError, match="does not exist"):
        read_person(tmp_path / "absent.bvh")


def test_skeletons_of_several_programs() -> None:
    """A shoulder that has an arm after it is a collar bone; a foot after an ankle is a toe."""
    smpl = find_keypoints(SMPL, "smpl")
    assert [smpl[k] for k in ("left_shoulder", "left_ankle", "left_toe", "left_hand")] == [
        *(16, 7, 10, 22)
    ]
    names = ["Hips", "Spine", "LeftShoulder", "LeftArm", "LeftForeArm", "LeftHand", "LeftUpLeg"]
    names += ["LeftLeg", "LeftFoot", "LeftToeBase"]
    names += [name.replace("Left", "Right") for name in names[2:]]
    found = find_keypoints([f"mixamorig:{name}" for name in names], "mixamo")
    assert found["left_shoulder"] == 3 and found["left_ankle"] == 8 and found["left_toe"] == 9
    assert "head" not in found


def test_a_person_of_no_height_is_refused(tmp_path: Path) -> None:
    """All joints in one place: there is no scale to propose, and that is said."""
    np.savez(tmp_path / "a.npz", smpl_joints=np.zeros((20, 24, 3)), fps=30)
    with pytest.raises(DataError):
        read_person(tmp_path / "a.npz")
