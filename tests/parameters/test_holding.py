"""Loads are bounded by what motors hold."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.parameters import parameters_of
from gapless.parameters.holding import GENEROUS, GRAVITY, heaviest_load, holding_mass
from gapless.robots import Payload, Robot
from hidden_pair import nominal_pair


def test_a_stronger_arm_may_carry_more() -> None:
    """Twice the torque holds twice the mass; a light link makes no difference."""
    pair = nominal_pair()
    strong = pair.with_joints(effort=2 * pair.joints.effort)
    assert holding_mass(strong, "gripper") == pytest.approx(2 * holding_mass(pair, "gripper"))
    (bound,) = (p for p in parameters_of(pair, ["payload/gripper"]) if p.kind == "payload")
    assert bound.upper == pytest.approx(GENEROUS * holding_mass(pair, "gripper"))
    assert bound.upper > 1.05  # an arm of this class was seen to carry as much


def test_no_pose_asks_more_than_the_stretched_limb() -> None:
    """A kilogram in the hand, in many poses, against the lever that the bound implies."""
    pair, one = nominal_pair(), Payload(1.0)
    bare, full = (r.model() for r in (pair, pair.with_payloads({"gripper": one})))
    lever = pair.joints.effort.min() / (GRAVITY * holding_mass(pair, "gripper"))
    worst = 0.0
    for q in np.random.default_rng(0).uniform(-np.pi, np.pi, (200, 2)):
        held = [_gravity(model, q) for model in (bare, full)]
        worst = max(worst, float(np.abs(held[1] - held[0]).max()) / GRAVITY)
    assert 0.8 * lever < worst <= 1.01 * lever


def _gravity(model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return data.qfrc_bias.copy()


def test_a_trunk_on_legs_carries_the_robots_own_mass() -> None:
    """No motor is between the ground and a free base."""
    dog = Robot.load("go2")
    assert np.isinf(holding_mass(dog, "base"))
    own = sum(dog.inertia(link).mass for link in dog.links)
    assert heaviest_load(dog, "base") == pytest.approx(own)
