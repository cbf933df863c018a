"""A robot and its effects with parameters set: each figure reaches its place and no other."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.errors import ModelError
from gapless.parameters import KINDS, Parameter, apply, changed, parameters_of
from gapless.parameters.contact_kinds import OUT_OF_REACH
from gapless.parameters.kinds import EFFECT_FIELDS, JOINT_FIELDS, JOINT_SHARES
from gapless.recordings.conditions import Conditions
from gapless.robots import Inertia, Payload, Robot
from gapless.robots.inertia import Floor
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.effects import IMU, PER_JOINT

LINK_KINDS = [k for k in KINDS if KINDS[k].place == "link"]
SHAPES = [k for k in KINDS if k.startswith(("stretch", "shear"))]
FLOOR = ("floor_friction", "floor_softness", "floor_height", "floor_tilt_x", "floor_tilt_y")
AXES = ("x", "y", "z")


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A free humanoid that carries something."""
    return Robot.load("g1", mount="free").with_payloads({"torso_link": Payload(2.0)})


def different(a: Robot, b: Robot) -> set[str]:
    """Names of the fields of two robots that are not equal; those of joints as "joints.kp"."""
    told = {f.name for f in fields(Robot) if f.name != "joints"}
    found = {name for name in told if getattr(a, name) != getattr(b, name)}
    arrays = [f.name for f in fields(a.joints)]
    return found | {
        f"joints.{k}"
        for k in arrays
        if not np.array_equal(getattr(a.joints, k), getattr(b.joints, k))
    }


def different_effects(a: Effects, b: Effects) -> set[str]:
    """Names of the fields of two effects that are not equal."""
    return {k for k in (*PER_JOINT, *IMU) if not np.array_equal(getattr(a, k), getattr(b, k))}


def moved(robot: Robot, name: str, share: float = 0.3) -> tuple[Parameter, float, Robot, Effects]:
    """One parameter, moved by a share of its spread, and what that gives."""
    effects = Effects().resolve(len(robot.joints))
    (parameter,) = parameters_of(robot, name, effects)
    value = parameter.prior + share * parameter.prior_std
    return parameter, value, *apply(robot, effects, [parameter], [value])


def test_every_kind_is_applied_somewhere() -> None:
    """The tests below cover all kinds."""
    covered = {*JOINT_FIELDS, *JOINT_SHARES, *EFFECT_FIELDS, *LINK_KINDS, *FLOOR}
    assert covered == KINDS.keys()


def test_strength_scales_gains_and_limit_alike(g1: Robot) -> None:
    """A weak motor gives less of every torque; gains that a log states err as much."""
    joint = g1.joints.names[1]
    (parameter,) = parameters_of(g1, f"strength/{joint}")
    weak, _ = apply(g1, Effects(), [parameter], [0.8])
    for figure in ("kp", "kd", "effort"):
        share = getattr(weak.joints, figure)[1] / getattr(g1.joints, figure)[1]
        assert share == pytest.approx(0.8)
    assert weak.gain_errors[joint] == pytest.approx((0.8, 0.8))


def test_a_ratio_of_damping_scales_what_a_log_states(g1: Robot) -> None:
    """Of a model with a damping gain, and of one that has none."""
    joint = g1.joints.names[1]
    (parameter,) = parameters_of(g1, f"kd_ratio/{joint}")
    for robot in (g1, g1.with_joints(kd=0 * g1.joints.kd)):
        slack, _ = apply(robot, Effects(), [parameter], [0.6])
        assert slack.joints.kd[1] == pytest.approx(0.6 * robot.joints.kd[1])
        assert slack.gain_errors[joint] == pytest.approx((1.0, 0.6))
        assert slack.effective_gains({joint: (50.0, 3.0)})[joint] == pytest.approx((50.0, 1.8))


@pytest.mark.parametrize("kind", JOINT_FIELDS)
def test_a_joint_figure_reaches_its_joint_only(g1: Robot, kind: str) -> None:
    """One entry of one field; gains are noted as errors of the drive too."""
    _, value, robot, effects = moved(g1, f"{kind}/left_elbow_joint")
    assert different_effects(effects, Effects().resolve(len(g1.joints))) == set()
    noted = {"gain_errors"} if kind in ("kp", "kd") else set()
    assert different(robot, g1) == {f"joints.{kind}"} | noted
    now, before = getattr(robot.joints, kind), getattr(g1.joints, kind)
    assert np.flatnonzero(now != before).tolist() == [g1.joints.index("left_elbow_joint")]
    assert now[g1.joints.index("left_elbow_joint")] == value


@pytest.mark.parametrize("kind", IMU)
def test_an_error_of_the_imu_is_one_number(kind: str) -> None:
    """Of a robot whose base moves; the robot stays as it is. One that cannot move has none."""
    free = Robot.load("g1", mount="free")
    _, value, robot, effects = moved(free, kind)
    assert different(robot, free) == set()
    assert different_effects(effects, Effects().resolve(len(free.joints))) == {kind}
    assert getattr(effects, kind) == value
    with pytest.raises(ModelError, match=rf"{kind} has no place.*'fixed'.*mount 'free'"):
        parameters_of(free.with_mount("fixed"), kind)


@pytest.mark.parametrize("kind", [k for k in EFFECT_FIELDS if k not in IMU])
def test_an_effect_reaches_its_joint_only(g1: Robot, kind: str) -> None:
    """One entry of one field of the effects; the robot stays as it is."""
    _, value, robot, effects = moved(g1, f"{kind}/left_elbow_joint")
    assert different(robot, g1) == set()
    nominal = Effects().resolve(len(g1.joints))
    assert different_effects(effects, nominal) == {kind}
    now = getattr(effects, kind)
    (at,) = np.flatnonzero(now != getattr(nominal, kind))
    assert at == g1.joints.index("left_elbow_joint") and now[at] == value


@pytest.mark.parametrize("kind", [k for k in LINK_KINDS if not k.startswith("sole")])
def test_a_link_figure_reaches_its_link_only(g1: Robot, kind: str) -> None:
    """The inertia or the load of one link changes, in that figure only."""
    _, value, robot, effects = moved(g1, f"{kind}/torso_link")
    assert different_effects(effects, Effects().resolve(len(g1.joints))) == set()
    load, own = g1.payloads["torso_link"], g1.inertia("torso_link")
    if kind.startswith("payload"):
        assert different(robot, g1) == {"payloads"} and robot.payloads.keys() == {"torso_link"}
        com = (
            None
            if kind == "payload"
            else [value if kind[-1] == a else c for a, c in zip(AXES, own.com, strict=True)]
        )
        expected = Payload(value) if com is None else Payload(load.mass, tuple(com))
        assert robot.payloads["torso_link"] == expected
        return
    assert different(robot, g1) == {"inertias"} and robot.inertias.keys() == {"torso_link"}
    now = robot.inertias["torso_link"]
    assert now.mass == (value if kind == "mass" else own.mass)
    assert now.com == tuple(
        value if kind == f"com_{a}" else c for a, c in zip(AXES, own.com, strict=True)
    )
    assert (now.moments != own.moments) == (kind in SHAPES)


def test_the_floor_is_the_worlds(g1: Robot) -> None:
    """Friction moves and softness stays; or the other way round."""
    soft = g1.with_floor(Floor(0.9, 0.03))
    _, value, robot, _ = moved(soft, "floor_friction")
    assert different(robot, soft) == {"floor"} and robot.floor == Floor(value, 0.03)
    _, value, robot, _ = moved(soft, "floor_softness")
    assert different(robot, soft) == {"floor"} and robot.floor == Floor(0.9, value)


def test_height_and_tilt_are_those_of_the_plane(so101: Robot) -> None:
    """Each moves the plane of a robot that is held, and leaves the rest of it."""
    table = so101.with_floor(Floor(0.4, height=-0.05).tilted(0.02, -0.03))
    _, value, robot, _ = moved(table, "floor_height")
    assert different(robot, table) == {"floor"}
    assert robot.floor == replace(table.floor, height=value)
    for axis, kind in enumerate(("floor_tilt_x", "floor_tilt_y")):
        _, value, robot, _ = moved(table, kind)
        expected = [0.02, -0.03]
        expected[axis] = value
        assert robot.floor.tilt == pytest.approx(expected)
        assert (robot.floor.height, robot.floor.friction) == (-0.05, 0.4)


def test_a_robot_without_a_floor_is_given_one(so101: Robot) -> None:
    """Where its height is looked for; nominally it is out of reach."""
    (parameter,) = parameters_of(so101, "floor_height")
    assert not so101.meets_floor and parameter.prior == OUT_OF_REACH
    found, _ = apply(so101, Effects(), [parameter], [-0.04])
    assert found.meets_floor and found.floor == Floor(height=-0.04)


@pytest.mark.parametrize("kind", ["sole_x", "sole_height"])
def test_a_sole_moves_alone(g1: Robot, kind: str) -> None:
    """The contact shapes of one link, along one axis of its frame."""
    foot = g1.link_groups["feet"][0]
    _, value, robot, _ = moved(g1, f"{kind}/{foot}")
    assert different(robot, g1) == {"soles"}
    assert robot.soles == {foot: (value, 0.0) if kind == "sole_x" else (0.0, value)}


@pytest.mark.parametrize("kind", KINDS)
def test_the_prior_is_the_robot_as_it_is(g1: Robot, kind: str) -> None:
    """Parameters at their priors leave the compiled model as it was, to rounding."""
    effects = Effects().resolve(len(g1.joints))
    place = {"joint": "/left_elbow_joint", "link": "/torso_link", "world": ""}[KINDS[kind].place]
    g1 = g1.with_mount("fixed") if kind == "floor_height" else g1
    (parameter,) = parameters_of(g1, kind + place, effects)
    robot, same = apply(g1, effects, [parameter], [parameter.prior])
    assert same == effects
    if kind == "floor_height":  # a plane that nothing reaches
        assert robot.floor.height == OUT_OF_REACH
        return
    now, before = robot.model(), g1.model()
    for field in ("body_mass", "body_ipos", "body_inertia", "actuator_gainprm", "geom_friction"):
        np.testing.assert_allclose(getattr(now, field), getattr(before, field), atol=1e-12)


def test_several_parameters_of_one_link_act_together(g1: Robot) -> None:
    """Mass, centre and shape of a link, and its load, do not undo each other."""
    typed = ["mass", "com_z", "stretch_x", "payload", "payload_y"]
    parameters = parameters_of(g1, [f"{k}/torso_link" for k in typed])
    robot, _ = apply(g1, Effects(), parameters, [9.0, 0.2, 0.1, 3.0, 0.05])
    own, load = robot.inertia("torso_link"), robot.payloads["torso_link"]
    assert (own.mass, own.com[2]) == pytest.approx((9.0, 0.2))
    assert own.moments != g1.inertia("torso_link").moments
    assert (load.mass, load.com[1]) == (3.0, 0.05)


def test_stated_gains_err_as_the_calibrated_ones_do(so101: Robot) -> None:
    """A drive that makes 0.7 of the table's gain makes 0.7 of a gain that a log states."""
    robot = so101.with_joints(kd=0.5)
    parameters = parameters_of(robot, ["kp/elbow_flex", "kd/elbow_flex"])
    values = [0.7 * robot.joints.kp[2], 1.5 * robot.joints.kd[2]]
    found, effects = apply(robot, Effects(), parameters, values)
    assert found.gain_errors == {"elbow_flex": pytest.approx((0.7, 1.5))}
    stated = found.with_gains({"elbow_flex": (10.0, 0.2), "gripper": (5.0, 0.1)})
    assert (stated.joints.kp[2], stated.joints.kd[2]) == pytest.approx((7.0, 0.3))
    assert (stated.joints.kp[5], stated.joints.kd[5]) == (5.0, 0.1)
    again, _ = apply(found, effects, parameters_of(found, "kp/elbow_flex"), [0.35 * 17.8])
    assert again.gain_errors["elbow_flex"] == pytest.approx((0.35, 1.5))


def test_stated_gains_act_in_a_world(so101: Robot) -> None:
    """Conditions that state the table's gains leave a calibrated world as it is."""
    world = changed(MujocoWorld(so101), parameters_of(so101, "kp/all"), [-5.0])
    table = {j: (kp, 0.0) for j, kp in zip(so101.joints.names, so101.joints.kp, strict=True)}
    targets = world.robot.joints.default + np.full((1, 20, 6), 0.2)
    plain = world.rollout(world.home(), targets)
    told = world.rollout(world.home(), targets, conditions=[Conditions(gains=table)])
    np.testing.assert_allclose(told.q, plain.q, atol=1e-9)
    nominal = MujocoWorld(so101).rollout(world.home(), targets)
    assert np.abs(plain.q - nominal.q).max() > 0.01


def test_offsets_stop_at_the_bounds(so101: Robot) -> None:
    """Friction is never negative."""
    world = changed(MujocoWorld(so101), parameters_of(so101, "frictionloss"), [-10.0] * 6)
    np.testing.assert_array_equal(world.robot.joints.frictionloss, 0.0)


SHAPE = st.floats(-2.0, 2.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(SHAPE, min_size=6, max_size=6), st.sampled_from(["torso_link", "pelvis"]))
def test_any_stretch_and_shear_leaves_a_body_that_could_exist(
    shape: list[float], link: str
) -> None:
    """Within the bounds every combination gives an Inertia that MuJoCo compiles."""
    robot = ARMS
    parameters = parameters_of(robot, [f"{k}/{link}" for k in SHAPES])
    found, _ = apply(robot, Effects(), parameters, shape)
    own = found.inertia(link)
    assert own.mass == pytest.approx(robot.inertia(link).mass)
    spread = np.trace(own.tensor) / 2 * np.eye(3) - own.tensor
    assert np.linalg.eigvalsh(spread)[0] > -1e-6 * np.trace(spread)


ARMS = Robot.load("g1", mount="free", lock=["legs", "waist", "arms"])


def test_a_stretch_is_what_it_says() -> None:
    """Stretched by s along x, the second moment along x grows by exp(2s), the others stay."""
    own, size = ARMS.inertia("torso_link"), 0.4
    (parameter,) = parameters_of(ARMS, "stretch_x/torso_link")
    found, _ = apply(ARMS, Effects(), [parameter], [size])
    before, now = (
        np.trace(i.tensor) / 2 * np.eye(3) - i.tensor for i in (own, found.inertia("torso_link"))
    )
    np.testing.assert_allclose(np.diag(now), np.diag(before) * [np.exp(2 * size), 1, 1], rtol=1e-9)
    assert isinstance(found.inertia("torso_link"), Inertia)


def test_effects_beyond_the_parameters_are_kept(so101: Robot) -> None:
    """Jitter, heat and the seed of the nominal effects stay."""
    given_effects = replace(Effects(jitter=0.002, heating=1.0, delay=0.01), seed=5)
    parameters = parameters_of(so101, "delay/gripper", given_effects)
    _, effects = apply(so101, given_effects, parameters, [0.03])
    np.testing.assert_allclose(effects.delay, [0.01] * 5 + [0.03])
    assert (effects.jitter, effects.heating, effects.seed) == (0.002, 1.0, 5)
