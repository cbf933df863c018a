"""The objective: least at the truth, with slopes that are right, and finite everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import GaplessError, ModelError, NameMismatchError
from gapless.identification.problem.losses import KNEE, LOSSES
from gapless.identification.problem.problem import RUNAWAY_ERROR, Problem
from gapless.identification.problem.residuals import compared_points
from gapless.measurement.windows import Windows, windows_of
from gapless.motions.excitation import multisine
from gapless.parameters import Parameter, apply, parameters_of
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Payload, Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

NAMES = ("kp", "damping", "armature", "frictionloss")


@pytest.fixture(scope="module")
def world(so101: Robot) -> MujocoWorld:
    """The nominal arm."""
    return MujocoWorld(so101)


@pytest.fixture(scope="module")
def parameters(so101: Robot) -> list[Parameter]:
    """Six joints, four kinds."""
    return parameters_of(so101, NAMES)


@pytest.fixture(scope="module")
def truth(parameters: list[Parameter]) -> np.ndarray:
    """Distances of the true arm from the nominal one, in spreads."""
    return np.random.default_rng(3).uniform(-0.5, 0.8, len(parameters))


@pytest.fixture(scope="module")
def clip(world: MujocoWorld, parameters: list[Parameter], truth: np.ndarray) -> Recording:
    """Three seconds of the true arm, speeds logged, without noise."""
    values = [float(p.value_of(z)) for p, z in zip(parameters, truth, strict=True)]
    robot, effects = apply(world.robot, world.effects, parameters, values)
    true = world.variant(robot=robot, effects=effects)
    motion = multisine(robot, 3.0, 50, seed=0, amplitude=0.3)
    return record(true, motion, "m0", start=true.home(), conditions=Conditions())


@pytest.fixture(scope="module")
def windows(clip: Recording, so101: Robot) -> Windows:
    """Half-second pieces that start from exact states."""
    return windows_of([clip], so101, 0.5, smooth=False)


@pytest.fixture(scope="module")
def problem(world: MujocoWorld, parameters: list[Parameter], windows: Windows) -> Problem:
    """Errors in milliradians, priors left out."""
    return Problem(world, parameters, windows, prior_weight=0.0)


@pytest.mark.parametrize("objective", ["joints", "bodies"])
def test_the_truth_has_no_error(
    world: MujocoWorld,
    parameters: list[Parameter],
    windows: Windows,
    truth: np.ndarray,
    objective: str,
) -> None:
    """Replayed in the true figures, exact recordings give what was recorded."""
    problem = Problem(world, parameters, windows, objective=objective, prior_weight=0.0)
    found = problem.residuals(np.array([truth, 0 * truth]))
    assert np.abs(found[0]).max() * problem.noise < 1e-6
    assert problem.rms(found[1]) > 3e-4


def test_the_cost_is_least_at_the_truth(problem: Problem, truth: np.ndarray) -> None:
    """Anywhere else, near and far, it is higher."""
    rng = np.random.default_rng(0)
    points = truth + rng.normal(size=(8, len(truth))) * np.repeat([0.02, 1.0], 4)[:, None]
    costs = problem.costs(np.vstack([truth, points]))
    assert costs[0] < 1e-3 and (costs[1:] > 10 * costs[0]).all()


def test_values_and_z_are_inverse(problem: Problem, truth: np.ndarray) -> None:
    """Within the bounds; beyond them values stop there."""
    np.testing.assert_allclose(problem.z_of(problem.values(truth)), truth, atol=1e-12)
    far = problem.values(np.full(len(problem), -50.0))
    np.testing.assert_allclose(far, [p.lower for p in problem.parameters], atol=1e-12)
    np.testing.assert_allclose(
        problem.values(np.zeros(len(problem))), [p.prior for p in problem.parameters]
    )


def test_slopes_agree_with_central_differences(problem: Problem, truth: np.ndarray) -> None:
    """Of every residual, to a few hundredths; of the cost, what the optimiser follows."""
    linear = problem.linearised(0.5 * truth)
    size = 0.01
    steps = size * np.eye(len(truth))
    ahead, behind = (problem.residuals(linear.z + s * steps) for s in (1, -1))
    central = np.moveaxis(ahead - behind, 0, -1) / (2 * size)
    error = np.linalg.norm(linear.slope - central, axis=(0, 1))
    assert (error < 0.05 * np.linalg.norm(central, axis=(0, 1))).all()
    costs = [problem.costs(linear.z + s * steps) for s in (1, -1)]
    expected = (costs[0] - costs[1]) / (2 * size)
    gradient = linear.scores.sum(axis=0)
    assert np.linalg.norm(gradient - expected) < 0.05 * np.linalg.norm(expected)


def test_slopes_at_a_bound_step_inwards(problem: Problem) -> None:
    """No candidate beyond the bounds is asked for."""
    at = problem.linearised(problem.upper)
    assert np.isfinite(at.slope).all() and np.abs(at.slope).max(axis=(0, 1)).all()


def test_quick_slopes_are_close_to_full_ones(problem: Problem) -> None:
    """Most of what a joint's figure does, it does to its own joint: replays of four, not 24."""
    z, before = np.zeros(len(problem)), problem.simulator.simulated_seconds
    full = problem.linearised(z)
    middle = problem.simulator.simulated_seconds
    quick = problem.linearised(z, full.residual, own=True)
    after = problem.simulator.simulated_seconds
    assert (middle - before) / (after - middle) == pytest.approx(25 / 4)
    error = np.linalg.norm(quick.slope - full.slope, axis=(0, 1))
    share = error / np.linalg.norm(full.slope, axis=(0, 1))
    assert np.median(share) < 0.25 and share.max() < 0.7


def test_quick_slopes_of_a_link_are_not_those_of_a_joint_with_its_name(
    world: MujocoWorld, windows: Windows
) -> None:
    """The arm has a joint and a link called gripper; a mass moves every joint."""
    names = ["mass/gripper", "mass/wrist", "kp/gripper", "kp/wrist_flex"]
    problem = Problem(world, parameters_of(world.robot, names), windows)
    full, quick = (problem.linearised(np.zeros(4), own=own) for own in (False, True))
    np.testing.assert_array_equal(quick.slope[..., :2], full.slope[..., :2])


def test_bodies_have_no_quick_slopes(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """A body moves with many joints, so all slopes are formed."""
    problem = Problem(world, parameters[:3], windows, objective="bodies")
    full, quick = (problem.linearised(np.zeros(3), own=own) for own in (False, True))
    np.testing.assert_array_equal(quick.slope, full.slope)


def test_priors_and_boxes_add_what_they_say(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """A prior adds half its squared distance; a box nothing inside, half a square outside."""
    bare = Problem(world, parameters, windows, prior_weight=0.0)
    z = np.linspace(-1, 1, len(parameters))[None]
    zero = np.zeros((1, len(bare.windows), bare.residuals(z).shape[2]))
    with_prior = Problem(world, parameters, windows, prior_weight=2.0)
    assert bare.costs_of(z, zero)[0] == 0
    assert with_prior.costs_of(z, zero)[0] == pytest.approx((z**2).sum())
    boxed = Problem(world, parameters, windows, prior_weight=0.0, boxes={"damping": (0.8, 1.2)})
    at = [i for i, p in enumerate(parameters) if p.kind == "damping"]
    # The spread of damping is its figure, so that the box is 0.2 wide in z.
    inside, outside = np.zeros((1, len(bare))), np.zeros((1, len(bare)))
    inside[0, at], outside[0, at[0]] = 0.19, -0.5
    assert boxed.costs_of(inside, zero)[0] == 0
    assert boxed.costs_of(outside, zero)[0] == pytest.approx(0.5 * 0.3**2)
    behind = parameters_of(world.robot, "com_x/upper_arm")
    assert behind[0].prior < 0
    boxed = Problem(world, behind, windows, boxes={"com_x": (0.8, 1.2)})
    assert boxed.prior_cost(np.zeros((1, 1)))[0] == 0


def test_slopes_of_priors_and_boxes_are_those_of_their_cost(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """Gradient and curvature by differences of the cost."""
    problem = Problem(world, parameters, windows, boxes={"damping": (0.8, 1.2)})
    z = np.random.default_rng(0).normal(size=len(problem))
    gradient, curvature = problem.prior_slope(z)
    size = 1e-4
    up, here, down = (problem.prior_cost(z + s * size * np.eye(len(z))) / 2 for s in (1, 0, -1))
    np.testing.assert_allclose(gradient, (up - down) / (2 * size), atol=1e-6)
    np.testing.assert_allclose(curvature, (up - 2 * here + down) / size**2, atol=1e-4)


def test_diverging_candidates_have_a_finite_cost(so101: Robot, windows: Windows) -> None:
    """A gain that no physics step can follow counts as a large error, not as NaN."""
    light = so101.with_joints(armature=1e-6, damping=0.0, effort=np.inf)
    world = MujocoWorld(light, physics_step=0.02)
    wild = parameters_of(light, ["kp/all"], bounds={"kp/all": (0.1, 1e9)})
    problem = Problem(world, wild, windows)
    z = np.array([[problem.z_of(np.array([v]))[0]] for v in (17.8, 1e8)])
    played = problem.simulator.play(windows, problem.values(z))
    assert not played.valid[1].all()
    found = problem.residuals(z)
    assert np.isfinite(found).all() and np.isfinite(problem.costs(z)).all()
    assert np.abs(found).max() * problem.noise <= RUNAWAY_ERROR
    assert np.isfinite(problem.linearised(z[1]).information).all()


def test_masked_readings_cost_nothing(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """Whatever stands there."""
    weight, q = windows.weight.copy(), windows.real.q.copy()
    weight[0, :, 2], q[0, :, 2] = 0.0, np.nan
    spoilt = replace(windows, weight=weight, real=replace(windows.real, q=q))
    z = np.zeros((1, len(parameters)))
    whole, part = (Problem(world, parameters, f).residuals(z)[0] for f in (windows, spoilt))
    kept = np.broadcast_to(weight.reshape(whole.shape), whole.shape) > 0
    np.testing.assert_array_equal(part[kept], whole[kept])
    assert not part[~kept].any()


def test_a_missing_reading_leaves_a_whole_pose_out(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """Bodies cannot be placed without one of their joints."""
    weight = windows.weight.copy()
    weight[0, 3, 2] = 0.0
    problem = Problem(world, parameters, replace(windows, weight=weight), objective="bodies")
    found = problem.residuals(np.zeros((1, len(parameters))))[0].reshape(len(weight), 25, -1)
    assert not found[0, 3].any() and found[0, 4].any() and found[1, 3].any()


def test_the_upper_body_counts_more() -> None:
    """The square of an error of the upper body counts three times that of a leg."""
    robot = Robot.load("g1", mount="fixed", lock=["wrists", "waist"])
    world = MujocoWorld(robot)
    clip = record(world, multisine(robot, 1.0, 50, seed=0), "m0", start=world.home())
    pieces = windows_of([clip], robot, 0.5, smooth=False)
    moved = replace(pieces, real=replace(pieces.real, q=pieces.real.q + 0.01))
    problem = Problem(world, parameters_of(robot, "kp/all"), moved, objective="bodies")
    place, points = Kinematics.of(robot).points, compared_points(robot)
    found = (problem.residuals(np.zeros((1, 1))) * problem.noise).reshape(-1, len(points), 3)
    here, there = (
        place(f.real.q.reshape(-1, len(robot.joints)), points=points) for f in (pieces, moved)
    )
    size = np.linalg.norm(found, axis=(0, 2)) / (np.linalg.norm(here - there, axis=(0, 2)) + 1e-9)
    weight = {p.name: s for p, s in zip(points, size, strict=True)}
    assert weight["left_hand"] == pytest.approx(np.sqrt(3), rel=1e-4)
    assert weight["left_knee_link"] == pytest.approx(1, rel=1e-4)


def test_a_load_that_is_looked_for_is_not_told(world: MujocoWorld, clip: Recording) -> None:
    """A fit of the load ignores the one a recording states; other fits use it."""
    told = replace(clip, conditions=Conditions(payloads={"gripper": Payload(0.3)}))
    pieces = windows_of([told], world.robot, 0.5)
    robot = world.robot
    finds = Problem(world, parameters_of(robot, ["payload/gripper"]), pieces)
    uses = Problem(world, parameters_of(robot, ["kp/all"]), pieces)
    assert {c.payloads for c in finds.windows.conditions} == {None}
    assert uses.windows.conditions[0].payloads == {"gripper": Payload(0.3)}
    assert {c.payloads for c in finds.on(pieces).windows.conditions} == {None}
    at = finds.z_of(np.array([0.3]))[None]
    np.testing.assert_allclose(finds.residuals(at), uses.residuals(np.zeros((1, 1))), atol=1e-6)


def test_some_parameters_with_the_others_fixed_are_the_same_problem(
    problem: Problem, truth: np.ndarray
) -> None:
    """What is fixed acts as it did."""
    chosen = np.arange(len(problem)) % 2 == 0
    part = problem.only(chosen, truth)
    assert len(part) == chosen.sum()
    other = 0.5 * truth[chosen]
    whole = truth.copy()
    whole[chosen] = other
    np.testing.assert_allclose(
        part.residuals(other[None]), problem.residuals(whole[None]), atol=1e-6
    )


@pytest.mark.parametrize("name", LOSSES)
def test_the_weight_of_a_loss_is_its_slope(name: str) -> None:
    """So that a weighted least-squares step follows the loss; small errors count fully."""
    loss, x = LOSSES[name], np.geomspace(1e-4, 1e6, 200)
    size = 1e-4 * x
    slope = (loss.value(x + size) - loss.value(x - size)) / (2 * size)
    away = np.abs(x / KNEE**2 - 1) > 1e-2
    np.testing.assert_allclose(loss.weight(x)[away], slope[away], rtol=1e-3)
    assert loss.value(np.array([1e-6]))[0] == pytest.approx(1e-6, rel=1e-3)
    assert (np.diff(loss.value(x)) > 0).all() and (np.diff(loss.weight(x)) <= 0).all()


def test_robust_losses_forget_what_is_far_off() -> None:
    """A huge error counts by its size with huber, hardly at all with cauchy."""
    large = np.array([1e4**2])
    assert LOSSES["squared"].value(large)[0] == large[0]
    assert LOSSES["huber"].value(large)[0] == pytest.approx(2 * KNEE * 1e4, rel=1e-3)
    assert LOSSES["cauchy"].value(large)[0] < 200


def test_wrong_settings_are_refused(
    world: MujocoWorld, parameters: list[Parameter], windows: Windows
) -> None:
    """With what there is to choose from."""
    with pytest.raises(NameMismatchError, match=r"unknown loss 'hubert'.*'huber'"):
        Problem(world, parameters, windows, loss="hubert")
    with pytest.raises(NameMismatchError, match=r"unknown objective.*Known: joints, bodies"):
        Problem(world, parameters, windows, objective="torques")
    with pytest.raises(GaplessError, match="noise is 0"):
        Problem(world, parameters, windows, noise=0)
    with pytest.raises(NameMismatchError, match="unknown parameter 'mass'"):
        Problem(world, parameters, windows, boxes={"mass": (0.8, 1.2)})


def test_bodies_of_a_free_robot_need_a_base() -> None:
    """Where the base is, the joints do not tell."""
    free = Robot.load("g1", mount="free", lock=["arms", "waist"])
    world = MujocoWorld(free)
    clip = record(world, np.tile(free.joints.default, (30, 1)), "m0", start=world.home())
    pieces = windows_of([clip], free, 0.2)
    Problem(world, parameters_of(free, "floor_friction"), pieces, objective="bodies")
    bare = replace(pieces, real=replace(pieces.real, base_pos=None))
    with pytest.raises(ModelError, match="need a base pose"):
        Problem(world, parameters_of(free, "floor_friction"), bare, objective="bodies")
