"""Recovery: a hidden change of any kind of parameter comes back from noisy recordings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gapless.identification.optimisers.gauss_newton import gauss_newton
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import Windows, windows_of
from gapless.motions.excitation import multisine
from gapless.parameters import KINDS, Parameter, apply, parameters_of
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Floor, Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.effects import IMU
from gapless.worlds.record import record

NOISE = 2e-4
"""Encoder noise of the recordings, rad (and noise of a tracked base, m)."""

SPEED_NOISE = 2e-3
"""Of the speeds that a humanoid logs, rad/s."""

BESIDE = 0.1
"""How far, in spreads, a neighbour may be moved from the nominal figure that is its truth."""

PHYSICS_STEP = 0.004
"""s; twice the usual one is twice as quick."""

SLED = """
<mujoco model="sled"><worldbody>
  <body name="sled" pos="0 0 0.05"><freejoint/>
    <geom type="box" size="0.2 0.2 0.05" mass="2"/>
    <body name="mast" pos="0 0 0.05">
      <joint name="turn" axis="0 0 1" range="-1 1"/>
      <geom type="box" size="0.1 0.02 0.02" pos="0 0 0.02" mass="0.3"/>
    </body>
  </body>
</worldbody><actuator><position name="turn" joint="turn" kp="5" kv="0.3"/></actuator></mujoco>
"""


@dataclass(frozen=True)
class Case:
    """What is hidden in the truth, and what is fitted beside it.

    Attributes:
        hidden: parameter -> its true value.
        beside: neighbours that are fitted too; their truth is the nominal figure.
        robot: see `robot_of`.
        effects: the nominal ones.
        carried: the nominal load of the torso.
        tolerance: of the value, as a share of the hidden change. The noise alone would allow
            less than 1 %; the rest are the starts: a velocity differenced from noisy positions
            is off by 50 noise levels a second, and a stiff joint rings for the whole window.
    """

    hidden: dict[str, float]
    beside: tuple[str, ...] = ()
    robot: str = "arm"
    effects: Effects = field(default_factory=Effects)
    carried: float = 0.0
    tolerance: float = 0.03


def on_joints(kind: str, lift: float, elbow: float, *beside: str, **other) -> Case:
    """A case of two joints of the arm, with neighbours of the same joints."""
    places = ("shoulder_lift", "elbow_flex")
    hidden = {f"{kind}/{place}": v for place, v in zip(places, (lift, elbow), strict=True)}
    return Case(hidden, tuple(f"{b}/{place}" for b in beside for place in places), **other)


def on_torso(kind: str, value: float, *beside: str, **other) -> Case:
    """A case of the torso of a humanoid."""
    torso = "torso_link"
    return Case({f"{kind}/{torso}": value}, tuple(f"{b}/{torso}" for b in beside), "waist", **other)


CASES = {
    "kp": on_joints("kp", 12.0, 22.0, "frictionloss"),
    "kd": on_joints("kd", 0.3, 0.2, "kp"),
    "armature": on_joints("armature", 0.045, 0.04, "damping"),
    "damping": on_joints("damping", 0.9, 0.4, "kp"),
    "frictionloss": on_joints("frictionloss", 0.15, 0.12, "damping", tolerance=0.05),
    # The nominal motors must saturate too: a limit that nothing meets has no slope.
    "effort": on_joints("effort", 0.8, 0.5, "kp", robot="weak arm"),
    "strength": on_joints("strength", 0.7, 1.3, "frictionloss"),
    # The arm has no damping gain.
    "kd_ratio": Case(
        {"kd_ratio/waist_roll_joint": 0.6, "kd_ratio/waist_pitch_joint": 1.5},
        ("kp/waist_roll_joint", "kp/waist_pitch_joint"),
        "waist",
    ),
    "delay": on_joints("delay", 0.013, 0.021, "kp"),
    # Both the target and the reading are off, so only gravity tells: it needs a heavy joint.
    "encoder_bias": Case(
        {"encoder_bias/waist_roll_joint": 0.05, "encoder_bias/waist_pitch_joint": -0.04},
        ("kp/waist_roll_joint", "kp/waist_pitch_joint"),
        "waist",
    ),
    "stribeck_torque": on_joints("stribeck_torque", 0.25, 0.2, "frictionloss"),
    # It acts in the few samples where a joint turns round.
    "stribeck_speed": on_joints(
        *("stribeck_speed", 0.2, 0.25, "frictionloss"),
        effects=Effects(stribeck_torque=0.3),
        tolerance=0.12,
    ),
    "load_friction": on_joints("load_friction", 0.2, 0.15, "frictionloss"),
    # Not beside kp: both say what share of the asked torque arrives when a joint is driven back.
    "backdrive_friction": on_joints("backdrive_friction", 0.2, 0.15, "frictionloss"),
    "quadratic_friction": on_joints("quadratic_friction", 0.15, 0.2, "frictionloss"),
    "backlash": on_joints("backlash", 0.02, 0.014, "kp"),
    # Not beside kp: of two springs in a row the motion tells little but their sum.
    "compliance": on_joints("compliance", 0.015, 0.01, "frictionloss"),
    "mass": on_torso("mass", 10.8, "com_z"),
    "com_x": on_torso("com_x", 0.04, "mass"),
    "com_y": on_torso("com_y", -0.04, "mass"),
    "com_z": on_torso("com_z", 0.23, "mass"),
    "payload": on_torso("payload", 3.0, "payload_z"),
    "payload_x": on_torso("payload_x", 0.12, "payload", carried=3.0),
    "payload_y": on_torso("payload_y", -0.1, "payload", carried=3.0),
    "payload_z": on_torso("payload_z", 0.3, "payload", carried=3.0),
    "stretch_x": on_torso("stretch_x", 0.5, "mass"),
    "stretch_y": on_torso("stretch_y", 0.5, "mass"),
    "stretch_z": on_torso("stretch_z", 0.5, "mass"),
    "shear_xy": on_torso("shear_xy", 0.8, "mass"),
    "shear_xz": on_torso("shear_xz", 0.5, "mass"),
    "shear_yz": on_torso("shear_yz", 0.5, "mass"),
    "floor_friction": Case({"floor_friction": 0.45}, robot="sled"),
    # Contacts begin and end between samples, and replays of them start a little beside.
    "floor_softness": Case({"floor_softness": 0.035}, robot="sled", tolerance=0.2),
    "floor_height": Case({"floor_height": -0.032}, robot="arm over a table", tolerance=0.05),
    "floor_tilt_x": Case({"floor_tilt_x": 0.03}, robot="arm over a table", tolerance=0.1),
    "floor_tilt_y": Case({"floor_tilt_y": -0.04}, robot="arm over a table", tolerance=0.15),
    "sole_x": Case({"sole_x/gripper": 0.01}, robot="arm over a table", tolerance=0.05),
    "sole_height": Case({"sole_height/gripper": -0.01}, robot="arm over a table", tolerance=0.1),
}


def test_every_kind_has_a_case() -> None:
    """Whoever adds a kind shows that it can be found; the IMU's are in `test_imu_recovery`."""
    assert CASES.keys() == KINDS.keys() - set(IMU)
    assert all(p.split("/")[0] == kind for kind, case in CASES.items() for p in case.hidden)


@cache
def robot_of(name: str, folder: Path) -> Robot:
    """Two joints of an arm; hip and waist of a G1 that stands on its left foot; a sled."""
    if name == "arm over a table":
        arm = Robot.load("so101", lock=["wrist_roll", "gripper"])
        low = arm.with_joints(default={"shoulder_lift": 0.2, "elbow_flex": 0.6})
        return low.with_floor(Floor(height=-0.02, friction=0.3))
    if name == "weak arm":
        return robot_of("arm", folder).with_joints(effort=1.0)
    if name == "arm":
        return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])
    if name == "sled":
        (folder / "sled.xml").write_text(SLED)
        return Robot.from_mjcf(folder / "sled.xml").with_mount("free")
    g1 = Robot.load("g1", mount="left_foot")
    moving = [j for j in g1.joints.names if "waist" in j or "left_hip" in j]
    g1 = g1.lock([j for j in g1.joints.names if j not in moving])
    # Stiff enough that gravity does not topple it: what grows by itself hides every cause.
    return g1.with_joints(kp=300.0, kd=10.0)


def recorded(world: MujocoWorld, clips: int = 2) -> list[Recording]:
    """Noisy motions of a world; the log says nothing of what is different."""
    rng, found = np.random.default_rng(0), []
    for seed in range(clips):
        motion = multisine(world.robot, 3.0, 50, seed=seed, amplitude=0.35, band=(0.4, 2.0))
        clip = record(world, motion, f"m{seed}", start=world.home(), conditions=Conditions())
        noisy = clip.q + rng.normal(0, NOISE, clip.q.shape)
        speed = clip.channels["dq"] + rng.normal(0, SPEED_NOISE, clip.q.shape)
        # A servo reports its position; a humanoid's drives report their speed too.
        logged = {"dq": speed} if "waist_yaw_joint" in clip.joints else {}
        found.append(replace(clip, q=noisy, channels=logged))
    return found


def pushed(world: MujocoWorld) -> list[Recording]:
    """A free robot that slides until friction stops it, or drops; its base is tracked."""
    rng, found, home = np.random.default_rng(0), [], world.home()
    starts = [
        replace(home, base_lin_vel_w=np.array([speed]))
        for speed in ([1.5, 0.0, 0.0], [0.0, -1.2, 0.0], [0.8, 0.8, 0.0])
    ]
    up = np.array([[0.0, 0.0, 0.01]])
    starts += [replace(home, base_pos=home.base_pos + k * up) for k in (1, 2, 3)]
    for i, start in enumerate(starts):
        clip = record(world, np.zeros((30, 1)), f"push{i}", start=start, conditions=Conditions())
        base = {k: v for k, v in clip.channels.items() if k.startswith("base")}
        base["base_pos"] = base["base_pos"] + rng.normal(0, NOISE, (30, 3))
        found.append(replace(clip, channels=base))
    return found


def truth_of(case: Case, world: MujocoWorld, parameters: list[Parameter]) -> MujocoWorld:
    """The world with what is hidden in it."""
    values = [case.hidden.get(p.name, p.prior) for p in parameters]
    robot, effects = apply(world.robot, world.effects, parameters, values)
    return world.variant(robot=robot, effects=effects)


def windows(truth: MujocoWorld, nominal: Robot) -> Windows:
    """Half-second pieces of what the truth did."""
    clips = pushed(truth) if nominal.mount == "free" else recorded(truth)
    return windows_of(clips, nominal, 0.5)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_hidden_change_comes_back(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The fit finds the hidden value, and leaves its neighbours where they are."""
    robot = robot_of(case.robot, tmp_path_factory.getbasetemp())
    robot = robot.with_payloads({"torso_link": Payload(case.carried)} if case.carried else {})
    world = MujocoWorld(robot, physics_step=PHYSICS_STEP, effects=case.effects)
    parameters = parameters_of(robot, [*case.hidden, *case.beside], world.effects)
    truth = truth_of(case, world, parameters)
    problem = Problem(
        *(world, parameters, windows(truth, robot)),
        objective="bodies" if robot.mount == "free" else "joints",
        noise=NOISE,
    )
    found = gauss_newton(problem, np.zeros(len(problem)))
    values = dict(zip((p.name for p in parameters), problem.values(found.z), strict=True))
    for parameter in parameters:
        true = case.hidden.get(parameter.name)
        if true is None:
            near = BESIDE * parameter.prior_std
            assert values[parameter.name] == pytest.approx(parameter.prior, abs=near)
        else:
            near = case.tolerance * abs(true - parameter.prior)
            assert values[parameter.name] == pytest.approx(true, abs=near), parameter.name


def test_two_springs_in_a_row_are_not_told_apart(tmp_path_factory) -> None:
    """A soft gear beside an unknown gain: their sum is found, and the information says so."""
    case = on_joints("compliance", 0.015, 0.01, "kp")
    robot = robot_of("arm", tmp_path_factory.getbasetemp())
    world = MujocoWorld(robot, physics_step=PHYSICS_STEP)
    parameters = parameters_of(robot, [*case.hidden, *case.beside])
    truth = truth_of(case, world, parameters)
    problem = Problem(world, parameters, windows(truth, robot), noise=NOISE)
    found = problem.values(gauss_newton(problem, np.zeros(len(problem))).z)
    gives = found[:2] + 1 / found[2:]
    true = np.array(list(case.hidden.values())) + 1 / robot.joints.kp
    np.testing.assert_allclose(gives, true, rtol=0.03)
    spread = np.linalg.inv(problem.linearised(np.zeros(4)).information)
    size = np.sqrt(np.diag(spread))
    assert (np.diag(spread[:2, 2:]) / (size[:2] * size[2:]) > 0.99).all()
