"""The layout of observations, against lists of past frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_samples import sighting, small_contract, states

from gapless.policies.observer import Observer, term_of_column
from gapless.policies.policy_contract import Block, PolicyContract, Term
from gapless.policies.terms import term_width
from gapless.worlds.world import State

SEEN = {"joint_pos": 3, "base_ang_vel": 3, "base_height": 1}
N = 3


def read_directly(name: str, readings: State, row: int) -> list[float]:
    """A term of one environment, without the code under test."""
    values = {
        "joint_pos": lambda: readings.q[row],
        "base_ang_vel": lambda: readings.base_ang_vel_b[row],
        "base_height": lambda: readings.base_pos[row, 2:],
    }
    return list(values[name]())


@dataclass
class PastFrames:
    """Everything that one environment saw, oldest first."""

    seen: list[dict[str, list[float]]] = field(default_factory=list)

    def moment(self, name: str, age: int, block: Block) -> list[float]:
        """A term so many steps ago, or what stands for it before the start."""
        at = len(self.seen) - 1 - age
        if at >= 0:
            return self.seen[at][name]
        return [0.0] * SEEN[name] if block.fill == "zeros" else self.seen[0][name]

    def row(self, blocks: tuple[Block, ...]) -> list[float]:
        """The observation, number by number."""
        found: list[float] = []
        for block in blocks:
            ages = list(range(block.frames) if block.present else range(1, block.frames + 1))
            ages = ages if block.newest == "first" else ages[::-1]
            pairs = (
                [(name, age) for name in block.terms for age in ages]
                if block.by == "term"
                else [(name, age) for age in ages for name in block.terms]
            )
            for name, age in pairs:
                found += self.moment(name, age, block)
        return found


def laid_out(*blocks: Block, **changes: object) -> PolicyContract:
    """A contract that sees these blocks."""
    return small_contract(*SEEN, blocks=blocks, **changes)


DRAWN_BLOCKS = st.lists(
    st.builds(
        Block,
        terms=st.lists(st.sampled_from(sorted(SEEN)), min_size=1, max_size=3, unique=True).map(
            tuple
        ),
        frames=st.integers(1, 4),
        by=st.sampled_from(["term", "frame"]),
        newest=st.sampled_from(["last", "first"]),
        present=st.booleans(),
        fill=st.sampled_from(["first", "zeros"]),
    ),
    min_size=1,
    max_size=3,
)
DRAWN_RESETS = st.lists(st.sets(st.integers(0, N - 1)), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(blocks=DRAWN_BLOCKS, resets=DRAWN_RESETS, seed=st.integers(0, 1000))
def test_the_layout_is_that_of_lists_of_past_frames(blocks, resets, seed) -> None:
    """Any blocks, any readings, environments that begin anew one by one."""
    contract = laid_out(*blocks)
    observer, past = Observer(contract, N), [PastFrames() for _ in range(N)]
    for step, rows in enumerate(resets):
        for row in rows:
            past[row] = PastFrames()
        observer.forget(np.array(sorted(rows), int))
        readings = states(N, seed + step)
        for row in range(N):
            past[row].seen.append({name: read_directly(name, readings, row) for name in SEEN})
        found = observer.observe(sighting(contract, readings))
        np.testing.assert_array_equal(found, [p.row(contract.blocks) for p in past])


def heights(block: Block, values: list[float]) -> list[list[float]]:
    """What one environment sees of these heights, one after another."""
    contract = laid_out(block)
    observer, found = Observer(contract, 1), []
    for height in values:
        readings = states(1)
        readings.base_pos[:, 2] = height  # type: ignore[index]
        found.append(observer.observe(sighting(contract, readings))[0].tolist())
    return found


BY_HAND = {
    "Isaac Lab": (
        Block(("base_height",), 3),
        [[1, 1, 1], [1, 1, 2], [1, 2, 3], [2, 3, 4]],
    ),
    "ASAP": (
        Block(("base_height",), 3, newest="first", present=False, fill="zeros"),
        [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 1]],
    ),
    "the past alone": (
        Block(("base_height",), 2, present=False),
        [[1, 1], [1, 1], [1, 2], [2, 3]],
    ),
    "zeros before": (Block(("base_height",), 2, fill="zeros"), [[0, 1], [1, 2], [2, 3], [3, 4]]),
}


@pytest.mark.parametrize("who", BY_HAND)
def test_histories_by_hand(who: str) -> None:
    """Heights of 1, 2, 3 and 4 m, one after another."""
    block, expected = BY_HAND[who]
    assert heights(block, [1.0, 2.0, 3.0, 4.0]) == expected


def test_terms_lie_together_or_moments_do() -> None:
    """Two terms of two frames: aabb or abab."""
    contract = laid_out(
        Block(("base_height", "base_ang_vel"), 2),
        Block(("base_height", "base_ang_vel"), 2, "frame"),
    )
    observer = Observer(contract, 1)
    first, second = states(1, 1), states(1, 2)
    observer.observe(sighting(contract, first))
    found = observer.observe(sighting(contract, second))[0]
    (h1, h2), (w1, w2) = (
        [s.base_pos[0, 2:] for s in (first, second)],
        [s.base_ang_vel_b[0] for s in (first, second)],
    )
    by_term, by_frame = np.concatenate([h1, h2, w1, w2]), np.concatenate([h1, w1, h2, w2])
    np.testing.assert_array_equal(found, np.concatenate([by_term, by_frame]))


def test_the_whole_observation_is_clipped_last() -> None:
    """After the scales of the terms."""
    terms = {"joint_pos": Term("joint_pos", "joint_pos", (100.0,))}
    contract = small_contract(terms=terms, clip=(-5.0, 4.0))
    found = Observer(contract, 4).observe(sighting(contract, states(4)))
    assert found.min() == -5.0 and found.max() == 4.0


def test_forgetting_one_environment_leaves_the_others() -> None:
    """Its history begins anew; theirs goes on."""
    contract = laid_out(Block(("base_height",), 2))
    observer = Observer(contract, 2)
    for height in (1.0, 2.0, 3.0):
        if height == 3.0:
            observer.forget(np.array([1]))
        readings = states(2)
        readings.base_pos[:, 2] = height  # type: ignore[index]
        found = observer.observe(sighting(contract, readings))
    assert found.tolist() == [[2.0, 3.0], [3.0, 3.0]]


def test_a_column_has_the_name_of_its_term() -> None:
    """In every layout."""
    for by, expected in (("term", "hhwwwwww"), ("frame", "hwwwhwww")):
        contract = laid_out(Block(("base_height", "base_ang_vel"), 2, by), Block(("joint_pos",)))
        names = {"h": "base_height", "w": "base_ang_vel", "q": "joint_pos"}
        found = [term_of_column(contract, i) for i in range(contract.width)]
        assert found == [names[c] for c in expected + "qqq"]


def test_the_widths_of_this_file_are_those_of_the_package() -> None:
    """Or the lists above would prove nothing."""
    contract = laid_out(Block(tuple(SEEN)))
    assert {n: term_width(contract.terms[n], contract) for n in SEEN} == SEEN


def test_a_late_term_shows_what_was_before() -> None:
    """Within a block by frames too; before the start as the block says."""
    terms = {"now": Term("now", "base_height"), "late": Term("late", "base_height", ago=1)}
    block = Block(("now", "late"), frames=2, by="frame", fill="zeros")
    contract = small_contract(terms=terms, blocks=(block,))
    observer, rows = Observer(contract, 1), []
    for seed in range(3):
        readings = states(1, seed)
        rows.append(observer.observe(sighting(contract, readings))[0])
    first, second, third = (states(1, seed).base_pos[0, 2] for seed in range(3))  # type: ignore[index]
    np.testing.assert_allclose(rows[0], [0, 0, first, 0])
    np.testing.assert_allclose(rows[2], [second, first, third, second])


def test_a_normaliser_comes_before_the_clip() -> None:
    """Mean and deviation of each number."""
    contract = small_contract(
        "joint_pos", mean=(1.0, 2.0, 3.0), std=(0.5, 1.0, 2.0), clip=(-0.5, 0.5)
    )
    readings = states(2)
    seen = Observer(contract, 2).observe(sighting(contract, readings))
    np.testing.assert_allclose(
        seen, np.clip((readings.q - [1, 2, 3]) / [0.5, 1, 2], -0.5, 0.5), atol=1e-12
    )
