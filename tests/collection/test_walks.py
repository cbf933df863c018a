"""Walks under a policy: drawn commands, what is logged, the same bytes after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gapless import Policy
from gapless.cli.main import main
from gapless.collection import Collection, CollectionPlan, card, collect
from gapless.collection.walks import KINDS, choose_walks, drawn_walks
from gapless.errors import ArtifactError, DataError
from gapless.evaluation import policy_episodes
from gapless.measurement.alignment import in_robot_order
from gapless.policies.policy_contract import PolicyCommand
from gapless.recordings.motion_identity import motions_of
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from still_policy import write_policy

RANGE = PolicyCommand((-0.5, -0.3, -0.2), (1.0, 0.3, 0.2), ("vx", "vy", "wz"))
BASE = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Seven walks on two units, in parts of three."""
    policy = write_policy(tmp_path_factory.mktemp("policy"))
    return {
        "robot": "go2",
        "policy": str(policy),
        "seconds": 1.2,
        "units": (1, 2),
        "only": ("strength", "encoder_noise", "imu_noise"),
        "physics_step": 0.005,
        "batch": 3,
    }


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than these walks."""
    monkeypatch.setattr(card, "draw", lambda *_: None)


@pytest.fixture(scope="module")
def made(planned: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection that nothing interrupted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(card, "draw", lambda *_: None)
        return collect(CollectionPlan(**planned), tmp_path_factory.mktemp("made") / "out")


def content(root: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_every_kind_of_walk_is_drawn_within_the_trained_range() -> None:
    """Different ones, the kinds in turn; a longer list begins with the shorter one."""
    few, many = drawn_walks(RANGE, 7, seed=3), drawn_walks(RANGE, 60, seed=3)
    assert [kind for _, kind in few] == list(KINDS)
    assert all((a[0] == b[0]).all() for a, b in zip(few, many, strict=False))
    every = np.concatenate([asked for asked, _ in many])
    assert (every >= RANGE.lower).all() and (every <= RANGE.upper).all()
    signs = {
        "forward": lambda v: v[0] > 0 and not v[1:].any(),
        "backward": lambda v: v[0] < 0 and not v[1:].any(),
        "sideways": lambda v: v[1] != 0 and not v[[0, 2]].any(),
        "turning": lambda v: v[2] != 0 and not v[:2].any(),
    }
    for asked, kind in many:
        assert kind not in signs or signs[kind](asked[0])
    assert len({asked.tobytes() for asked, _ in many}) == 60
    sides = {np.sign(asked[0, 1]) for asked, kind in many if kind == "sideways"}
    assert sides == {-1.0, 1.0}
    assert not np.array_equal(few[1][0], drawn_walks(RANGE, 7, seed=4)[1][0])


def test_a_range_without_ways_back_has_none() -> None:
    """Kinds that a range lacks are passed over; a range of nothing is refused."""
    ahead = PolicyCommand((0.0, 0.0, -1.0), (1.0, 0.0, 1.0))
    assert not {kind for _, kind in drawn_walks(ahead, 20, 0)} & {"backward", "sideways"}
    with pytest.raises(DataError, match="no 4 different commands"):
        drawn_walks(PolicyCommand((0, 0, 0), (0, 0, 0)), 4, 0)


def test_walks_are_recorded_as_the_sensors_saw_them(
    made: Collection, planned: dict[str, Any]
) -> None:
    """Policy and command are the motion; gains, unit and the replica's side are stored."""
    data = made.dataset()
    policy = Policy.load(planned["policy"])
    assert len(data) == 14 and made.left_out == ()
    names = motions_of(data)
    assert len(set(names)) == 7 and names[:7] == names[7:]
    assert names[0] == "still: velocity 0 0 0" and ", then " in names[6]
    for clip in (data[0], data[13]):
        assert clip.conditions.policy == "still" and len(clip) == 60
        assert clip.conditions.gains.keys() == dict(policy.contract.gains).keys()
        assert {*BASE, "sim_q", "sim_base_pos", "dq", "torque"} <= clip.channels.keys()
        assert not np.array_equal(clip.q, clip.channels["sim_q"])
    assert data[6].provenance["command_changes"] == [0.6]
    assert (data[0].conditions.unit, data[7].conditions.unit) == ("1", "2")


def test_replicas_play_what_the_policy_commanded(made: Collection) -> None:
    """From the same start, in the nominal robot."""
    clip = made.dataset()[4]
    assert clip.target is not None
    start = in_robot_order(clip, Robot.load("go2", mount="free")).state[:1]
    world = MujocoWorld(Robot.load("go2", mount="free"), 50, physics_step=0.005)
    again = world.rollout(start, clip.target[None, :10], conditions=[clip.conditions])
    np.testing.assert_allclose(clip.channels["sim_q"][:10], again.q[0, :10], atol=0.03)


def test_killed_and_resumed_to_the_same_bytes(
    made: Collection, planned: dict[str, Any], tmp_path: Path
) -> None:
    """kill -9 between two batches, then the same call."""
    out = tmp_path / "out"
    script = f"""
        import os, signal
        from gapless.collection import CollectionPlan, card, collect
        card.draw = lambda *_: None

        def die(now):
            if now.done >= 6:
                os.kill(os.getpid(), signal.SIGKILL)

        collect(CollectionPlan(**{planned!r}), {str(out)!r}, watch=die)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -9 and not (out / "collection.json").exists()
    collect(CollectionPlan(**planned), out)
    assert content(out) == content(made.path)


def test_a_sequence_is_the_same_in_any_batch(
    made: Collection, planned: dict[str, Any], tmp_path: Path
) -> None:
    """Its start and the noise of its sensors are its own."""
    other = collect(CollectionPlan(**planned | {"batch": 64}), tmp_path / "out").dataset()
    for clip, same in zip(made.dataset(), other, strict=True):
        np.testing.assert_array_equal(clip.q, same.q)


def test_without_a_base_nothing_of_it_is_logged(planned: dict[str, Any], tmp_path: Path) -> None:
    """Encoders, commands and torques alone, as most owners have."""
    plan = CollectionPlan(**planned | {"units": (1,), "base": False, "commands": ((0.5, 0, 0),)})
    (clip,) = collect(plan, tmp_path / "out").dataset()
    assert clip.name == "velocity 0.5 0 0"
    assert not [name for name in clip.channels if "base" in name or "imu" in name]


def test_a_walk_that_falls_is_kept_up_to_its_fall(
    planned: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says so."""
    plan = CollectionPlan(**planned | {"units": (1,), "batch": 64})
    looks = iter(range(1, 61))
    monkeypatch.setattr(
        policy_episodes,
        "fallen",
        lambda state, *_: (np.arange(len(state)) == 0) & (next(looks) == 55),
    )
    found = collect(plan, tmp_path / "out").dataset()
    assert [len(clip) for clip in found] == [54, *[60] * 6]
    assert found[0].provenance["fell"] == 1.1 and "fell" not in found[1].provenance


def test_command_and_python_record_the_same(planned: dict[str, Any], tmp_path: Path) -> None:
    """Byte for byte; other options for a folder that was begun are refused."""
    options = ["--robot", "go2", "--policy", planned["policy"], "--seconds", "1.2"]
    options += ["--command", "0.5,0,0", "0.2,0,0,0,0,0.4", "--no-base", "--physics-step", "0.005"]
    assert main(["collect", *options, "--out", str(tmp_path / "typed")]) == 0
    plan = CollectionPlan(
        robot="go2",
        policy=planned["policy"],
        commands=((0.5, 0, 0), (0.2, 0, 0, 0, 0, 0.4)),
        base=False,
        seconds=1.2,
        physics_step=0.005,
    )
    collect(plan, tmp_path / "called")
    typed, called = content(tmp_path / "typed/fit"), content(tmp_path / "called/fit")
    assert typed == called
    assert json.loads((tmp_path / "called/collection.json").read_text())["motions"] == {
        "command": 2
    }
    with pytest.raises(ArtifactError, match="base was False and is now True"):
        collect(CollectionPlan(**{**vars(plan), "base": True}), tmp_path / "called")


def test_a_log_without_the_base_may_have_an_imu(planned: dict[str, Any], tmp_path: Path) -> None:
    """Orientation and turning rate, as the sensors of the base say them, by the names of an IMU."""
    few = planned | {"units": (1,), "seconds": 1.2}
    logged = collect(CollectionPlan(**few), tmp_path / "base").dataset()[0]
    seen = collect(CollectionPlan(**few, base=False, imu=True), tmp_path / "imu").dataset()[0]
    bare = collect(CollectionPlan(**few, base=False), tmp_path / "bare").dataset()[0]
    assert set(seen.channels) - set(bare.channels) == {"imu_quat_wxyz", "imu_gyro"}
    assert not any("base" in channel for channel in {*seen.channels, *bare.channels})
    for mine, theirs in (("imu_quat_wxyz", "base_quat_wxyz"), ("imu_gyro", "base_ang_vel_b")):
        np.testing.assert_array_equal(seen.channels[mine], logged.channels[theirs])


def test_another_network_does_not_go_on_with_a_collection(
    planned: dict[str, Any], tmp_path: Path
) -> None:
    """The fingerprint is of the weights too."""
    before = choose_walks(CollectionPlan(**planned)).fingerprint()
    other = write_policy(tmp_path, action=0.1)
    after = choose_walks(CollectionPlan(**planned | {"policy": str(other)})).fingerprint()
    assert before != after


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"imu": True}, "give --no-base with it"),
        ({"rates": (100,)}, "give --rates 50"),
        ({"mount": "fixed"}, "--mount free"),
        ({"motions": ("chirp",)}, "leave out --motions"),
        ({"policy": None}, "--levels, --motions or --policy"),
        ({"policy": None, "levels": ("per_joint",), "base": False}, "are of walks"),
        ({"commands": ((0.5,),)}, "3 numbers"),
        ({"commands": ((0.5, 0, 0), (0.5, 0, 0))}, "name each command once"),
    ],
)
def test_mistakes_are_named(planned: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    """With what to type instead."""
    with pytest.raises(DataError, match=said):
        choose_walks(CollectionPlan(**planned | changes))
