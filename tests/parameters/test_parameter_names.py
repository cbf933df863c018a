"""From what people type to parameters: names, sets, ties, bounds, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import GaplessError, ModelError, NameMismatchError
from gapless.parameters import KINDS, SETS, Parameter, apply, parameters_of
from gapless.robots import Robot
from gapless.worlds import Effects

ROBOTS = {"g1": "left_foot", "h1_2": "fixed", "so101": "fixed"}


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A humanoid on its left foot."""
    return Robot.load("g1", mount="left_foot")


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", SETS)
def test_every_set_exists_for_every_robot(robot: str, name: str) -> None:
    """A set gives parameters of known kinds with unique names, each inside its bounds."""
    found = parameters_of(Robot.load(robot, mount=ROBOTS[robot]), name)
    assert len({p.name for p in found}) == len(found) > 0
    assert {p.kind for p in found} <= KINDS.keys()
    assert all(p.lower <= p.prior <= p.upper and p.places for p in found)


PLACED = [k for k in KINDS if KINDS[k].place != "world" and k not in SETS]


@pytest.mark.parametrize("kind", PLACED)
def test_a_kind_is_one_number_a_place(so101: Robot, kind: str) -> None:
    """Each driven joint, or each link that moves and weighs something, has its own."""
    found = parameters_of(so101, kind)
    expected = so101.joints.names if KINDS[kind].place == "joint" else so101.links[1:]
    assert [p.places for p in found] == [(place,) for place in expected]
    assert [p.name for p in found] == [f"{kind}/{place}" for place in expected]
    assert {p.unit for p in found} == {KINDS[kind].unit}


def test_a_word_that_is_a_set_and_a_kind_is_the_set(so101: Robot) -> None:
    """ "payload" asks for mass and centre of the loaded links; with a place it is the kind."""
    assert {p.kind for p in parameters_of(so101, "payload")} == {"mass", "com_x", "com_y", "com_z"}
    assert [p.kind for p in parameters_of(so101, "payload/gripper")] == ["payload"]


def test_a_number_knows_the_joint_it_belongs_to(so101: Robot) -> None:
    """A link has none, even where a joint has its name; nor have the floor and shared numbers."""
    typed = ["kp/gripper", "mass/gripper", "kp/all"]
    assert [p.joint for p in parameters_of(so101, typed)] == ["gripper", None, None]
    (floor,) = parameters_of(Robot.load("g1", mount="free"), "floor_friction")
    assert floor.joint is None and floor.places == ()


def test_passive_joints_and_clamped_links_have_no_parameters(g1: Robot) -> None:
    """A joint without a motor has no gain to find; the clamped foot's mass tells nothing."""
    elbow = g1.joints.index("left_elbow_joint")
    off = {f: {"left_elbow_joint": 0.0} for f in ("kp", "kd", "effort")}
    limp = g1.with_joints(**off)
    names = [p.places[0] for p in parameters_of(limp, "damping")]
    assert len(names) == len(g1.joints) - 1 and g1.joints.names[elbow] not in names
    assert "left_ankle_roll_link" not in {p.places[0] for p in parameters_of(g1, "mass")}


def test_the_loaded_links_are_torso_and_hands(g1: Robot, so101: Robot) -> None:
    """The set "payload" asks where a load may be; an arm carries it in its tool."""
    places = {p.places for p in parameters_of(g1, "payload/loaded")}
    assert {("torso_link",), ("left_wrist_yaw_link",), ("right_wrist_yaw_link",)} <= places
    assert [p.places for p in parameters_of(so101, "payload/loaded")] != [(so101.root,)]
    assert [p.places for p in parameters_of(g1, "mass/root")] == [("pelvis",)]


def test_sides_share_one_number(g1: Robot) -> None:
    """Left and right are one; joints without a twin stay alone; nothing is lost."""
    found = parameters_of(g1, "kp@sides")
    knees = next(p for p in found if p.name == "kp/left_knee_joint@sides")
    assert knees.places == ("left_knee_joint", "right_knee_joint")
    assert not knees.factor and knees.unit == "N·m/rad" and knees.joint is None
    assert "kp/waist_yaw_joint" in {p.name for p in found}
    assert sorted(j for p in found for j in p.places) == sorted(g1.joints.names)
    links = parameters_of(g1, "mass/left_knee_link") + parameters_of(g1, "mass@sides")
    assert "mass/left_knee_link@sides" in {p.name for p in links}


def test_motors_share_one_number(g1: Robot) -> None:
    """Joints whose limits and rotors agree are one; a link has no motor."""
    found = parameters_of(g1, "armature@motors")
    assert sorted(j for p in found for j in p.places) == sorted(g1.joints.names)
    assert 1 < len(found) < len(g1.joints) / 2
    for p in found:
        columns = g1.joints.pick(p.places)
        assert len(set(g1.joints.effort[columns])) == len(set(g1.joints.armature[columns])) == 1
    with pytest.raises(GaplessError, match="links, which have no motors; use @sides"):
        parameters_of(g1, "mass@motors")


def test_a_shared_number_is_a_factor_where_figures_differ(g1: Robot, so101: Robot) -> None:
    """It multiplies each joint's own figure, and is a plain value where they agree."""
    (factor,) = parameters_of(g1, "kp@all")
    assert factor.factor and factor.prior == 1.0 and factor.unit == "x nominal"
    robot, _ = apply(g1, Effects(), [factor], [1.3])
    np.testing.assert_allclose(robot.joints.kp, 1.3 * g1.joints.kp)
    for kind in ("kd", "armature", "effort", "mass"):
        assert parameters_of(g1, f"{kind}@all")[0].factor
    (value,) = parameters_of(so101, "kp/all")
    assert not value.factor and value.prior == so101.joints.kp[0]
    robot, _ = apply(so101, Effects(), [value], [9.0])
    np.testing.assert_array_equal(robot.joints.kp, 9.0)


def test_ties_stay_within_a_group(g1: Robot) -> None:
    """ "kp/arms@all" is one number of the arms."""
    (arms,) = parameters_of(g1, "kp/arms@all")
    assert arms.places == g1.joint_groups["arms"] and arms.name == "kp/arms@all"
    (delay,) = parameters_of(g1, "delay/all")
    assert delay.name == "delay/all" and len(delay.places) == len(g1.joints)


def test_bounds_and_priors_are_overridden_by_name_kind_and_pattern(so101: Robot) -> None:
    """The last that fits counts, and nothing else changes."""
    plain = {p.name: p for p in parameters_of(so101, ["kp", "damping"])}
    found = {
        p.name: p
        for p in parameters_of(
            so101,
            ["kp", "damping"],
            bounds={"kp": (1.0, 50.0), "kp/wrist_*": (2.0, 40.0), "kp/wrist_roll": (3.0, 30.0)},
            priors={"damping/elbow_flex": (0.8, 0.1)},
        )
    }
    assert (found["kp/gripper"].lower, found["kp/gripper"].upper) == (1.0, 50.0)
    assert (found["kp/wrist_flex"].lower, found["kp/wrist_flex"].upper) == (2.0, 40.0)
    assert (found["kp/wrist_roll"].lower, found["kp/wrist_roll"].upper) == (3.0, 30.0)
    elbow, before = found["damping/elbow_flex"], plain["damping/elbow_flex"]
    assert (elbow.prior, elbow.prior_std) == (0.8, 0.1)
    assert elbow.step / elbow.prior_std == pytest.approx(before.step / before.prior_std)
    assert found["damping/gripper"] == plain["damping/gripper"]


@pytest.mark.parametrize(
    ("typed", "options", "message"),
    [
        ("kq", {}, "unknown parameter 'kq'.*Did you mean.*Known: kp"),
        ("kp/elbow_flax", {}, "unknown joint or joint group.*Did you mean 'elbow_flex'"),
        ("mass/gripperr", {}, "unknown link or link group.*Did you mean 'gripper'"),
        ("kp@side", {}, "unknown tie 'side'. Did you mean 'sides'"),
        ("kp", {"bounds": {"damping": (0, 1)}}, "unknown parameter 'damping'.*kp/elbow_flex"),
        ("kp", {"priors": {"kp/left_*": (1, 1)}}, r"unknown parameter 'kp/left_\*'"),
        ("kp", {"bounds": {"kp": (30.0, 20.0)}}, "kp/shoulder_pan contradict.*30 to 20 N·m/rad"),
        ("kp", {"bounds": {"kp": (17.8, 17.8)}}, "contradict each other: 17.8 to 17.8"),
        ("kp", {"bounds": {"kp": (20.0, 30.0)}}, "is 17.8 N·m/rad, outside its bounds 20 to 30"),
        ("kp", {"priors": {"kp": (1e6, 1.0)}}, "outside its bounds.*widen the bounds or change"),
        (
            "kp",
            {"priors": {"kp": (17.8, 0.0)}},
            "prior_std of kp/shoulder_pan is 0; expected",
        ),
        ([], {}, "no parameter is named"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    so101: Robot, typed: str | list[str], options: dict, message: str
) -> None:
    """The error says what was wrong, with the value, and what to type instead."""
    with pytest.raises(GaplessError, match=message):
        parameters_of(so101, typed, **options)


def test_unknown_names_are_name_mismatches(so101: Robot) -> None:
    """So that the command line can tell a typing error from bad figures."""
    with pytest.raises(NameMismatchError):
        parameters_of(so101, "kq")


def test_a_parameter_without_a_place_is_refused(so101: Robot) -> None:
    """No floor under a clamped robot, no limit where it is infinite, no gain where it is zero."""
    with pytest.raises(ModelError, match=r"floor_friction has no place.*'fixed'.*mount 'free'"):
        parameters_of(so101, "floor_friction")
    with pytest.raises(ModelError, match=r"floor_height has no place.*'free'.*mount 'fixed'"):
        parameters_of(so101.with_mount("free"), "floor_height")
    typed = ["floor_friction", "floor_height"]
    assert [p.name for p in parameters_of(so101, typed)] == typed
    boundless = so101.with_joints(effort=np.inf)
    with pytest.raises(GaplessError, match=r"effort/\w+ has no place.*\[inf\].*state a effort"):
        parameters_of(boundless, "effort")
    limp = so101.with_joints(kp={"gripper": 0.0})
    with pytest.raises(GaplessError, match=r"kp/gripper has no place.*\[0.0\]"):
        parameters_of(limp, "kp/gripper")


def test_bounds_that_are_not_numbers_are_refused() -> None:
    """NaN compares with nothing, so it is never inside."""
    good = {"name": "kp/a", "kind": "kp", "places": ("a",), "unit": "", "prior": 1.0}
    for bad in ({"lower": np.nan, "upper": 2.0}, {"lower": 0.0, "upper": np.nan}):
        with pytest.raises(GaplessError, match="contradict"):
            Parameter(**good, **bad, prior_std=1.0, step=0.1)
    with pytest.raises(GaplessError, match="outside its bounds"):
        Parameter(**{**good, "prior": np.nan}, lower=0.0, upper=2.0, prior_std=1.0, step=0.1)


def test_a_base_that_is_a_mere_frame_has_its_mass_in_what_is_fixed_to_it() -> None:
    """K-Bot's root weighs nothing, a G1's pelvis does."""
    legs, biped = Robot.load("kbot_legs", mount="free"), Robot.load("g1", mount="free")
    (found,) = parameters_of(legs, "mass/root")
    assert found.places == ("shoulder",) and legs.root == "root"
    (found,) = parameters_of(biped, "mass/root")
    assert found.places == ("pelvis",)
