"""Every kind of term: its width, and its numbers against second implementations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from policy_samples import POSE, one_term, sighting, states
from scipy.spatial.transform import Rotation

from gapless.errors import DataError
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.reference import Reference
from gapless.policies.terms import KINDS, read_term, term_width
from gapless.worlds.world import State

N = 5
OPTIONS = {"constant": {"value": [1.0, 2.0]}}


def frames(seed: int = 7) -> Reference:
    """A moment of a motion."""
    other = states(N, seed)
    return Reference(other.q, other.dq, other.base_pos, other.base_quat_wxyz)  # type: ignore[arg-type]


def read(contract: PolicyContract, readings: State, **changes: object) -> np.ndarray:
    """(n, width) of the contract's only term; the root is the anchor."""
    anchor = readings.base_pos, readings.base_quat_wxyz
    given = {"reference": frames(), "anchor": anchor} | changes
    return read_term(sighting(contract, readings, **given), contract.terms["it"], contract)


def turns(readings: State) -> Rotation:
    """Orientations of the roots."""
    return Rotation.from_quat(readings.base_quat_wxyz, scalar_first=True)


def at(steps: list[int], contract: PolicyContract, **changes: object) -> np.ndarray:
    """(len(steps), width) of a term of time."""
    return read(contract, states(len(steps)), step=np.array(steps), **changes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_the_width_it_says(kind: str) -> None:
    """And is finite, one row an environment."""
    options = {"period": 0.8} if kind.startswith("gait") else OPTIONS.get(kind, {})
    contract = one_term(kind, **options)
    value = read(contract, states(N))
    assert value.shape == (N, term_width(contract.terms["it"], contract)) == (N, contract.width)
    assert np.isfinite(value).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_explains_itself(kind: str) -> None:
    """Users read it in tables; what it needs are readings of a robot."""
    assert KINDS[kind].what
    assert all(hasattr(State, need) for need in KINDS[kind].needs)


def test_joints_are_read_in_the_order_of_the_policy() -> None:
    """Positions, those from the default pose, velocities."""
    now = states(N)
    np.testing.assert_array_equal(read(one_term("joint_pos"), now), now.q)
    np.testing.assert_allclose(read(one_term("joint_pos_rel"), now), now.q - POSE)
    np.testing.assert_array_equal(read(one_term("joint_vel"), now), now.dq)


def test_a_term_may_see_other_joints_than_are_moved() -> None:
    """Some of them, in an order of its own."""
    contract, now = one_term("joint_pos_rel", joints=("ankle", "hip")), states(N)
    expected = np.stack([now.q[:, 2] - POSE[2], now.q[:, 0] - POSE[0]], axis=1)
    np.testing.assert_allclose(read(contract, now), expected)


def test_gravity_is_seen_from_the_root() -> None:
    """Down, turned back by the root's orientation."""
    now = states(N)
    expected = turns(now).inv().apply([0.0, 0.0, -1.0])
    np.testing.assert_allclose(read(one_term("projected_gravity"), now), expected, atol=1e-12)


def test_velocity_is_seen_from_the_root() -> None:
    """The world's velocity, turned back; the gyroscope is in the root's frame already."""
    now = states(N)
    expected = turns(now).inv().apply(now.base_lin_vel_w)
    np.testing.assert_allclose(read(one_term("base_lin_vel"), now), expected, atol=1e-12)
    np.testing.assert_array_equal(read(one_term("base_ang_vel"), now), now.base_ang_vel_b)


def test_roll_pitch_and_yaw_are_euler_angles() -> None:
    """About fixed x, then y, then z; roll_pitch are the first two."""
    now = states(50)
    expected = turns(now).as_euler("xyz")
    np.testing.assert_allclose(read(one_term("roll_pitch_yaw"), now), expected, atol=1e-9)
    np.testing.assert_allclose(read(one_term("roll_pitch"), now), expected[:, :2], atol=1e-9)


def test_height_and_orientation_are_read_as_they_are() -> None:
    """z of the root, and its quaternion with the scalar first."""
    now = states(N)
    np.testing.assert_array_equal(read(one_term("base_height"), now)[:, 0], now.base_pos[:, 2])
    np.testing.assert_array_equal(read(one_term("base_quat_wxyz"), now), now.base_quat_wxyz)


def test_a_gait_clock_turns_once_a_period() -> None:
    """0.8 s are 40 control steps at 50 Hz: a quarter of it is a sine of one."""
    steps = [0, 10, 20, 30, 40, 50]
    sine, cosine = [0, 1, 0, -1, 0, 1], [1, 0, -1, 0, 1, 0]
    value = at(steps, one_term("gait_sin_cos", period=0.8))
    np.testing.assert_allclose(value, np.stack([sine, cosine], axis=1), atol=1e-12)
    np.testing.assert_allclose(at(steps, one_term("gait_sin", period=0.8))[:, 0], sine, atol=1e-12)
    phase = at(steps, one_term("gait_phase", period=0.8))[:, 0]
    np.testing.assert_allclose(phase, [0, 0.25, 0.5, 0.75, 0, 0.25], atol=1e-12)


def test_two_feet_have_two_clocks() -> None:
    """Half a period apart: sines of both, then cosines of both."""
    value = at([0, 10, 13], one_term("gait_sin_cos", period=0.8, offsets=[0.0, 0.5]))
    angle = 2 * np.pi * np.array([0, 10, 13]) / 40
    parts = [np.sin(angle), -np.sin(angle), np.cos(angle), -np.cos(angle)]
    np.testing.assert_allclose(value, np.stack(parts, axis=1), atol=1e-12)


def test_a_clock_may_stand_still_while_little_is_asked() -> None:
    """Only in the environments whose command is small."""
    contract = one_term("gait_cos", period=0.8, still_below=0.1, still_value=0.25)
    asked = np.array([[0.05, 0.0, 0.05], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    value = at([40, 40, 40], contract, commands={"velocity": asked})
    np.testing.assert_allclose(value[:, 0], [0.25, 1.0, 0.25])


def test_a_still_clock_may_show_a_number_a_column() -> None:
    """Such as a cosine of one."""
    contract = one_term("gait_sin_cos", period=0.8, still_below=0.1, still_value=[0.0, 1.0])
    np.testing.assert_allclose(at([3, 7], contract), [[0, 1], [0, 1]])
    with pytest.raises(DataError, match="still_value must be one number, or 2"):
        one_term("gait_sin_cos", period=0.8, still_below=0.1, still_value=[0.0, 1.0, 2.0])
    with pytest.raises(DataError, match="still_below is 'abc'; expected a number"):
        one_term("gait_sin", period=0.8, still_below="abc")


def test_the_phase_of_a_motion_runs_from_zero_to_one() -> None:
    """Two seconds at 50 Hz are 100 steps; then it stays at one."""
    value = at([0, 50, 100, 150], one_term("motion_phase"))
    np.testing.assert_allclose(value[:, 0], [0.0, 0.5, 1.0, 1.0])


def test_a_reference_is_seen_at_the_same_moment() -> None:
    """Its positions, its velocities, or both one after the other."""
    now, motion = states(N), frames()
    both = np.concatenate([motion.joint_pos, motion.joint_vel], axis=1)
    np.testing.assert_array_equal(read(one_term("reference_joints"), now), both)
    np.testing.assert_array_equal(read(one_term("reference_joint_pos"), now), motion.joint_pos)
    np.testing.assert_array_equal(read(one_term("reference_joint_vel"), now), motion.joint_vel)


def test_the_turn_of_the_anchor_is_two_columns_of_a_matrix() -> None:
    """Of the relative rotation, row by row: m00 m01 m10 m11 m20 m21, as BeyondMimic has it."""
    now, motion = states(N), frames()
    wanted = Rotation.from_quat(motion.anchor_quat_w, scalar_first=True)
    matrix = (turns(now).inv() * wanted).as_matrix()
    value = read(one_term("reference_anchor_turn"), now)
    np.testing.assert_allclose(value, matrix[:, :, :2].reshape(N, 6), atol=1e-12)


def test_the_place_of_the_anchor_is_seen_from_the_robot() -> None:
    """The way to it, turned back by the orientation of the robot's own anchor."""
    now, motion = states(N), frames()
    expected = turns(now).inv().apply(motion.anchor_pos_w - now.base_pos)
    np.testing.assert_allclose(read(one_term("reference_anchor_pos"), now), expected, atol=1e-12)


def test_a_term_is_clipped_before_it_is_scaled() -> None:
    """As Isaac Lab and mjlab do."""
    contract = one_term("joint_pos", scale=(0.5, 2.0, 1.0), clip=(-1.0, 2.0))
    now = replace(states(1), q=np.array([[-3.0, 3.0, 0.5]]))
    np.testing.assert_allclose(read(contract, now), [[-0.5, 4.0, 0.5]])


def test_what_was_done_and_what_is_asked_is_seen() -> None:
    """Last outputs, last targets, a command by its name, numbers that do not change."""
    rng, now = np.random.default_rng(0), states(N)
    did, went, asked = (rng.normal(size=(N, 3)) for _ in range(3))
    given = {"action": did, "target": went, "commands": {"velocity": asked}}
    for kind, expected in {"last_action": did, "last_target": went, "command": asked}.items():
        np.testing.assert_array_equal(read(one_term(kind), now, **given), expected)
    fixed = read(one_term("constant", value=3.0), now)
    np.testing.assert_array_equal(fixed, np.full((N, 1), 3.0))


def test_some_columns_of_a_term_are_seen_in_their_order() -> None:
    """The scale is of what is seen."""
    contract = one_term("base_quat_wxyz", scale=(1.0, 1.0, 1.0, 2.0))
    term = replace(contract.terms["it"], columns=(1, 2, 3, 0))
    readings = states(3)
    seen = read(replace(contract, terms={"it": term}), readings)
    np.testing.assert_allclose(seen, np.roll(readings.base_quat_wxyz, -1, axis=1) * [1, 1, 1, 2])
