"""Recordings, logs and robots of the sizes that a test can afford, in the shapes the pages name."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from doc_pages import documented_table

import log_writers
from gapless.motions.excitation import multisine
from gapless.recordings import Conditions, DatasetWriter
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.robots import names as built_in
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

EXCITING = ("chirp_sweep", "multisine", "prbs_excitation", "step_response")
RUNS = ("run100hz_1", "run100hz_2", "run50hz_1", "run50hz_2")
MOTIONS = (*EXCITING, *RUNS, "load_1", "load_2")
"""Names that the patterns of the pages find; every second one is of another unit."""
SECONDS, STEP = 5.0, 0.005
LEGS = ("left_hip_pitch_04", "left_knee_04", "right_hip_pitch_04", "right_knee_04")
MOVING = {
    "so101": ("shoulder_lift", "elbow_flex"),
    "h1_2": ("left_shoulder_pitch_joint", "left_elbow_joint"),
    "g1": ("left_elbow_joint", "right_elbow_joint"),
    "g1_23dof": ("left_elbow_joint", "right_elbow_joint"),
    "kbot": tuple(f"dof_{joint}" for joint in LEGS),
    "kbot_legs": LEGS,
}
"""Built-in robot -> the joints that its small recordings move; the others are locked."""
MJCF = """<mujoco model="my_robot"><worldbody><body name="base">
  <geom type="box" size=".05 .05 .05" mass="1"/>{}</body></worldbody>
  <actuator>{}</actuator></mujoco>"""
BODY = """<body name="{}" pos="0 0 .3">
  <joint name="{}" axis="0 1 0" range="-90 90" armature=".01"/>
  <geom type="capsule" fromto="0 0 0 0 0 .3" size=".02" mass=".5"/>{}</body>"""
DRIVE = '<position joint="{}" kp="60" kv="3" forcerange="-60 60"/>'
LINK = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>
  <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
  <limit lower="-1.5" upper="1.5" effort="60" velocity="10"/></joint>"""


@dataclass(frozen=True)
class Place:
    """Where inputs are made.

    Attributes:
        folder: that the command runs in.
        page: that it is on.
        robot: that it is about: a built-in one, or a file in the folder.
        full: recordings of every joint, for a program that locks none.
        format: of the logs that it imports.
        calibrated: the command takes a calibration, so its corrections were learned on top of it.
    """

    folder: Path
    page: str
    robot: str
    full: bool = False
    format: str = "sage"
    calibrated: bool = False


def dataset(inputs: object, place: Place, path: Path) -> None:
    """Short motions of a robot with weak motors, of two units."""
    robot = small_robot(place)
    told = {"locked": list(robot.locked)}
    names = robot.joints.names
    with DatasetWriter(path, Path(place.robot).stem, names, robot.rate, told) as writer:
        for clip in recorded(robot, EXCITING, 2.5) if place.full else recorded(robot, MOTIONS):
            writer.append(clip)


def small_robot(place: Place) -> Robot:
    """The robot with few of its joints."""
    robot = Robot.load(robot_source(place), mount="fixed")
    moving = MOVING.get(place.robot, robot.joints.names)
    if place.full:
        return robot
    return robot.lock([joint for joint in robot.joints.names if joint not in moving])


def robot_source(place: Place) -> str | Path:
    """A name or a file that a robot is loaded from."""
    return place.robot if place.robot in built_in() else place.folder / place.robot


def recorded(robot: Robot, motions: Sequence[str], seconds: float = SECONDS) -> list[Recording]:
    """What noisy encoders see of a robot that is weaker than its model."""
    world = MujocoWorld(robot.with_joints(kp=0.7 * robot.joints.kp), physics_step=STEP)
    found = []
    for seed, name in enumerate(motions):
        targets = multisine(robot, seconds, robot.rate, seed=seed)
        told = Conditions(payloads={}, unit=str(1 + seed % 2))
        clip = record(world, targets, name, start=world.home(), conditions=told)
        noise = np.random.default_rng(seed).normal(0, 2e-4, clip.q.shape)
        found.append(replace(clip, q=clip.q + noise, channels={}))
    return found


def logs(inputs: object, place: Place, path: Path) -> None:
    """A folder of logs in the format that is imported."""
    {"sage": sage_logs, "gaponet": gaponet_logs, "generic": csv_logs}[place.format](place, path)


def sage_logs(place: Place, path: Path) -> None:
    """SAGE's text files, a folder a motion, of every joint."""
    for clip in recorded(small_robot(replace(place, full=True)), EXCITING[:3]):
        folder = path / clip.name
        log_writers.write_sage(folder, clip.q, clip.target, joints=clip.joints)


def gaponet_logs(place: Place, path: Path) -> None:
    """GAPONet's ramps: a file a joint, a row a recording."""
    clips = recorded(small_robot(place), EXCITING[:3])
    path.mkdir(parents=True)
    for column, joint in enumerate(clips[0].joints):
        q = np.stack([clip.q[:, column] for clip in clips])
        target = np.stack([clip.target[:, column] for clip in clips if clip.target is not None])
        file = path / f"motor_{joint}.npz"
        np.savez(file, real_dof_positions=q, real_dof_positions_cmd=target)


def csv_logs(place: Place, path: Path) -> None:
    """Tables with the columns that the documented mapping names, one a motion."""
    path.mkdir(parents=True)
    for clip in recorded(Robot.load(robot_source(place), mount="fixed"), EXCITING):
        _write_table(place, clip, path / f"{clip.name}.csv")


def csv_log(inputs: object, place: Place, path: Path) -> None:
    """One such table."""
    (clip,) = recorded(Robot.load(robot_source(place), mount="fixed"), EXCITING[:1])
    _write_table(place, clip, path)


def _write_table(place: Place, clip: Recording, path: Path) -> None:
    told = tomllib.loads(documented_table(place.page, "time"))
    columns = {told["time"]: clip.time}
    dq = np.gradient(clip.q, 1 / clip.rate, axis=0)
    for key, values in {"q": clip.q, "target": clip.target, "dq": dq}.items():
        for number, joint in enumerate(told["joints"] if key in told else ()):
            name = told[key][number] if isinstance(told[key], list) else told[key]
            columns[name.format(joint=joint)] = values[:, clip.joints.index(joint)]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns)
        rows.writerows(np.stack(list(columns.values()), axis=1).tolist())


def mapping(inputs: object, place: Place, path: Path) -> None:
    """The mapping file as a page shows it."""
    path.write_text(documented_table(place.page, "time"))


def mjcf(inputs: object, place: Place, path: Path) -> None:
    """A chain of links with the joints of the page's own mapping, where it shows one."""
    path.write_text(_chain(place, DRIVE))


def _chain(place: Place, drive: str) -> str:
    told = tomllib.loads(documented_table(place.page, "joints", own=True))
    joints, links = told.get("joints", ("left_hip_joint", "left_knee_joint")), ""
    for number, joint in reversed(list(enumerate(joints))):
        links = BODY.format(f"link_{number}", joint, links)
    return MJCF.format(links, "".join(map(drive.format, joints)))


def robot_file(inputs: object, place: Place, path: Path) -> None:
    """The robot file as a page shows it, with the model that it names, which has no gains."""
    text = documented_table(place.page, "model")
    path.write_text(text)
    model = path.parent / tomllib.loads(text)["model"]
    model.write_text(_urdf() if model.suffix == ".urdf" else _chain(place, ""))


def _urdf() -> str:
    links = "".join(map(LINK.format, ("base", "thigh", "hand")))
    hip = JOINT.format("left_hip_joint", "base", "thigh")
    knee = JOINT.format("left_knee_joint", "thigh", "hand")
    return f'<robot name="my_robot">{links}{hip}{knee}</robot>'


def asap_motion(inputs: object, place: Place, path: Path) -> None:
    """A reference motion of a G1 as ASAP's files hold it."""
    robot = Robot.load("g1_23dof")
    frames = 60
    pose = np.tile(robot.joints.default, (frames, 1)).astype(np.float32)
    turn = np.tile(np.array([0, 0, 0, 1], np.float32), (frames, 1))
    height = np.tile(np.array([0, 0, robot.standing_height], np.float32), (frames, 1))
    clip = {"dof": pose, "root_rot": turn, "root_trans_offset": height, "fps": 30}
    path.write_bytes(log_writers.joblib_bytes({path.stem: clip}))
