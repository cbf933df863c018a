"""Loads that motors hold, and those that they do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import ModelError
from gapless.parameters.held_loads import holding_torques, refuse_heavy_load
from gapless.robots import Inertia, Payload, Robot
from pendulum import pendulum


@pytest.fixture
def out(tmp_path: Path) -> Robot:
    """A pendulum that is held out to the side: two metres, 60 N·m."""
    return pendulum(tmp_path).with_joints(default=np.array([np.pi / 2]))


def test_a_limb_that_is_held_out_needs_mass_times_arm(out: Robot) -> None:
    """Rod and bob."""
    assert abs(holding_torques(out, ())[0]) == pytest.approx(9.81 * (0.5 * 2 + 0.01 * 1), rel=1e-3)


def test_a_load_beyond_the_motor_is_named(out: Robot) -> None:
    """The joint, what it needs against its limit, and what it holds."""
    refuse_heavy_load(out.with_payloads({"bob": Payload(2.5)}))
    with pytest.raises(ModelError) as told:
        refuse_heavy_load(out.with_payloads({"bob": Payload(4.0)}))
    said = str(told.value)
    assert "4 kg on bob" in said and "swing needs 88.4 N·m" in said and "limit is 60 N·m" in said
    assert "Expected 2.55 kg at most" in said and "--payload LINK=KG" in said


def test_a_heavier_link_is_a_load_as_well(out: Robot) -> None:
    """As a calibration has it, which knows no payloads."""
    own = out.inertia("bob")
    heavy = out.with_inertias({"bob": Inertia(own.mass + 4.0, own.com, own.moments)})
    with pytest.raises(ModelError, match=r"4 kg on its links.*swing needs 88.4 N·m"):
        refuse_heavy_load(heavy, out)
    refuse_heavy_load(out, heavy)  # nothing is carried


def test_a_humanoid_stands_on_each_foot(walking: Robot) -> None:
    """HALO's largest load is held; a person on the shoulders is not, nor a crate in one hand."""
    both = holding_torques(walking, walking.link_groups["feet"])
    mirrored = both[walking.joints.index("left_knee_joint")]
    assert mirrored == pytest.approx(both[walking.joints.index("right_knee_joint")], rel=0.05)
    hands = dict.fromkeys(walking.link_groups["hands"], Payload(3.5))
    refuse_heavy_load(walking.with_payloads({"torso_link": Payload(12.0), **hands}))
    with pytest.raises(ModelError, match=r"hip_roll_joint needs .* on left_ankle_roll_link alone"):
        refuse_heavy_load(walking.with_payloads({"torso_link": Payload(70.0)}))
    with pytest.raises(ModelError, match="left_shoulder_pitch_joint needs"):
        refuse_heavy_load(walking.with_payloads({"left_wrist_yaw_link": Payload(20.0)}))


def test_what_is_too_weak_anyway_is_not_the_loads_fault(out: Robot) -> None:
    """A motor that does not even hold its own rod is let pass; one that holds it alone is not."""
    loaded = out.with_payloads({"bob": Payload(4.0)})
    bare = abs(float(holding_torques(out, ())[0]))
    refuse_heavy_load(loaded.with_joints(effort=0.9 * bare))
    with pytest.raises(ModelError, match="needs"):
        refuse_heavy_load(loaded.with_joints(effort=1.1 * bare))


@pytest.fixture(scope="module")
def walking() -> Robot:
    """A G1 on its feet."""
    return Robot.load("g1_23dof", mount="free")
