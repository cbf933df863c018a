"""Environments of several worlds as one world: each row is what its own world would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld, World
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import State
from pendulum import pendulum

EFFECTS = Effects(delay=0.03, jitter=0.004, backlash=0.01, heating=2.0, heat_loss=0.002)
COUNT = 5
"""Environments: more of the first world than of the others."""


@pytest.fixture(scope="module")
def dog() -> Robot:
    """A Go2 on the floor."""
    return Robot.load("go2", mount="free")


def starts(world: World, count: int = COUNT) -> State:
    """A little off the stance, each otherwise."""
    home = world.home(count)
    return replace(home, q=home.q + np.random.default_rng(0).uniform(-0.1, 0.1, home.q.shape))


def moves(world: World, steps: int = 6, count: int = COUNT) -> np.ndarray:
    """(n, T, J) targets around the stance."""
    drawn = np.random.default_rng(1).uniform(-0.2, 0.2, (count, steps, len(world.robot.joints)))
    return world.robot.joints.default + drawn


def loaded(mass: float) -> Conditions:
    """With something on its back."""
    return Conditions(payloads={"base": Payload(mass)})


def assert_same(one: State, other: State) -> None:
    """To the bit, field by field."""
    assert one.fields.keys() == other.fields.keys()
    for name, array in one.fields.items():
        np.testing.assert_array_equal(array, other.fields[name], err_msg=name)


def played(world: World, some: Callable[[int], np.ndarray], history: np.ndarray) -> list[State]:
    """Reset all, step, reset some, push some and all, move; what is seen at every step."""
    begun, targets = starts(world), moves(world)
    world.reset(begun, history=history)
    found = [world.step(targets[:, 0])]
    world.reset(begun[[4, 1]], some(0), conditions=[loaded(2.0)] * 2)
    found.append(world.step(targets[:, 1], np.full_like(targets[:, 1], 0.5)))
    world.push(np.array([[0.3, 0.0, 0.0], [0.0, -0.5, 0.1]]), some(1))
    found.append(world.step(targets[:, 2]))
    world.push(np.tile([0.0, 0.2, 0.0], (COUNT, 1)))
    found.append(world.step(targets[:, 3]))
    world.place(begun)
    return [*found, world.step(targets[:, 4])]


SOME = {
    "numbers": lambda k: np.array([[4, 1], [1, 2]][k]),
    "lists": lambda k: [[4, 1], [1, 2]][k],
    "mask": lambda k: np.array([[0, 1, 0, 0, 1], [0, 1, 1, 0, 0]][k], bool),
}


@pytest.mark.parametrize("form", SOME)
@pytest.mark.parametrize("parts", [2, 3])
def test_equal_worlds_are_as_one(dog: Robot, form: str, parts: int) -> None:
    """Row by row, with delays and motors that remember, through resets, pushes and moves."""
    one = MujocoWorld(dog, effects=EFFECTS)
    many = MixedWorld([one.twin() for _ in range(parts)])
    assert many.history_steps == one.history_steps > 0
    history = moves(one, one.history_steps)
    for mine, its in zip(*(played(w, SOME[form], history) for w in (many, one)), strict=True):
        assert_same(mine, its)
    np.testing.assert_array_equal(many.health.diverged, one.health.diverged)
    np.testing.assert_array_equal(many.health.at, one.health.at)


def different(dog: Robot) -> MixedWorld:
    """A stiff one without a delay, and a soft one with one."""
    soft = dog.with_joints(kp=0.6 * dog.joints.kp)
    return MixedWorld([MujocoWorld(dog), MujocoWorld(soft, effects=EFFECTS)])


def test_different_worlds_give_each_row_its_own(dog: Robot) -> None:
    """Rows of a world are what it gives alone; what not all of them have is left out."""
    both, begun = different(dog), starts(MujocoWorld(dog))
    targets, history = moves(both), moves(both, both.history_steps)
    assert both.history_steps == both.worlds[1].history_steps > both.worlds[0].history_steps
    both.reset(begun, history=history)
    seen = [both.step(targets[:, t]) for t in range(6)][-1]
    assert seen.temperature is None
    for k, world in enumerate(different(dog).worlds):
        world.reset(begun[k::2], history=history[k::2])
        alone = [world.step(targets[k::2, t]) for t in range(6)][-1]
        assert_same(seen[k::2], replace(alone, temperature=None))
    one = MixedWorld([both.worlds[0].twin(), both.worlds[0].twin()])
    one.reset(begun, history=history)
    plain = [one.step(targets[:, t]) for t in range(6)][-1]
    assert_same(seen[::2], plain[::2])
    assert (np.abs(seen.q - plain.q)[1::2].max(axis=1) > 1e-3).all()


def test_a_rollout_is_the_steps_one_after_another(dog: Robot) -> None:
    """In different worlds, with a history and loads; what steps is not touched by it."""
    both = different(dog)
    begun, targets = starts(both), moves(both)
    history, told = moves(both, both.history_steps), [loaded(1.0)] * COUNT
    both.reset(begun, history=history, conditions=told)
    whole = both.rollout(begun, targets, history=history, conditions=told)
    assert whole.q.shape == (COUNT, 7, 12) and whole.valid.all()
    # Jitter of a rollout is keyed by all its targets: only the world without it can be compared.
    for t in range(6):
        seen = both.step(targets[:, t])
        np.testing.assert_allclose(seen.q[::2], whole.q[::2, t + 1], atol=1e-9)
    sure = MixedWorld([w.variant(effects=replace(EFFECTS, jitter=0.0)) for w in both.worlds])
    again = sure.rollout(begun, targets, history=history)
    sure.reset(begun, history=history)
    for t in range(6):
        np.testing.assert_allclose(sure.step(targets[:, t]).q, again.q[:, t + 1], atol=1e-9)


def test_one_that_diverges_is_marked_in_its_own_row(dog: Robot) -> None:
    """And no other; a reset heals it."""
    both = MixedWorld([MujocoWorld(dog), MujocoWorld(dog)])
    begun = starts(both)
    both.reset(begun)
    torque = np.zeros((COUNT, 12))
    torque[3] = 1e12
    both.step(begun.q, torque)
    assert both.health.diverged.tolist() == [False, False, False, True, False]
    assert np.isfinite(both.health.at).tolist() == [False, False, False, True, False]
    both.reset(begun[[3]], np.array([3]))
    assert not both.health.diverged.any()


def test_fewer_environments_than_worlds(dog: Robot) -> None:
    """The last worlds have none, until there are more."""
    many = MixedWorld([MujocoWorld(dog) for _ in range(3)])
    for count in (2, 5, 1):
        begun = starts(many, count)
        many.reset(begun)
        assert len(many.busy) == min(count, 3)
        assert many.step(begun.q).q.shape == (count, 12)
        assert many.health.diverged.shape == (count,)
        assert many.rollout(begun, moves(many, 2, count)).q.shape == (count, 3, 12)


def test_it_is_a_world_with_its_own_identity(dog: Robot) -> None:
    """Of which twins and other rates are made."""
    both = different(dog)
    assert isinstance(both, World) and both.robot is both.worlds[0].robot
    assert both.identity.key not in {w.identity.key for w in both.worlds}
    assert both.twin().identity == both.identity and both.twin().worlds[0] is not both.worlds[0]
    assert both.at_rate(100.0).rate == 100.0 and both.rate == 50.0
    assert both.at_rate(100.0).identity != both.identity


def test_worlds_that_do_not_fit_are_refused(dog: Robot, tmp_path) -> None:
    """None at all; other joints; another rate."""
    world = MujocoWorld(dog)
    with pytest.raises(DataError, match="no world to mix"):
        MixedWorld([])
    with pytest.raises(DataError, match="2 sets of joints"):
        MixedWorld([world, MujocoWorld(pendulum(tmp_path))])
    with pytest.raises(DataError, match=r"rates \[50.0, 100.0\] cannot be mixed"):
        MixedWorld([world, world.at_rate(100.0)])
