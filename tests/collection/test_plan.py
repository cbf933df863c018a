"""Plans: balanced, reproducible, and refused before anything runs where they cannot be played."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gapless.collection.plan import TEMPERATURES, CollectionPlan
from gapless.collection.plan_presets import preset
from gapless.collection.repertoire import repertoire
from gapless.errors import DataError, FormatError, GaplessError, NameMismatchError
from gapless.motions.motion import Motion
from gapless.robots import Robot

SMALL = CollectionPlan(
    robot="so101",
    mount="fixed",
    motions=("multisine",),
    levels=("per_joint", "whole_body"),
    seconds=1.2,
    payloads=(0.0, 0.2),
    payload_links=Robot.load("so101").links[-1:],
    rates=(50, 100),
    units=(1, 2),
    held_out=(3,),
    repeats=2,
)
MOTIONS = [("a", "per_joint"), ("b", "upper_body")]


@pytest.fixture
def small() -> CollectionPlan:
    """A plan of an arm whose last link carries."""
    return SMALL


def test_every_combination_is_there_once(small: CollectionPlan):
    """Each motion has every payload, rate, unit and repeat; held-out units are apart."""
    planned = [
        s for split in small.splits for r in small.rates for s in small.sequences(split, r, MOTIONS)
    ]
    found = Counter((s.motion, s.payload, s.rate, s.unit, s.repeat) for s in planned)
    assert found == Counter(product("ab", (0.0, 0.2), (50, 100), (1, 2, 3), (1, 2)))
    assert len({s.id for s in planned}) == len(planned) == len(MOTIONS) * small.takes
    assert {s.unit for s in small.sequences("held_out", 50, MOTIONS)} == {3}


def test_same_plan_same_sequences(small: CollectionPlan):
    """Nothing is drawn from a clock; temperatures depend on the seed and not on the rate."""
    first = small.sequences("fit", 50, MOTIONS)
    assert first == small.sequences("fit", 50, MOTIONS)
    fast = small.sequences("fit", 100, MOTIONS)
    assert [s.temperature for s in first] == [s.temperature for s in fast]
    assert all(TEMPERATURES[0] <= s.temperature <= TEMPERATURES[1] for s in first)
    assert len({s.temperature for s in first}) > len(first) / 2
    other = replace(small, seed=1)
    assert other.sequences("fit", 50, MOTIONS) != first
    assert other.key != small.key == replace(small).key


def test_hours_are_reached_with_whole_motions(small: CollectionPlan):
    """One motion fewer would be too little; the sources share them evenly."""
    plan = replace(small, hours=0.1)
    chosen = repertoire(plan)
    block = plan.takes * plan.seconds / 3600
    assert (len(chosen.motions) - 1) * block < 0.1 <= len(chosen.motions) * block
    counts = Counter(chosen.levels)
    assert set(counts) == {"per_joint", "whole_body", "multisine"}
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len({m.name for m in chosen.motions}) == len(chosen.motions)


def test_a_motion_that_never_differs_is_not_repeated_as_another(small: CollectionPlan):
    """Environments under other names would leak from training to test."""
    with pytest.raises(DataError, match="'chirp' is always the same motion"):
        repertoire(replace(small, motions=("chirp",), levels=(), hours=0.1))


def test_rates_play_the_same_curve(small: CollectionPlan):
    """Every second sample at 100 Hz is the sample at 50 Hz."""
    chosen = repertoire(small)
    slow, fast = chosen.targets(50), chosen.targets(100)
    for name, targets in slow.items():
        np.testing.assert_allclose(targets[:-1], fast[name][::2][: len(targets) - 1], atol=1e-9)
    assert chosen.fingerprint() == repertoire(small).fingerprint()


def test_simlifter_has_the_published_shape():
    """H1-2, ten arm joints, 0-3 kg, three units and a fourth, two rates, three repeats, 28.46 h."""
    plan = preset("simlifter")
    robot = plan.load_robot()
    assert len(robot.joints) == 10 and robot.mount == "fixed"
    assert sum("shoulder" in j for j in robot.joints.names) == 6
    assert (plan.payloads, plan.rates, plan.repeats) == ((0, 1, 2, 3), (50, 100), 3)
    assert (plan.units, plan.held_out, plan.hours) == ((1, 2, 3), (4,), 28.46)
    motions = -(-28.46 * 3600 // (plan.takes * plan.seconds))
    assert motions * plan.takes == pytest.approx(11198, rel=0.01)
    assert set(plan.loads(robot, 2.0)) == {"left_wrist_yaw_link", "right_wrist_yaw_link"}
    assert plan.loads(robot, 0.0) == {}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": ("upperbody",)}, "unknown level 'upperbody'.*upper_body"),
        ({"hidden": "typicla"}, "Did you mean 'typical'"),
        ({"only": ("backlsh",)}, "Did you mean 'backlash'"),
        ({"engine": "bullet"}, "unknown engine"),
        ({"payloads": (-1.0,)}, "a payload is -1.0 kg"),
        ({"payloads": (1.0,), "payload_links": ()}, "nothing carries the payload.*--payload-links"),
        ({"units": (0,)}, "units are numbered from 1"),
        ({"units": (1, 1)}, "units names a value twice"),
        ({"held_out": (2, 3)}, r"units \[2\] are both for fitting and held out"),
        ({"rates": (50, 0)}, "a rate is 0 Hz"),
        ({"repeats": 0}, "repeats is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"hours": float("nan")}, "hours is nan"),
        ({"seconds": -2.0}, "seconds is -2.0"),
        ({"motions": (), "levels": ()}, "no motion was named"),
    ],
)
def test_wrong_plans_are_refused_at_once(small: CollectionPlan, wrong: dict, message: str):
    """The error names what is wrong and what was expected."""
    with pytest.raises(GaplessError, match=message):
        replace(small, **wrong)


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        ({"robot": "so100"}, NameMismatchError, "Did you mean 'so101'"),
        ({"lock": ("wirst",)}, NameMismatchError, "unknown joint or joint group 'wirst'"),
        ({"payload_links": ("no_such_link",)}, NameMismatchError, "unknown link 'no_such_link'"),
        ({"motions": ("multsine",)}, NameMismatchError, "Did you mean 'multisine'"),
        ({"motions": ("absent.npz",)}, FormatError, "absent.npz does not exist"),
    ],
)
def test_names_are_checked_before_anything_runs(
    small: CollectionPlan, wrong: dict, kind: type[GaplessError], message: str
):
    """Robots, joints, links and motions that do not exist are refused with the nearest name."""
    with pytest.raises(kind, match=message):
        repertoire(replace(small, **wrong))


def test_files_are_played_as_they_are(small: CollectionPlan, tmp_path: Path):
    """A file is used once; a motion beyond a limit is refused with the joint and the time."""
    good = repertoire(small).motions[0]
    good.save(tmp_path / "good.npz")
    plan = replace(small, motions=(str(tmp_path / "good.npz"),), levels=())
    assert repertoire(plan).levels == ("file",)
    with pytest.raises(DataError, match="give fewer --hours, more --repeats, or --levels"):
        repertoire(replace(plan, hours=5.0))
    bent = good.q.copy()
    bent[30, 0] = 9.0
    Motion("bent", good.joints, good.rate, bent).save(tmp_path / "bent.npz")
    with pytest.raises(DataError, match=rf"leaves the limits.*\n{good.joints[0]}: position 9 rad"):
        repertoire(replace(plan, motions=(str(tmp_path / "bent.npz"),)))
