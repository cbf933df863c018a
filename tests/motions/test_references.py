"""Reference motions from other people's files."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError, NameMismatchError
from gapless.motions import Motion, read_motions
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording
from gapless.robots import Robot

NAMES = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
TURN = np.array([0.5, 0.1, -0.7, 0.5])
TURN /= np.linalg.norm(TURN)


@pytest.fixture
def q() -> np.ndarray:
    """Twenty samples of six joints."""
    return np.random.default_rng(0).normal(0, 0.1, (20, 6))


def test_text_goes_by_the_names_in_its_first_line(
    tmp_path: Path, q: np.ndarray, so101: Robot
) -> None:
    """Stage paths before the names are dropped; 50 Hz unless told otherwise."""
    lines = [", ".join(f"/so101/base/{n}" for n in NAMES)]
    lines += [", ".join(map(repr, row)) for row in q.tolist()]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    motion = read_motions(tmp_path / "a.txt", so101)[0]
    assert (motion.name, motion.joints, motion.rate) == ("a", tuple(NAMES), 50)
    assert np.array_equal(motion.q, q)
    told = read_motions(tmp_path / "a.txt", so101, joint_order=NAMES[::-1], rate=30)[0]
    assert (told.joints, told.rate) == (tuple(NAMES[::-1]), 30)


def test_mjlab_arrays_need_the_order_of_their_joints(
    tmp_path: Path, q: np.ndarray, so101: Robot
) -> None:
    """The file has no names: they are given, or declared to be the robot's."""
    body = np.tile(np.arange(3.0), (20, 4, 1))
    quat = np.tile(TURN, (20, 4, 1))
    arrays = {"fps": np.array([30]), "joint_pos": q, "body_pos_w": body, "body_quat_w": quat}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FormatError, match=r"6 joint columns without names.*--joint-order"):
        read_motions(tmp_path / "a.npz", so101)
    with pytest.raises(FormatError, match="5 names were given"):
        read_motions(tmp_path / "a.npz", so101, joint_order=NAMES[:5])
    motion = read_motions(tmp_path / "a.npz", so101, joint_order=["robot"])[0]
    assert (motion.joints, motion.rate) == (so101.joints.names, 30)
    assert motion.base_pos is not None and np.array_equal(motion.base_pos[3], [0, 1, 2])
    assert motion.base_quat_wxyz is not None and np.array_equal(motion.base_quat_wxyz[3], TURN)


def test_rows_without_a_header_have_their_quaternion_last_first(
    tmp_path: Path, q: np.ndarray, so101: Robot
) -> None:
    """LAFAN and BeyondMimic: x y z, qx qy qz qw, joints."""
    rows = np.hstack([np.ones((20, 3)), np.tile(np.roll(TURN, -1), (20, 1)), q])
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",")
    motion = read_motions(tmp_path / "a.csv", so101, joint_order=NAMES)[0]
    assert motion.rate == 30 and np.allclose(motion.q, q)
    assert motion.base_quat_wxyz is not None and np.allclose(motion.base_quat_wxyz[0], TURN)


def test_a_base_without_bodies_or_turns_is_refused(
    tmp_path: Path, q: np.ndarray, so101: Robot
) -> None:
    """An .npz without any body, rows whose quaternion is all zero, a rate of zero."""
    np.savez(tmp_path / "a.npz", fps=30, joint_pos=q, body_pos_w=np.zeros((20, 0, 3)))
    with pytest.raises(FormatError, match=r"body_pos_w has shape \(20, 0, 3\): no body"):
        read_motions(tmp_path / "a.npz", so101, joint_order=NAMES)
    np.savetxt(tmp_path / "a.csv", np.hstack([np.zeros((20, 7)), q]), delimiter=",")
    with pytest.raises(DataError, match="base_quat_wxyz has length 0"):
        read_motions(tmp_path / "a.csv", so101, joint_order=NAMES)
    with pytest.raises(FormatError, match="rate of the file is '0'"):
        read_motions(tmp_path / "a.csv", so101, joint_order=NAMES, rate=0)


def test_pickles_of_motions_are_read_without_running_them(tmp_path: Path, q: np.ndarray) -> None:
    """ASAP's layout; anything else in a pickle is refused."""
    robot = Robot.load("g1_23dof")
    clip = {"dof": np.zeros((9, 23)), "fps": 30, "root_rot": np.tile(np.roll(TURN, -1), (9, 1))}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"kick": clip, "walk": clip}))
    motions = read_motions(tmp_path, robot)
    assert [m.name for m in motions] == ["kick", "walk"]
    base = motions[0].base_quat_wxyz
    assert motions[0].rate == 30 and base is not None and np.allclose(base[0], TURN)
    (tmp_path / "b.pkl").write_bytes(pickle.dumps(Path("x")))
    with pytest.raises(FormatError, match="refused"):
        read_motions(tmp_path, robot)


def test_folders_and_saved_motions_and_datasets(
    tmp_path: Path, q: np.ndarray, so101: Robot
) -> None:
    """A folder is all its files; a dataset gives its commands; names stay different."""
    motion = Motion("wave", so101.joints.names, 50, q)
    (tmp_path / "files" / "deeper").mkdir(parents=True)
    motion.save(tmp_path / "files" / "wave.npz")
    motion.save(tmp_path / "files" / "deeper" / "wave.csv")
    (tmp_path / "files" / "README.md").write_text("not a motion")
    found = read_motions(tmp_path / "files", so101)
    assert [m.name for m in found] == ["wave", "wave_2"]
    assert all(np.allclose(m.q, q) for m in found)
    clip = Recording("wave", so101.joints.names, 50, q, q + 0.1, np.ones(q.shape, bool))
    Dataset.from_recordings([clip], "so101").save(tmp_path / "set")
    assert np.allclose(read_motions(tmp_path / "set", so101)[0].q, q + 0.1, atol=1e-6)


def test_joints_of_another_robot_are_refused(tmp_path: Path, q: np.ndarray, so101: Robot) -> None:
    """The message names the file and the nearest joint."""
    names = ("shoulder_pin", *NAMES[1:])
    Motion("wave", names, 50, q).save(tmp_path / "wave.npz")
    with pytest.raises(NameMismatchError, match=r"wave\.npz: .*Did you mean 'shoulder_pan'"):
        read_motions(tmp_path / "wave.npz", so101)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "", "is empty"),
        ("a.txt", "gripper\n", "no rows of numbers"),
        ("a.txt", "gripper\nx\n", "SAGE text"),
        ("a.txt", "gripper\n1\n1,2\n", "SAGE text"),
        ("a.csv", "a,b\n1,2\n", "a .csv of numbers"),
        ("a.csv", "1,2\n3,4\n", "2 columns"),
        ("a.npz", "text", "npz archive"),
        ("a.bvh", "text", "is no motion"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, so101: Robot, name: str, content: str, problem: str
) -> None:
    """By name, with what was expected."""
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=problem):
        read_motions(tmp_path / name, so101)
    with pytest.raises(FormatError, match="does not exist"):
        read_motions(tmp_path / "absent.npz", so101)


def test_real_asap_motions(shared_data: Path) -> None:
    """Six motions of a G1, with a base, on the robot they were made for and on the full one."""
    for name in ("g1_23dof", "g1"):
        robot = Robot.load(name)
        motions = read_motions(shared_data / "motions" / "asap_g1_23dof", robot)
        assert len(motions) == 6
        for motion in motions:
            assert motion.rate == 30 and motion.base_pos is not None
            assert 0.3 < motion.base_pos[:, 2].min() < motion.base_pos[:, 2].max() < 1.4
            assert motion.targets(robot, 50).shape[1] == len(robot.joints)


def test_real_text_motions(shared_data: Path) -> None:
    """Eight motions of an H1-2, by name."""
    robot = Robot.load("h1_2", mount="fixed", lock=["legs"])
    motions = read_motions(shared_data / "motions" / "amass_text" / "h1_2", robot)
    assert len(motions) == 8
    for motion in motions:
        targets = motion.targets(robot)
        column = motion.joints.index("left_elbow_joint")
        assert np.array_equal(
            targets[:, robot.joints.index("left_elbow_joint")], motion.q[:, column]
        )


def test_real_text_motions_with_wrong_names_need_the_right_ones(shared_data: Path) -> None:
    """The G1's files name its columns as an H1-2's; the order of a G1 is given instead."""
    robot = Robot.load("g1")
    folder = shared_data / "motions" / "amass_text" / "g1"
    with pytest.raises(NameMismatchError, match="torso_joint"):
        read_motions(folder, robot)
    keep = ("waist_roll", "waist_pitch", "wrist_pitch", "wrist_yaw")
    order = [j for j in robot.joints.names if not any(part in j for part in keep)]
    motions = read_motions(folder, robot, joint_order=order)
    assert len(motions) == 6
    knee = motions[0].joints.index("left_knee_joint")
    assert all((m.q[:, knee] > robot.joints.lower[3] - 0.05).all() for m in motions)
