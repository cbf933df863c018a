"""A hidden robot: reproducible, one of several units, its truth kept to itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import GaplessError
from gapless.measurement import measure
from gapless.motions.excitation import multisine
from gapless.recordings import Conditions
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld, World
from gapless.worlds.hidden import EFFECTS, PRESETS, HiddenWorld
from gapless.worlds.hidden.effect_sizes import ASKED_FOR
from gapless.worlds.record import record


def motions(robot: Robot, count: int = 3, seconds: float = 2.0) -> np.ndarray:
    """(n, T, J) targets."""
    return np.stack([multisine(robot, seconds, robot.rate, seed=s) for s in range(count)])


def test_everything_off_is_the_nominal_robot(arms: Robot) -> None:
    """Zero effects mean zero gap, to the bit."""
    for world in (HiddenWorld(arms, "none"), HiddenWorld(arms, "hard", only=())):
        plain = MujocoWorld(arms)
        seen = world.rollout(world.home(3), motions(arms))
        true = plain.rollout(plain.home(3), motions(arms))
        assert np.array_equal(seen.q, true.q)
        assert np.array_equal(seen.dq, true.dq)


def test_replaying_a_hidden_robot_without_effects_shows_no_gap(arms: Robot) -> None:
    """The whole path, record and measure, leaves rounding errors only."""
    world = HiddenWorld(arms, "none")
    clips = [record(world, motions(arms)[i], f"motion_{i}", start=world.home()) for i in range(2)]
    gap = measure(clips, MujocoWorld(arms), horizons=[0.5])
    assert gap.mean("mpjae", 0.5).value < 1e-9


def test_two_runs_with_one_seed_are_byte_identical(arms: Robot) -> None:
    """A seed decides everything; another one gives another robot."""
    runs = [HiddenWorld(arms, "hard", 2, seed=s) for s in (7, 7, 8)]
    q = [w.rollout(w.home(3), motions(arms)).q.tobytes() for w in runs]
    assert q[0] == q[1] != q[2]


def test_a_sequence_is_the_same_alone_and_in_any_batch(arms: Robot) -> None:
    """Noise and jitter belong to the sequence, not to its neighbours."""
    world = HiddenWorld(arms, "hard")
    told = [Conditions(extra={"repeat": r}) for r in range(3)]
    together = world.rollout(world.home(3), motions(arms), conditions=told)
    alone = world.rollout(world.home(1), motions(arms)[1:2], conditions=told[1:2])
    assert np.array_equal(together.q[1], alone.q[0])


def test_repeats_of_a_motion_differ_by_noise(arms: Robot) -> None:
    """As on a robot, no two repeats are equal."""
    world = HiddenWorld(arms, "typical")
    told = [Conditions(extra={"repeat": r}) for r in range(2)]
    q = world.rollout(world.home(2), np.repeat(motions(arms, 1), 2, axis=0), conditions=told).q
    assert 0 < np.abs(q[0] - q[1]).mean() < 0.01


def test_units_differ_less_than_the_robot_from_its_model(arms: Robot) -> None:
    """Units share a character: their spread is smaller than their common gap."""
    plain = MujocoWorld(arms).rollout(MujocoWorld(arms).home(3), motions(arms)).q
    worlds = [HiddenWorld(arms, "typical", unit, only=_PHYSICAL) for unit in (1, 2, 3)]
    q = np.stack([w.rollout(w.home(3), motions(arms)).q for w in worlds])
    between = np.abs(q - q.mean(axis=0)).mean()
    assert 0.02 < between / np.abs(q.mean(axis=0) - plain).mean() < 0.7


_PHYSICAL = tuple(
    e for e in EFFECTS if e not in ("encoder_noise", "quantisation", "command_jitter", *ASKED_FOR)
)


def test_presets_are_ordered(arms: Robot) -> None:
    """A hard robot is further from its model than a typical one, and that than a mild one."""
    plain = MujocoWorld(arms).rollout(MujocoWorld(arms).home(3), motions(arms)).q
    gaps = []
    for preset in PRESETS:
        world = HiddenWorld(arms, preset)
        gaps.append(np.abs(world.rollout(world.home(3), motions(arms)).q - plain).mean())
    assert gaps == sorted(gaps)
    assert gaps[0] == 0


def test_an_effect_alone_has_the_figures_it_has_among_others(arms: Robot, tmp_path: Path) -> None:
    """Switching effects off changes no other effect."""
    HiddenWorld(arms, "typical", 3).write_truth(tmp_path / "all.json")
    HiddenWorld(arms, "typical", 3, only=["backlash"]).write_truth(tmp_path / "one.json")
    every, one = (
        json.loads((tmp_path / f"{name}.json").read_text())["effects"] for name in ("all", "one")
    )
    assert set(every) == set(EFFECTS) - set(ASKED_FOR)
    assert one == {"backlash": every["backlash"]}


def test_locking_joints_changes_no_other_joint(tmp_path: Path) -> None:
    """The arms of a unit are the same whether its legs move or not."""
    whole = Robot.load("g1", mount="fixed")
    for name, robot in (("whole", whole), ("part", whole.lock(["legs"]))):
        HiddenWorld(robot, "typical").write_truth(tmp_path / f"{name}.json")
    first, second = (
        json.loads((tmp_path / f"{name}.json").read_text())["effects"]["coulomb"]["values"]
        for name in ("whole", "part")
    )
    assert first["left_elbow_joint"] == second["left_elbow_joint"]


def test_the_truth_is_not_in_what_a_method_sees(arms: Robot) -> None:
    """The world shows the nominal robot, and a recording only a hash."""
    world = HiddenWorld(arms, "hard")
    clip = record(world, motions(arms)[0], "motion", start=world.home())
    assert world.robot is arms
    assert set(clip.provenance) == {"source", "world"}
    assert len(clip.provenance["world"]) == 16


def test_it_is_a_world_and_steps_like_its_rollout(arms: Robot) -> None:
    """Without chance, step after step gives the rollout."""
    world = HiddenWorld(arms, "hard", only=_PHYSICAL, rate=500)
    assert isinstance(world, World)
    targets = np.repeat(motions(arms)[:, :8], 10, axis=1)[:, :20]
    rolled = world.rollout(world.home(3), targets)
    world.reset(world.home(3))
    stepped = np.stack([world.step(targets[:, t]).q for t in range(20)], axis=1)
    assert stepped == pytest.approx(rolled.q[:, 1:], abs=1e-9)


def test_a_stepped_copy_is_the_same_in_any_batch(arms: Robot) -> None:
    """Noise and jitter of an environment that is stepped are its own, too."""
    world, targets = HiddenWorld(arms, "hard"), motions(arms)[:, :15]
    told = [Conditions(extra={"repeat": r}) for r in range(3)]
    seen = []
    for which in ([0, 1, 2], [1]):
        world.reset(world.home(len(which)), conditions=[told[i] for i in which])
        seen.append([world.step(targets[which, t]).q for t in range(15)])
    assert np.array_equal(np.stack(seen[0], axis=1)[1], np.stack(seen[1], axis=1)[0])


def test_every_effect_is_part_of_the_identity(arms: Robot) -> None:
    """Two worlds whose logs differ are never called the same."""
    plain = HiddenWorld(arms, "none").identity
    assert plain.key == MujocoWorld(arms).identity.key
    keys = {HiddenWorld(arms, "hard", only=[e]).identity.key for e in EFFECTS}
    assert len(keys | {plain.key}) == len(EFFECTS) + 1


def test_a_standing_hidden_robot_stands_still() -> None:
    """Friction does not shake joints that share their inertia with others."""
    robot = Robot.load("g1", mount="fixed", lock=["legs"])
    world = HiddenWorld(robot, "hard", only=["stribeck", "load_friction"])
    held = world.rollout(world.home(), np.tile(robot.joints.default, (1, 300, 1)))
    assert np.abs(held.dq[0, -50:]).max() < 2e-3


def test_numbers_of_any_kind_name_the_same_unit(arms: Robot, tmp_path: Path) -> None:
    """NumPy integers are integers, and an iterator of effects is a list of them."""
    HiddenWorld(arms, "typical", 2, 3, only=["backlash", "strength"]).write_truth(tmp_path / "a")
    other = HiddenWorld(
        arms, "typical", np.int64(2), np.int64(3), only=iter(["backlash", "strength"])
    )
    other.write_truth(tmp_path / "b")
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


@pytest.mark.parametrize("start", [float("nan"), "warm"])
def test_a_temperature_that_is_no_number_is_refused(arms: Robot, start: object) -> None:
    """It would silently take the torque away."""
    world = HiddenWorld(arms, "typical", only=["heat"])
    told = [Conditions(extra={"motor_temperature": start})]
    with pytest.raises(GaplessError, match="motor_temperature"):
        world.rollout(world.home(), motions(arms, 1), conditions=told)


def test_physx_refuses_a_soft_floor_by_name() -> None:
    """Its contacts are hard; among all effects the soft floor is left out."""
    pytest.importorskip("sapien")
    dog = Robot.load("go2", mount="free")
    with pytest.raises(GaplessError, match="floor_softness"):
        HiddenWorld(dog, "hard", only=["floor_softness"], engine="physx")
    assert HiddenWorld(dog, "hard", engine="physx").robot is dog


def test_a_reset_of_one_copy_leaves_the_others(arms: Robot) -> None:
    """Memory of motors and sensors is kept per environment."""
    world = HiddenWorld(arms, "hard", only=["backlash", "heat", "sensor_delay", "command_delay"])
    targets = motions(arms)[:, :20]
    world.reset(world.home(3))
    for t in range(10):
        world.step(targets[:, t])
    world.reset(world.home(1), which=np.array([1]))
    after = world.step(targets[:, 10]).q
    assert after[1] == pytest.approx(arms.joints.default, abs=0.05)
    assert np.abs(after[0] - arms.joints.default).max() > 0.02


def test_another_rate_is_the_same_unit(arms: Robot, tmp_path: Path) -> None:
    """The control rate is no part of the truth."""
    world = HiddenWorld(arms, "typical", 2)
    world.write_truth(tmp_path / "a.json")
    world.at_rate(100).write_truth(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert world.at_rate(world.rate) is world


def test_logged_gains_and_loads_are_those_of_the_weak_robot(arms: Robot) -> None:
    """Conditions are what people know; the unit's strength and unknown loads act on top."""
    joint = arms.joints.names[0]
    nominal = {joint: (float(arms.joints.kp[0]), float(arms.joints.kd[0]))}
    world = HiddenWorld(arms, "hard", only=["strength", "unknown_load"])
    targets = motions(arms, 1)
    told = [Conditions(gains=nominal, payloads={})]
    assert np.allclose(
        world.rollout(world.home(), targets, conditions=told).q,
        world.rollout(world.home(), targets).q,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "typicl"}, "typical"),
        ({"only": ["backlsh"]}, "backlash"),
        ({"unit": 0}, "numbered from 1"),
        ({"unit": 1.5}, "whole number"),
        ({"engine": "bullet"}, "physx"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(arms: Robot, options: dict, message: str) -> None:
    """The nearest right name is in the message."""
    with pytest.raises(GaplessError, match=message):
        HiddenWorld(arms, **options)


def test_a_load_on_a_link_that_does_not_exist_is_refused(arms: Robot) -> None:
    """Before anything is simulated."""
    world = HiddenWorld(arms, "typical")
    told = [Conditions(payloads={"left_hnd": Payload(1.0)})]
    with pytest.raises(GaplessError, match="left_hnd"):
        world.rollout(world.home(), motions(arms, 1), conditions=told)


def test_a_hidden_robot_that_diverges_is_marked_and_refused(arms: Robot) -> None:
    """The copy is marked, its neighbour is not, and recording it says when."""
    world = HiddenWorld(arms, "typical")
    start = world.home(2)
    start.dq[0] = 1e5
    played = world.rollout(start, motions(arms, 2))
    assert played.valid[:, 0].all()
    assert played.valid.all(axis=1).tolist() == [False, True]
    with pytest.raises(GaplessError, match="diverged"):
        record(world, motions(arms, 1)[0], "wild", start=start[:1])


def test_the_docs_list_every_effect_with_its_sizes() -> None:
    """The table in docs/worlds.md is the one in presets.py."""
    text = (Path(__file__).parents[3] / "docs" / "worlds.md").read_text()
    for name, size in EFFECTS.items():
        sizes = " | ".join(f"{value:g}" for value in size.sizes)
        assert f"| `{name}` | {size.what} | {sizes} | {size.unit} |" in text
