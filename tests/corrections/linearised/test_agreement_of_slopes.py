"""Slopes are believed as long as they foretell what the simulator does."""

from __future__ import annotations

from test_slopes import COLUMNS, ENVIRONMENTS, STEPS, path_of

from gapless.corrections.linearised.agreement import believed
from gapless.corrections.linearised.slopes import Slopes, slopes
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from hidden_pair import STEP


def test_true_slopes_are_believed(pair: Robot) -> None:
    """Through a delay, for targets and for torques, and for states without a look."""
    world = MujocoWorld(pair, effects=Effects(delay=0.03), physics_step=STEP)
    for head in ("action", "torque"):
        path = path_of(world)
        found = slopes(world, path, head, COLUMNS)
        assert believed(world, path, found, head, COLUMNS).all()
    assert believed(world, path, found, "state", COLUMNS).shape == (ENVIRONMENTS, STEPS, 2)


def test_slopes_that_explode_are_believed_no_further(pair: Robot) -> None:
    """From the step on at which one joint of one environment goes wrong, and only there."""
    world = MujocoWorld(pair, physics_step=STEP)
    path = path_of(world)
    found = slopes(world, path, "action", COLUMNS)
    wrong = Slopes(found.state.copy(), found.output)
    wrong.state[1, 5, 0] *= 50
    held = believed(world, path, wrong, "action", COLUMNS)
    assert held[[0, 2]].all()
    assert held[1, :, 0].tolist() == [True] * 5 + [False] * (STEPS - 5)
    assert held[1, :6, 1].all()
