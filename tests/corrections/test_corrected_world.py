"""CorrectedWorld is a World: what holds for the world underneath holds for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld, Correction
from gapless.errors import ModelError, SimulationError
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.world import State, World
from hidden_pair import STEP

Make = Callable[..., Correction]
STEPS = 12


def motion(environments: int, steps: int = STEPS, seed: int = 0) -> np.ndarray:
    """(n, T, 2) gentle targets about home."""
    rng = np.random.default_rng(seed)
    return np.cumsum(0.004 * rng.normal(size=(environments, steps, 2)), axis=1)


def stepped(world: World, start: State, targets: np.ndarray, **reset: object) -> np.ndarray:
    """(n, T, J) positions by stepping."""
    world.reset(start, **reset)  # type: ignore[arg-type]
    return np.stack([world.step(targets[:, t]).q for t in range(targets.shape[1])], axis=1)


def silent(correction: Correction) -> Correction:
    """The correction with nothing to say."""
    return correction.with_weights(
        {
            k: v if k.endswith((".mean", ".deviation")) else 0 * v
            for k, v in correction.weights.items()
        }
    )


@pytest.fixture
def corrected(made: Make, world: MujocoWorld) -> CorrectedWorld:
    """One delta action."""
    return CorrectedWorld(world, None, [made()])


@pytest.mark.parametrize("head", ["action", "torque", "state"])
def test_a_correction_of_nothing_is_the_bare_world(
    made: Make, world: MujocoWorld, head: str
) -> None:
    """To the last bit."""
    corrected = CorrectedWorld(world.twin(), None, [silent(made(head=head))])
    bare = stepped(world, world.home(3), motion(3))
    np.testing.assert_array_equal(stepped(corrected, world.home(3), motion(3)), bare)


@pytest.mark.parametrize("head", ["action", "torque", "state"])
def test_a_rollout_is_what_stepping_gives(made: Make, world: MujocoWorld, head: str) -> None:
    """And leaves the environments that are stepped alone."""
    corrected = CorrectedWorld(world, None, [made("gru", head=head)])
    corrected.reset(world.home(2))
    before = corrected.step(motion(2)[:, 0]).q
    played = corrected.rollout(world.home(3), motion(3))
    after = corrected.step(motion(2)[:, 0]).q
    assert played.q.shape == (3, STEPS + 1, 2)
    assert after.shape == before.shape
    np.testing.assert_array_equal(played.q[:, 1:], stepped(corrected, world.home(3), motion(3)))
    assert np.abs(played.q - world.rollout(world.home(3), motion(3)).q).max() > 1e-5


@pytest.mark.parametrize("which", [np.array([1]), np.array([False, True, False])])
def test_copies_that_are_reset_are_as_new(
    corrected: CorrectedWorld, world: MujocoWorld, which: np.ndarray
) -> None:
    """They forget their frames; their neighbours go on."""
    targets = motion(3, 2 * STEPS)
    through = stepped(corrected, world.home(3), targets)
    stepped(corrected, world.home(3), targets[:, :STEPS])
    corrected.reset(world.home(1), which)
    rest = np.stack([corrected.step(targets[:, t]).q for t in range(STEPS, 2 * STEPS)], axis=1)
    fresh = stepped(corrected, world.home(1), targets[1:2, STEPS:])
    np.testing.assert_array_equal(rest[[0, 2]], through[[0, 2], STEPS:])
    np.testing.assert_allclose(rest[1], fresh[0], atol=1e-12)


def test_copies_reset_out_of_step_keep_their_own_clock(made: Make, pair: Robot) -> None:
    """At twice the correction's rate, one reset in between is asked at its own first step."""
    fast = MujocoWorld(pair, 100, physics_step=STEP)
    corrected = CorrectedWorld(fast, None, [made()])
    targets = motion(2, 7)
    stepped(corrected, fast.home(2), targets[:, :3])
    corrected.reset(fast.home(1), np.array([0]))
    rest = np.stack([corrected.step(targets[:, t]).q for t in range(3, 7)], axis=1)
    fresh = stepped(corrected, fast.home(1), targets[:1, 3:])
    np.testing.assert_allclose(rest[0], fresh[0], atol=1e-12)


def test_a_slower_correction_is_held(made: Make, pair: Robot) -> None:
    """At twice its rate its output changes every other step only."""
    fast = MujocoWorld(pair, 100, physics_step=STEP)
    corrected = CorrectedWorld(fast, None, [made()])
    corrected.reset(fast.home())
    given = []
    for t in range(8):
        corrected.step(motion(1)[:, t])
        given.append(corrected.last_output(0)[0])
    given = np.array(given)
    np.testing.assert_array_equal(given[::2], given[1::2])
    assert (np.abs(np.diff(given[::2], axis=0)) > 0).all()
    assert corrected.usage[0].steps == 4


def test_an_output_is_held_as_long_as_the_contract_says(made: Make, world: MujocoWorld) -> None:
    """GAPONet's action duration."""
    corrected = CorrectedWorld(world, None, [made(hold=3)])
    corrected.reset(world.home())
    given = []
    for t in range(9):
        corrected.step(motion(1)[:, t])
        given.append(corrected.last_output(0)[0])
    blocks = np.array(given).reshape(3, 3, 2)
    np.testing.assert_array_equal(blocks, blocks[:, :1].repeat(3, axis=1))
    assert np.ptp(blocks[:, 0], axis=0).min() > 0


def test_targets_before_the_start_are_still_on_their_way(made: Make, pair: Robot) -> None:
    """With a delay, a reset with history is what a rollout with the same history is."""
    late = MujocoWorld(pair, effects=Effects(delay=0.05), physics_step=STEP)
    corrected = CorrectedWorld(late, None, [made(on=late)])
    targets = motion(2, 20) + 0.02
    before, after = targets[:, :5], targets[:, 5:]
    played = corrected.rollout(late.home(2), after, history=before)
    found = stepped(corrected, late.home(2), after, history=before)
    np.testing.assert_array_equal(found, played.q[:, 1:])
    assert np.abs(found - stepped(corrected, late.home(2), after)).max() > 1e-4


def test_diverged_copies_stay_marked(made: Make, world: MujocoWorld) -> None:
    """An environment thrown in at an absurd speed is marked for good; its neighbour goes on."""
    for head in ("action", "state"):
        corrected = CorrectedWorld(world, None, [made(head=head)])
        start = world.home(2)
        wild = replace(start, dq=np.array([[0.0, 0.0], [1e6, 0.0]]))
        played = corrected.rollout(wild, motion(2))
        assert played.valid[0].all()
        first = int(played.valid[1].argmin())
        assert first > 0
        assert not played.valid[1, first:].any()
        calm = corrected.rollout(start, motion(2))
        np.testing.assert_allclose(played.q[0], calm.q[0], atol=1e-12)


def test_corrections_add_up_in_order(made: Make, world: MujocoWorld) -> None:
    """A list is the same as worlds within worlds: each is on top of those before it."""
    first = made()
    second = second_on(made("gru"), world, first)
    listed = CorrectedWorld(world, None, [first, second])
    nested = CorrectedWorld(CorrectedWorld(world.twin(), None, [first]), None, [second])
    both = stepped(listed, world.home(), motion(1))
    np.testing.assert_allclose(both, stepped(nested, world.home(), motion(1)), atol=1e-12)
    assert listed.identity.effects_hash == nested.identity.effects_hash
    alone = stepped(CorrectedWorld(world.twin(), None, [first]), world.home(), motion(1))
    assert np.abs(both - alone).max() > 0


def test_a_correction_on_top_of_another_needs_it(made: Make, world: MujocoWorld) -> None:
    """What was trained on top of a correction is refused without it."""
    second = second_on(made("gru"), world, made())
    with pytest.raises(ModelError, match="on top of other parameters"):
        CorrectedWorld(world, None, [second])


def second_on(second: Correction, world: MujocoWorld, first: Correction) -> Correction:
    """The second as one that was trained on top of the first."""
    under = CorrectedWorld(world.twin(), None, [first])
    return replace(second, contract=second.contract.on(under))


def test_its_identity_names_its_corrections(made: Make, world: MujocoWorld) -> None:
    """Numbers of other corrections are numbers of another world."""
    worlds = [CorrectedWorld(world, None, c) for c in ([], [made()], [made(bound=0.1)])]
    assert len({w.identity.key for w in worlds}) == 3
    assert worlds[0].identity == world.identity


def test_placed_copies_are_seen_where_they_are(
    corrected: CorrectedWorld, world: MujocoWorld
) -> None:
    """A correction looks at the state that was placed, not at the one before."""
    corrected.reset(world.home())
    corrected.step(motion(1)[:, 0])
    corrected.place(replace(world.home(), q=world.home().q + 0.03))
    moved = corrected.step(motion(1)[:, 1])
    frames = corrected._applied[0]._memory.frames  # type: ignore[union-attr]
    np.testing.assert_allclose(frames[-1]["q"], world.home().q + 0.03)
    assert np.abs(moved.q).max() < 0.2


def test_there_must_be_copies_to_step(corrected: CorrectedWorld) -> None:
    """The error says what to call."""
    with pytest.raises(SimulationError, match="reset"):
        corrected.step(np.zeros((1, 2)))


def test_a_calibration_needs_a_world_it_can_patch(corrected: CorrectedWorld) -> None:
    """Not one that is corrected already."""
    with pytest.raises(SimulationError, match="CorrectedWorld"):
        CorrectedWorld(corrected, object())  # type: ignore[arg-type]
