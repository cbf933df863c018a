"""Simulators that differ: as ASAP's Table VI has it, or within what was identified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld, Correction
from gapless.errors import DataError
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.tracking.tracking_contract import tracking_contract
from gapless.tracking.tracking_task import gains_of
from gapless.tracking.variation_ranges import RANGES
from gapless.tracking.varied_worlds import varied_world, world_within
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.mixed_world import MixedWorld
from hidden_pair import STEP, nominal_pair, recorded
from pendulum import swings
from standing_motion import standing_motion


@pytest.fixture(scope="module")
def many(walker: Robot) -> MixedWorld:
    """Six simulators of a humanoid."""
    return varied_world(MujocoWorld(walker, physics_step=0.005), 6)


def test_they_differ_as_in_the_table(walker: Robot, many: MixedWorld) -> None:
    """Friction of the floor, stiffness of every joint, delay of all commands."""
    assert len(many.worlds) == 6
    table = RANGES["asap"]
    assert table.friction and table.stiffness and table.delay
    friction = [w.robot.floor.friction for w in many.worlds]
    stiff = np.array([w.robot.joints.kp / walker.joints.kp for w in many.worlds])
    delay = np.array([w.effects.delay for w in many.worlds])
    assert (
        min(friction) >= table.friction[0]
        and max(friction) <= table.friction[1]
        and len({*friction}) == 6
    )
    assert (
        stiff.min() >= table.stiffness[0]
        and stiff.max() <= table.stiffness[1]
        and np.ptp(stiff) > 0.05
    )
    assert delay.min() >= table.delay[0] and delay.max() <= table.delay[1]
    assert (np.ptp(delay, axis=1) == 0).all() and len({*delay[:, 0]}) == 6
    assert all(w.robot.joints.kd.tolist() == walker.joints.kd.tolist() for w in many.worlds)


def test_the_seed_decides(walker: Robot, many: MixedWorld) -> None:
    """The same again, or others."""
    world = MujocoWorld(walker, physics_step=0.005)
    assert varied_world(world, 6).identity == many.identity
    assert varied_world(world, 6, seed=1).identity != many.identity


def test_a_policy_states_the_gains_of_the_table(walker: Robot, many: MixedWorld) -> None:
    """Not those of the first of them; each makes of a stated gain its own share."""
    frames = MotionFrames.of(standing_motion(walker), walker)
    contract = tracking_contract(frames, many.robot, "asap", "residual", 0.005)
    np.testing.assert_allclose(contract.kp, walker.joints.kp, rtol=1e-12)
    np.testing.assert_allclose(contract.kd, walker.joints.kd, rtol=1e-12)
    told = gains_of(contract, many.robot)
    assert told is not None and told.gains == contract.gains
    for world in many.worlds:
        made = world.robot.with_gains(told.gains).joints
        np.testing.assert_allclose(made.kp, world.robot.joints.kp, rtol=1e-12)
    once = varied_world(many.worlds[0], 1).worlds[0].robot  # of one that errs already
    stated = tracking_contract(frames, once, "asap", "residual", 0.005)
    np.testing.assert_allclose(stated.kp, walker.joints.kp, rtol=1e-12)


def test_hidden_robots_cannot_be_varied(rod: Robot) -> None:
    """Nobody knows their figures."""
    with pytest.raises(DataError, match="only the simulator of a robot can be varied"):
        varied_world(HiddenWorld(rod, "mild"), 3)


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    """What was identified of a pair of joints with strong motors."""
    robot = nominal_pair()
    waves = recorded(robot.with_joints(kp=1.3 * robot.joints.kp), ["a", "b", "c"])
    return identify(waves, robot, ["kp"], settings=IdentifySettings(physics_step=STEP, windows=8))


def test_worlds_within_the_intervals(calibration: Calibration) -> None:
    """As far apart as what was identified is unsure, and no further."""
    robot = nominal_pair()
    world = CorrectedWorld(MujocoWorld(robot, physics_step=STEP), calibration)
    many = varied_world(world, 40)
    names = [f"kp/{joint}" for joint in robot.joints.names]
    drawn = np.array([w.robot.joints.kp for w in many.worlds])
    value = np.array([calibration.values[name] for name in names])
    std = np.array([e.std for e in calibration.estimates if e.name in names])
    assert (np.abs(drawn.mean(axis=0) - value) < std).all()
    assert (drawn.std(axis=0) > 0.5 * std).all() and (drawn.std(axis=0) < 2 * std).all()
    low, high = np.array([calibration.ranges()[name] for name in names]).T
    assert (drawn >= low).all() and (drawn <= high).all()
    assert world_within(world, 40).identity == many.identity
    assert world_within(world, 40, seed=1).identity != many.identity


def test_corrections_stay_on_worlds_within_the_intervals(
    calibration: Calibration, made: Callable[..., Correction]
) -> None:
    """They act in each of them, as they do in the identified one."""
    nominal = MujocoWorld(nominal_pair(), physics_step=STEP)
    plain = CorrectedWorld(nominal, calibration)
    aligned = CorrectedWorld(nominal, calibration, [made(on=plain.world)])
    home = nominal.home(3)
    targets = np.tile(home.q[:, None] + 0.2, (1, 20, 1))
    acted, bare = (varied_world(w, 3).rollout(home, targets).q[:, -1] for w in (aligned, plain))
    assert (np.abs(acted - bare).max(axis=1) > 1e-3).all()
    assert len(np.unique(acted[:, 0].round(9))) == 3


def test_without_a_calibration_there_are_no_intervals() -> None:
    """What to do is told."""
    with pytest.raises(DataError, match=r"no intervals to vary within.*--world mujoco --vary"):
        varied_world(CorrectedWorld(MujocoWorld(nominal_pair(), physics_step=STEP)), 3)


def test_a_tracker_of_a_calibrated_robot_states_what_its_drives_are_told(
    calibration: Calibration,
) -> None:
    """The table's gains, of which this robot makes more: not more of more."""
    robot = nominal_pair()
    strong = robot.calibrated(calibration)
    motion = replace(swings(), joints=robot.joints.names, q=np.tile(swings().q, (1, 2)))
    frames = MotionFrames.of(motion, strong)
    contract = tracking_contract(frames, strong, "asap", "residual", STEP)
    np.testing.assert_allclose(contract.kp, robot.joints.kp, rtol=1e-9)
    made = strong.with_gains(contract.gains).joints.kp
    np.testing.assert_allclose(made, strong.joints.kp, rtol=1e-9)
    assert (made > 1.1 * robot.joints.kp).all()
