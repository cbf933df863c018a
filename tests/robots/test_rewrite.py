"""Figures written into a compiled model: the same as compiling the changed robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.robots import Inertia, Payload, Robot
from gapless.robots.build import link_inertia
from gapless.robots.inertia import Floor
from gapless.robots.rewrite import Rewriter

ROBOTS = {
    "g1 on its left foot": ("g1", "left_foot"),
    "g1 free": ("g1", "free"),
    "so101": ("so101", "fixed"),
    "h1_2": ("h1_2", "fixed"),
}

IGNORED = {"stat.meanmass", "stat.meansize", "signature"}
"""Sizes of arrows in a viewer, and a stamp."""


@pytest.fixture(scope="module", params=ROBOTS.values(), ids=ROBOTS.keys())
def writer(request: pytest.FixtureRequest) -> Rewriter:
    """A compiled robot."""
    name, mount = request.param
    return Rewriter(Robot.load(name, mount=mount))


def numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Every numeric field of a model, its options and statistics included."""
    parts = {"": model, "opt.": model.opt, "stat.": model.stat}
    found = {}
    for prefix, part in parts.items():
        for name in dir(part):
            value = None if name.startswith("_") else getattr(part, name)
            if isinstance(value, (int, float, np.ndarray)):
                found[prefix + name] = np.asarray(value)
    return {k: v for k, v in found.items() if k not in IGNORED}


def differences(found: mujoco.MjModel, expected: mujoco.MjModel) -> dict[str, float]:
    """Field -> largest difference, relative to the field's size, where it is not rounding."""
    wrong = {}
    mine, theirs = numbers(found), numbers(expected)
    assert mine.keys() == theirs.keys() and len(mine) > 300
    for name, value in theirs.items():
        if value.shape != mine[name].shape:
            wrong[name] = np.inf
        elif value.size and not np.array_equal(value, mine[name]):
            size = np.abs(value).max() or 1.0
            error = float(np.abs(value.astype(float) - mine[name].astype(float)).max() / size)
            if error > 1e-9:
                wrong[name] = error
    return wrong


def shuffled(robot: Robot, rng: np.random.Generator) -> Robot:
    """Other gains, friction, armature and effort for every joint."""
    fields = ("kp", "kd", "armature", "effort", "damping", "frictionloss")
    return robot.with_joints(
        **{k: getattr(robot.joints, k) * rng.uniform(0.5, 2, len(robot.joints)) for k in fields}
    ).with_joints(frictionloss=rng.uniform(0, 1, len(robot.joints)))


def reshaped(robot: Robot, rng: np.random.Generator) -> Robot:
    """Another mass, centre and inertia for a few links."""
    inertias = {}
    for link in rng.choice(robot.links, 4, replace=False):
        own = robot.inertia(link)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        tensor = turn @ (own.tensor * rng.uniform(0.7, 1.4)) @ turn.T
        com = np.array(own.com) + rng.normal(0, 0.02, 3)
        inertias[link] = Inertia.of(own.mass * rng.uniform(0.5, 2), com, tensor)
    return robot.with_inertias(inertias)


def loaded(robot: Robot, rng: np.random.Generator) -> Robot:
    """A load at a place on the last link, and one at the centre of another."""
    first, last = robot.links[1], robot.links[-1]
    return robot.with_payloads({last: Payload(1.5, (0.02, -0.01, 0.05)), first: Payload(0.3)})


def refloored(robot: Robot, rng: np.random.Generator) -> Robot:
    """Another floor."""
    return robot.with_floor(Floor(friction=0.37, softness=0.011))


CHANGES = {
    "nothing": (),
    "joints": (shuffled,),
    "inertias": (reshaped,),
    "payloads": (loaded,),
    "floor": (refloored,),
    "all": (shuffled, reshaped, loaded, refloored),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_rewritten_model_is_the_compiled_one(
    writer: Rewriter, change: tuple[Callable[[Robot, np.random.Generator], Robot], ...]
) -> None:
    """Every numeric field agrees to rounding with a model compiled from the changed robot."""
    robot, rng = writer._robot, np.random.default_rng(3)
    for step in change:
        robot = step(robot, rng)
    wrong = differences(writer.model(robot), robot.model())
    if robot.mount != "free":  # it meets nothing: the boxes around its shapes are never asked
        wrong = {k: v for k, v in wrong.items() if not k.startswith("bvh_")}
    assert wrong == {}


def test_writing_leaves_no_trace(writer: Rewriter) -> None:
    """The compiled model stays as it was, and so does the next one that is written."""
    robot, rng = writer._robot, np.random.default_rng(0)
    before = robot.model()
    for step in CHANGES["all"]:
        robot = step(robot, rng)
    writer.model(robot)
    assert differences(writer.compiled, before) == {}
    assert differences(writer.model(writer._robot), before) == {}


def test_figures_of_a_calibrated_robot_can_be_taken_back() -> None:
    """A compiled robot that has its own inertias and loads becomes the bare one."""
    bare, rng = Robot.load("h1_2", mount="fixed"), np.random.default_rng(1)
    writer = Rewriter(loaded(reshaped(bare, rng), rng))
    found, expected = writer.model(bare), bare.model()
    wrong = differences(found, expected)
    # The same inertia has several principal frames.
    assert {k for k in wrong if not k.startswith("bvh_")} <= {"body_iquat"}
    for link in bare.links:
        tensors = [link_inertia(model, link).tensor for model in (found, expected)]
        np.testing.assert_allclose(*tensors, rtol=0, atol=1e-12)


def test_a_motor_without_a_limit_has_none(so101: Robot) -> None:
    """An infinite effort switches the limit off; a finite one switches it on."""
    writer = Rewriter(so101)
    boundless = so101.with_joints(effort=np.inf)
    assert not writer.model(boundless).actuator_forcelimited.any()
    assert Rewriter(boundless).model(so101).actuator_forcelimited.all()


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda r: r.with_mount("free"), "mount"),
        (lambda r: r.lock(["gripper"]), "the tree or the joints|locked"),
        (lambda r: replace(r, self_collision=True), "self_collision"),
        (lambda r: replace(r, height=0.3), "height"),
        (lambda r: Robot.load("h1_2"), "mount"),
        (lambda r: Robot.load("so101"), "the tree or the joints"),
    ],
)
def test_another_structure_is_refused(
    so101: Robot, other: Callable[[Robot], Robot], what: str
) -> None:
    """What is not a figure has to be compiled, and the error says what differs and what to do."""
    with pytest.raises(ModelError, match=rf"in .*({what}).*; only figures.*robot\.model\(\)"):
        Rewriter(so101).model(other(so101))
