"""Optimal excitation."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from gapless.errors import DataError, ModelError, NameMismatchError
from gapless.motions.limits import check_motion
from gapless.motions.optimal import exchange, optimal
from gapless.motions.pieces import clear_range, descendants, fit, pick, random_genes, waves
from gapless.robots import Robot
from gapless.worlds import MujocoWorld


def test_pieces_start_and_end_at_rest() -> None:
    """Position and speed are zero at both ends, for random pieces and for descendants."""
    rng = np.random.default_rng(0)
    parents, time = random_genes(3, 5, rng), np.arange(1000) / 400
    for genes in (parents, descendants(parents, 4, rng)):
        offsets = waves(genes, time, top=5.0)
        peak = np.abs(offsets).max(axis=1)
        assert (peak > 0).all()
        assert (np.abs(offsets[:, [0, 1, -1]]) < 1e-3 * peak[:, None]).all()


def test_no_size_is_no_motion() -> None:
    """The chain a search starts from stands still."""
    genes = np.zeros_like(random_genes(2, 1, np.random.default_rng(0)))
    assert not waves(genes, np.arange(100) / 50, top=5.0).any()


def test_descendants_keep_some_joints_and_stay_in_range() -> None:
    """Genes stay between 0 and 1; of one parent, about a quarter of the joints stay the same."""
    rng = np.random.default_rng(0)
    parents = random_genes(20, 1, rng)
    children = descendants(parents, 50, rng)
    assert children.min() >= 0 and children.max() <= 1
    kept = (children == parents).all(axis=(1, 2)).mean()
    assert 0.1 < kept < 0.5


def test_pick_takes_each_joint_from_its_row() -> None:
    """Joints of a chain come from different pieces."""
    genes = np.arange(24.0).reshape(3, 2, 2, 2)
    picked = pick(genes, np.array([[2, 0], [1, 1]]))
    np.testing.assert_array_equal(picked[0, ..., 0], genes[2, ..., 0])
    np.testing.assert_array_equal(picked[0, ..., 1], genes[0, ..., 1])
    np.testing.assert_array_equal(picked[1], genes[1])


def test_exchange_finds_the_best_choice() -> None:
    """As good as trying every combination."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(7, 1, 3, 3)) * np.array([1.0, 3.0, 0.5])
    told = np.swapaxes(rows, -1, -2) @ rows

    def criterion(chosen: tuple[int, ...]) -> float:
        return float(np.linalg.slogdet(np.eye(3) + told[list(chosen), 0].sum(axis=0))[1])

    best = max(criterion(c) for c in combinations_with_replacement(range(7), 3))
    found = exchange(told, np.zeros((3, 1), int))
    assert criterion(tuple(found[:, 0])) == pytest.approx(best, rel=1e-3)


def test_fit_scales_only_what_breaks_a_limit(so101: Robot) -> None:
    """A gentle wave stays as it is; a violent one shrinks until it is within the limits."""
    time = np.arange(100)[:, None] / 50
    offsets = np.stack([0.05 * np.sin(2 * np.pi * time), 1.5 * np.sin(6 * np.pi * time)])
    offsets = np.tile(offsets, (1, 1, 6))
    factor, good = fit(MujocoWorld(so101), offsets, np.full((2, 6), 1.0))
    np.testing.assert_array_equal(factor[0], 1.0)
    assert good.all() and (factor[1] < 0.7).all()


def test_clear_range_is_inside_the_limits(arms: Robot) -> None:
    """No way is longer than a joint has room for, and arms that would meet get less."""
    down, up = clear_range(arms, np.random.default_rng(0))
    assert (arms.joints.default - down > arms.joints.lower).all() and (down > 0).all()
    assert (arms.joints.default + up < arms.joints.upper).all() and (up > 0).all()
    assert up.max() < 1.5


def test_optimal_motion_is_safe_reproducible_and_as_long_as_asked(so101: Robot) -> None:
    """It passes the check, fills the seconds, starts at the default pose, and repeats by seed."""
    options = {"about": ["kp", "delay/all"], "candidates": 4, "rounds": 2}
    told = []
    motion = optimal(so101, 3.1, 100, seed=3, watch=told.append, **options)
    assert check_motion(motion, so101).ok
    assert motion.q.shape == (310, 6) and motion.rate == 100
    np.testing.assert_allclose(motion.q[[0, -1]], [so101.joints.default] * 2, atol=0.01)
    assert np.ptp(motion.q, axis=0).min() > 0.02
    assert [(now.done, now.total) for now in told] == [(1, 2), (2, 2)]
    np.testing.assert_array_equal(motion.q, optimal(so101, 3.1, 100, seed=3, **options).q)


def test_impossible_requests_are_refused(so101: Robot) -> None:
    """Each error says what to do."""
    with pytest.raises(ModelError, match="mount='fixed'"):
        optimal(Robot.load("g1", mount="free"), 5.0)
    for wrong in ({"seconds": 0.2}, {"seconds": 5.0, "top": 40.0}, {"seconds": np.nan}):
        with pytest.raises(DataError, match="expected"):
            optimal(so101, **wrong)
    with pytest.raises(DataError, match="at least 1"):
        optimal(so101, 5.0, candidates=0)
    with pytest.raises(NameMismatchError, match="frictionloss"):
        optimal(so101, 5.0, about=["friction"])
