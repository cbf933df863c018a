"""Recordings with a clamped foot: the base it implies, and feet made level."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.identification.fixed_foot import base_through_foot, level_feet, with_base_through_foot
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Robot
from gapless.robots.assemble import assemble
from gapless.robots.rotations import angle_between

RATE = 50.0


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A free G1."""
    return Robot.load("g1", mount="free")


def recording_of(q: np.ndarray, robot: Robot) -> Recording:
    """A clip of these positions, whose targets are a step ahead."""
    target = np.concatenate([q[1:], q[-1:]])
    return Recording("clip", robot.joints.names, RATE, q, target, np.ones(q.shape, bool))


def squats(robot: Robot, frames: int = 40) -> np.ndarray:
    """Both knees bend alike and both feet stay flat; the arms wave."""
    depth = 0.3 * np.sin(np.linspace(0, 3, frames))
    q = np.tile(robot.joints.default, (frames, 1))
    for side in ("left", "right"):
        for joint, share in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
            q[:, robot.joints.index(f"{side}_{joint}_joint")] += share * depth
    q[:, robot.joints.index("left_elbow_joint")] += depth
    return q


def free_foot_height(clip: Recording, robot: Robot) -> np.ndarray:
    """Height of the right foot above the left one, which is clamped."""
    kinematics = Kinematics.of(robot.with_mount("left_foot"))
    feet = [kinematics.links.index(link) for link in robot.link_groups["feet"]]
    height = kinematics.link_poses(clip.q)[0][:, feet, 2]
    return height[:, 1] - height[:, 0]


@pytest.mark.parametrize(("name", "foot"), [("g1", "left_foot"), ("h1_2", "right_foot")])
def test_base_is_the_inverse_of_the_foot_seen_from_the_base(name: str, foot: str) -> None:
    """The same tree grown from the foot, whose root is then a link like others, gives one pose."""
    robot = Robot.load(name, mount="free")
    rng = np.random.default_rng(0)
    q = rng.uniform(robot.joints.lower, robot.joints.upper, (20, len(robot.joints)))
    pos, quat = base_through_foot(q, robot, foot)
    clamped = Kinematics.of(robot.with_mount(foot))
    root = clamped.links.index(robot.root)
    expected_pos, expected_quat = (array[:, root] for array in clamped.link_poses(q))
    np.testing.assert_allclose(pos, expected_pos, atol=1e-12)
    # The angle of a rounding error is the root of its size.
    np.testing.assert_allclose(angle_between(quat, expected_quat), 0, atol=1e-7)


def test_recording_with_its_base_has_the_foot_where_it_was_clamped(g1: Robot) -> None:
    """Placed by the added channels, the free robot's clamped foot never moves."""
    clip = with_base_through_foot(recording_of(squats(g1), g1), g1, "left_foot")
    kinematics = Kinematics.of(g1)
    channels = clip.channels
    pos, _ = kinematics.link_poses(clip.q, channels["base_pos"], channels["base_quat_wxyz"])
    foot = pos[:, kinematics.links.index("left_ankle_roll_link")]
    np.testing.assert_allclose(foot, foot[:1].repeat(len(foot), 0), atol=1e-12)
    assert np.ptp(channels["base_pos"][:, 2]) > 0.02


def test_masked_frames_have_no_base_and_stale_velocities_go(g1: Robot) -> None:
    """The base is NaN where a joint is masked; a logged base velocity is left out."""
    clip = recording_of(squats(g1), g1)
    mask = clip.mask.copy()
    mask[5, 3] = False
    clip = replace(clip, mask=mask, channels={"base_lin_vel_w": np.ones((len(clip), 3))})
    found = with_base_through_foot(clip, g1, "left_foot").channels
    assert set(found) == {"base_pos", "base_quat_wxyz"}
    assert np.flatnonzero(np.isnan(found["base_pos"]).any(axis=1)).tolist() == [5]


def test_encoder_biases_of_the_legs_are_absorbed(g1: Robot) -> None:
    """A few mrad on every leg joint lift the free foot by mm; levelled, by less than 1e-6 m."""
    bias = np.zeros(len(g1.joints))
    legs = g1.joints.pick(g1.joint_groups["legs"])
    bias[legs] = np.random.default_rng(1).normal(0, 4e-3, len(legs))
    clip = recording_of(squats(g1) + bias, g1)
    assert np.abs(free_foot_height(clip, g1)).max() > 1e-3
    level = level_feet(clip, g1, "left_foot")
    assert np.abs(free_foot_height(level, g1)).max() < 1e-6
    move = level.q - clip.q
    assert np.abs(move).max() < np.abs(bias).max()
    others = np.setdiff1d(np.arange(len(bias)), legs)
    assert not move[:, others].any()
    np.testing.assert_allclose(level.target - level.q, clip.target - clip.q, atol=1e-12)
    assert level.provenance["level_feet"]["frames"] == len(clip)


def test_moves_are_the_least_that_level(g1: Robot) -> None:
    """Any other move within the level set is longer."""
    clip = recording_of(squats(g1, 12), g1)
    clip.q[:, g1.joints.index("right_hip_roll_joint")] += 5e-3
    move = (level_feet(clip, g1, "left_foot").q - clip.q)[10]
    rng, kept = np.random.default_rng(0), []
    for _ in range(3):
        other = replace(clip, q=clip.q.copy())
        other.q[:, g1.joints.pick(g1.joint_groups["legs"])] += rng.normal(0, 2e-3, 12)
        kept.append(np.linalg.norm(level_feet(other, g1, "left_foot").q[10] - clip.q[10]))
    assert np.linalg.norm(move) < min(kept)


def test_a_tight_bound_is_kept_and_other_joints_take_the_rest(g1: Robot) -> None:
    """With a bound below the largest free move, no move exceeds it and the feet are level."""
    clip = recording_of(squats(g1), g1)
    clip.q[:, g1.joints.index("right_hip_roll_joint")] += 0.01
    free = np.abs(level_feet(clip, g1, "left_foot").q - clip.q).max()
    tight = level_feet(clip, g1, "left_foot", bound=0.8 * free)
    assert np.abs(tight.q - clip.q).max() <= 0.8 * free + 1e-12
    assert np.abs(free_foot_height(tight, g1)).max() < 1e-6


def test_lifted_and_masked_frames_are_untouched(g1: Robot) -> None:
    """By default a foot 2 cm up is lifted; flags say it otherwise; masked frames stay."""
    clip = recording_of(squats(g1), g1)
    clip.q[:, g1.joints.index("right_hip_roll_joint")] += 5e-3
    clip.q[20:, g1.joints.index("right_knee_joint")] += 0.8
    clip.mask[3, 0] = False
    moved = (level_feet(clip, g1, "left_foot").q != clip.q).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [0, 1, 2, *range(4, 20)]
    flags = np.zeros(len(clip), bool)
    flags[7] = True
    moved = (level_feet(clip, g1, "left_foot", in_contact=flags).q != clip.q).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [7]
    flags[7] = False
    np.testing.assert_array_equal(level_feet(clip, g1, "left_foot", in_contact=flags).q, clip.q)


def test_the_base_a_recording_has_follows_the_levelled_legs(g1: Robot) -> None:
    """A base through the foot is computed anew from the moved joints."""
    clip = recording_of(squats(g1), g1)
    clip.q[:, g1.joints.index("left_knee_joint")] += 5e-3
    level = level_feet(with_base_through_foot(clip, g1, "left_foot"), g1, "left_foot")
    expected, _ = base_through_foot(level.q, g1, "left_foot")
    np.testing.assert_allclose(level.channels["base_pos"], expected)
    assert "base_pos" not in level_feet(clip, g1, "left_foot").channels


def test_a_foot_out_of_reach_is_refused_with_frame_and_move(g1: Robot) -> None:
    """A lifted foot that is said to be in contact needs more than the bound."""
    clip = recording_of(squats(g1), g1)
    clip.q[12, g1.joints.index("right_knee_joint")] += 1.0
    with pytest.raises(DataError, match=r"frame 12: the free foot is .* mm .* rad, and the bound"):
        level_feet(clip, g1, "left_foot", in_contact=np.ones(len(clip), bool))


def test_wrong_arguments_are_refused(g1: Robot) -> None:
    """Links that are no feet, flags of another length, a leg without encoders, a zero bound."""
    clip = recording_of(squats(g1), g1)
    with pytest.raises(NameMismatchError, match="free"):
        base_through_foot(clip.q, g1, "free")
    with pytest.raises(DataError, match="one of two feet"):
        level_feet(clip, g1, "torso_link")
    with pytest.raises(DataError, match="in_contact has shape"):
        level_feet(clip, g1, "left_foot", in_contact=np.ones(3, bool))
    with pytest.raises(DataError, match="bound is 0"):
        level_feet(clip, g1, "left_foot", bound=0)
    clip.mask[:, g1.joints.index("left_knee_joint")] = False
    with pytest.raises(DataError, match=r"no usable sample of left_knee_joint.*held"):
        with_base_through_foot(clip, g1, "left_foot")


def test_a_held_leg_joint_is_not_moved(g1: Robot) -> None:
    """A joint the log lacks stays where it was declared; the logged ones level the feet."""
    clip = recording_of(squats(g1), g1)
    names = [j for j in clip.joints if j != "right_ankle_roll_joint"]
    columns = [clip.column(j) for j in names]
    part = replace(
        clip,
        joints=tuple(names),
        q=clip.q[:, columns] + 1e-3,
        target=None,
        mask=clip.mask[:, columns],
        conditions=Conditions(held={"right_ankle_roll_joint": 0.0}),
    )
    level = level_feet(part, g1, "left_foot")
    whole = replace(clip, q=np.insert(level.q, g1.joints.index("right_ankle_roll_joint"), 0.0, 1))
    assert np.abs(free_foot_height(whole, g1)).max() < 1e-6


def test_a_users_model_with_a_root_of_any_name(g1: Robot, tmp_path: Path) -> None:
    """An MJCF, whose clamped foot is welded to the world, gives the base that our table gives."""
    spec = assemble(g1)
    (joint,) = [j for j in spec.joints if j.name == "root"]
    joint.name, spec.body("pelvis").name = "floating_base_joint", "trunk"
    spec.compile()
    (tmp_path / "own.xml").write_text(spec.to_xml())
    own = Robot.from_mjcf(tmp_path / "own.xml", link_groups={"feet": g1.link_groups["feet"]})
    assert own.root == "trunk" and own.joints.names == g1.joints.names
    own = own.with_joints(default=g1.joints.default)
    clip = recording_of(squats(g1), g1)
    ours, theirs = (with_base_through_foot(clip, r, "left_foot").channels for r in (g1, own))
    np.testing.assert_allclose(theirs["base_pos"], ours["base_pos"], atol=1e-5)
    np.testing.assert_allclose(theirs["base_quat_wxyz"], ours["base_quat_wxyz"], atol=1e-5)
    clip.q[:, g1.joints.index("right_hip_roll_joint")] += 5e-3
    level = [level_feet(clip, r, "left_foot").q for r in (g1, own)]
    np.testing.assert_allclose(level[1], level[0], atol=1e-5)
