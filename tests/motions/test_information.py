"""What a motion tells about parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import GaplessError, NameMismatchError, SimulationError
from gapless.motions.excitation import multisine
from gapless.motions.information import (
    fisher,
    log_det,
    own_sensitivities,
    positions,
    predicted_errors,
    sensitivities,
)
from gapless.parameters import apply, changed, parameters_of
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld


@pytest.fixture(scope="module")
def world(so101: Robot) -> MujocoWorld:
    """A six-joint arm."""
    return MujocoWorld(so101)


@pytest.fixture(scope="module")
def targets(so101: Robot) -> np.ndarray:
    """Two seconds of moderate motion, so that no motor saturates."""
    return multisine(so101, 2.0, 50, seed=1, amplitude=0.3)


def test_a_name_stands_for_joints_groups_or_one_shared_number(arms: Robot) -> None:
    """'kp' is every joint, 'kp/group' those of a group, 'kp/all' one number."""
    assert len(parameters_of(arms, ["kp"])) == len(arms.joints)
    assert len(parameters_of(arms, ["kp/left_arm"])) == 7
    (shared,) = parameters_of(arms, ["kp/all"])
    robot, _ = apply(arms, MujocoWorld(arms).effects, [shared], [2.0])
    np.testing.assert_allclose(robot.joints.kp, arms.joints.kp * 2.0)
    assert len(parameters_of(arms, ["kp", "kp/left_arm"])) == len(arms.joints)


def test_every_field_reaches_the_world(world: MujocoWorld) -> None:
    """An offset in each field moves exactly that figure of that joint."""
    link = world.robot.links[-1]
    names = ["kp", "kd", "armature", "damping", "frictionloss", "delay"]
    parameters = parameters_of(
        world.robot, [*(f"{n}/elbow_flex" for n in names), f"payload/{link}"]
    )
    moved = changed(world, parameters, [0.01] * len(parameters))
    for name in names[:-1]:
        difference = getattr(moved.robot.joints, name) - getattr(world.robot.joints, name)
        np.testing.assert_allclose(difference, [0, 0, 0.01, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(moved.effects.delay, [0, 0, 0.01, 0, 0, 0])
    assert moved.robot.payloads == {link: Payload(0.01)}


@pytest.mark.parametrize("name", ["kpp", "kp/elbow", "payload/nothing", "weight"])
def test_unknown_parameter_is_refused(so101: Robot, name: str) -> None:
    """The error says which names there are."""
    with pytest.raises(NameMismatchError, match="Known"):
        parameters_of(so101, [name])
    with pytest.raises(GaplessError, match="no parameter"):
        parameters_of(so101, [])


def test_held_joint_tells_gain_by_its_sag(so101: Robot) -> None:
    """Under gravity a joint sags by torque / kp, so d(sag)/d(kp) is sag / kp."""
    world = MujocoWorld(so101.with_joints(frictionloss=0.0))
    pose = np.array([0.0, 1.0, -0.5, 0.3, 0.0, 0.0])
    held = np.tile(pose, (150, 1))
    sensitivity = sensitivities(world, held, parameters_of(world.robot, ["kp"]))
    sag = pose - positions(world, held[None], world.home())[0, -1]
    # Joints pull on each other only through the small change of the lever arms.
    np.testing.assert_allclose(np.diag(sensitivity[-1]), sag / so101.joints.kp, rtol=0.1, atol=2e-5)
    assert abs(sag[1]) > 0.02


def test_sensitivities_predict_a_small_change(world: MujocoWorld, targets: np.ndarray) -> None:
    """q + S·change is what a changed robot does, to a few hundredths of the change."""
    parameters = parameters_of(world.robot, ["kp", "frictionloss", "armature", "damping"])
    rng = np.random.default_rng(0)
    change = 0.02 * rng.normal(size=len(parameters)) * [p.prior_std for p in parameters]
    nominal, truth = (
        positions(w, targets[None], world.home())[0]
        for w in (world, changed(world, parameters, change))
    )
    told = sensitivities(world, targets, parameters) @ change
    assert np.linalg.norm(truth - nominal - told) < 0.05 * np.linalg.norm(truth - nominal)


def test_a_batch_gives_what_its_motions_give(world: MujocoWorld, targets: np.ndarray) -> None:
    """Batching changes nothing; the quick estimate is close for a joint's own parameters."""
    parameters = parameters_of(world.robot, ["kp/elbow_flex", "armature/wrist_roll"])
    batch = np.stack([targets, 0.5 * targets])
    both = sensitivities(world, batch, parameters)
    np.testing.assert_array_equal(both[1], sensitivities(world, batch[1], parameters))
    quick = own_sensitivities(world, batch, parameters)
    for column, joint in enumerate((2, 4)):
        own, full = quick[:, :, joint, column], both[:, :, joint, column]
        assert np.linalg.norm(own - full) < 0.05 * np.linalg.norm(full)


def test_figures_at_zero_are_only_moved_up(arms: Robot) -> None:
    """A robot without friction has a one-sided slope, and it is finite."""
    targets = multisine(arms, 1.0, 50, seed=0)
    slope = sensitivities(MujocoWorld(arms), targets, parameters_of(arms, ["frictionloss/all"]))
    assert np.isfinite(slope).all() and np.abs(slope).max() > 0


def test_slopes_are_taken_where_the_world_is(world: MujocoWorld, targets: np.ndarray) -> None:
    """Far from the priors, at a fit's guess, they still say what a further change does."""
    parameters = parameters_of(world.robot, ["kp/all", "frictionloss/elbow_flex", "delay/all"])
    offsets = 0.5 * np.array([p.prior_std for p in parameters])
    here, there = (changed(world, parameters, share * offsets) for share in (1.0, 1.02))
    moved, still = (positions(w, targets[None], world.home()) for w in (there, here))
    for slopes in (sensitivities, own_sensitivities):
        told = slopes(here, targets[None], parameters) @ (0.02 * offsets)
        assert np.linalg.norm(moved - still - told) < 0.1 * np.linalg.norm(moved - still)


def test_figures_at_their_upper_bound_are_only_moved_down(
    world: MujocoWorld, targets: np.ndarray
) -> None:
    """A bound that a fit has reached does not hide the slope."""
    parameters = parameters_of(world.robot, ["armature/elbow_flex"])
    bounded = [replace(p, upper=p.prior) for p in parameters]
    for slopes in (sensitivities, own_sensitivities):
        free, told = (slopes(world, targets[None], p)[:, :, 2] for p in (parameters, bounded))
        assert np.linalg.norm(told - free) < 0.02 * np.linalg.norm(free)


def test_predicted_error_is_that_of_a_linear_fit() -> None:
    """Cramér-Rao against the spread of least-squares fits."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2, 3)) * [1.0, 20.0, 0.03]
    flat, noise = rows.reshape(-1, 3), 0.5
    fits = [np.linalg.lstsq(flat, rng.normal(0, noise, 80), rcond=None)[0] for _ in range(2000)]
    np.testing.assert_allclose(predicted_errors(fisher(rows, noise)), np.std(fits, 0), rtol=0.1)


def test_what_cannot_be_told_apart_is_infinite(so101: Robot) -> None:
    """Two parameters with one effect have no error bar; a prior gives them one."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2, 3)) * [1.0, 1e-4, 1.0]
    rows[..., 2] = 3 * rows[..., 0]
    information = fisher(rows)
    np.testing.assert_array_equal(np.isinf(predicted_errors(information)), [True, False, True])
    assert log_det(information, parameters_of(so101, ["kp"])[:3]) == -np.inf
    assert np.isfinite(predicted_errors(information, np.full(3, 10.0))).all()
    assert np.isinf(predicted_errors(np.zeros((2, 2)))).all()


def test_gain_and_damping_of_a_driven_joint_are_one_parameter(world: MujocoWorld) -> None:
    """While no motor saturates, kd and viscous friction do the same, and this is said."""
    targets = multisine(world.robot, 3.0, 50, seed=1, amplitude=0.2, band=(0.2, 0.5))
    parameters = parameters_of(world.robot, ["kd/elbow_flex", "damping/elbow_flex"])
    told = fisher(sensitivities(world, targets, parameters))
    alone = predicted_errors(told[:1, :1])[0]
    assert predicted_errors(told)[0] > 100 * alone


def test_noise_must_be_above_zero() -> None:
    """Perfect readings would promise perfect knowledge."""
    with pytest.raises(SimulationError, match="noise is 0"):
        fisher(np.ones((2, 1, 1)), 0.0)
