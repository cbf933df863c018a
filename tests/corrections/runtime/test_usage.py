"""Usage: what a correction did, and how often it was out of its depth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld
from gapless.worlds import MujocoWorld


def run(corrected: CorrectedWorld, home: MujocoWorld, offset: float, steps: int = 4) -> None:
    """Three environments that are told to go somewhere."""
    start = home.home(3)
    corrected.rollout(start, np.repeat(start.q[:, None] + offset, steps, axis=1))


def test_steps_outside_the_envelope_are_counted(made, world: MujocoWorld) -> None:
    """Far targets are outside, and there the correction does nothing."""
    corrected = CorrectedWorld(world, None, [made()])
    run(corrected, world, 3.0)
    usage = corrected.usage[0].to_dict()
    assert usage["steps"] == 12
    assert usage["outside"] == 1
    assert max(usage["largest_output"].values()) == 0


def test_inside_it_works(made, world: MujocoWorld) -> None:
    """Sizes and the ensemble's spread are means over all steps, by joint."""
    correction = made(members=3, bound=0.005)
    wide = replace(correction, envelope=replace(correction.envelope, radius=20.0))
    corrected = CorrectedWorld(world, None, [wide])
    run(corrected, world, 0.0)
    usage = corrected.usage[0].to_dict()
    assert usage["outside"] == 0
    assert set(usage["mean_output"]) == set(world.robot.joints.names)
    assert min(usage["mean_output"].values()) > 0
    assert min(usage["mean_spread"].values()) > 0
    for joint, mean in usage["mean_output"].items():
        assert mean <= usage["largest_output"][joint] <= 0.3 + 1e-9


def test_other_rates_are_counted_in_the_same_place(made, world: MujocoWorld) -> None:
    """Whoever replays at another rate is counted where the user looks."""
    corrected = CorrectedWorld(world, None, [made()])
    run(corrected.at_rate(100), world, 0.02)
    assert corrected.usage[0].steps == 3 * 2


def test_no_envelope_trusts_all(made, world: MujocoWorld) -> None:
    """Nothing is outside of nothing."""
    corrected = CorrectedWorld(world, None, [replace(made(), envelope=None)])
    run(corrected, world, 3.0)
    assert corrected.usage[0].to_dict()["outside"] == pytest.approx(0)
    assert max(corrected.usage[0].largest) > 0


def test_joints_are_counted_each(made, world: MujocoWorld) -> None:
    """One that is told to go far is outside, and says so; the other acts."""
    corrected = CorrectedWorld(world, None, [made("actuator")])
    start = world.home(3)
    corrected.rollout(start, np.repeat(start.q[:, None] + [0.0, 3.0], 4, axis=1))
    usage = corrected.usage[0].to_dict()
    near, far = (usage["outside_by_output"][j] for j in world.robot.joints.names)
    assert near == 0 and far == 1
    assert usage["outside"] == pytest.approx(0.5)
    assert usage["faded"]["elbow_flex"] == 1
    assert usage["largest_output"]["shoulder_lift"] > 0 == usage["largest_output"]["elbow_flex"]
