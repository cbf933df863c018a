"""Balance: a robot on the floor stays on its feet, whatever its truth."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import SimulationError
from gapless.motions.balance import Balance
from gapless.motions.standing import stand
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A G1 on the floor, with its own soft gains."""
    return Robot.load("g1", mount="free")


@pytest.fixture(scope="module")
def balance(g1: Robot) -> Balance:
    """Its feedback."""
    return Balance(g1)


def test_without_feedback_the_robot_falls(g1: Robot) -> None:
    """What the feedback is for."""
    world = MujocoWorld(g1)
    left = world.rollout(world.home(), np.tile(g1.joints.default, (1, 150, 1)))
    assert left.base_pos is not None
    assert left.base_pos[0, -1, 2] < 0.3


def test_feedback_keeps_nominal_and_hidden_robots_up(g1: Robot, balance: Balance) -> None:
    """Squatting and swaying for four seconds, and following what it is told."""
    targets = np.stack([stand(g1, 4.0, seed=s).targets(g1, g1.rate) for s in (0, 1)])
    for world in (MujocoWorld(g1), HiddenWorld(g1, "typical")):
        seen, commands = balance.play(world, targets)
        assert seen.base_pos is not None
        assert seen.base_pos[..., 2].min() > 0.7
        assert np.abs(seen.q[:, 1:] - targets).mean() < 0.06
        assert seen.valid.all()
        assert commands.shape == targets.shape


def test_the_commands_are_what_the_world_was_given(g1: Robot, balance: Balance) -> None:
    """Played again without feedback in the same world, they give the same motion."""
    targets = stand(g1, 1.0).targets(g1, g1.rate)[None]
    world = MujocoWorld(g1)
    seen, commands = balance.play(world, targets)
    again = world.rollout(balance.start, commands)
    assert again.q == pytest.approx(seen.q, abs=1e-5)
    assert again.torque is not None
    assert seen.torque is not None
    assert again.torque[:, 1:] == pytest.approx(seen.torque[:, 1:], abs=1e-2)


def test_a_motion_nobody_could_stand_is_refused(g1: Robot, balance: Balance) -> None:
    """Bending forwards at the hips by a radian tips any robot."""
    targets = np.tile(g1.joints.default, (1, 200, 1))
    bent = g1.joints.pick(["left_hip_pitch_joint", "right_hip_pitch_joint"])
    targets[:, 50:, bent] -= 1.2
    with pytest.raises(SimulationError, match="feet"):
        balance.play(MujocoWorld(g1), targets)


def test_only_a_free_robot_balances(arms: Robot) -> None:
    """A clamped robot cannot fall."""
    with pytest.raises(SimulationError, match="free"):
        Balance(arms)
