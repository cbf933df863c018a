"""The Gap: means over clips, groups, tables, JSON, pictures, what is left out."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError, NameMismatchError
from gapless.measurement import Gap, measure
from gapless.measurement.gap import Mean
from gapless.recordings import Conditions, Dataset
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record


@pytest.fixture(scope="module")
def weak(arms: Robot) -> MujocoWorld:
    """A simulator with 80 % of the gains."""
    return MujocoWorld(arms.with_joints(kp=0.8 * arms.joints.kp))


@pytest.fixture(scope="module")
def gap(clips: list[Recording], weak: MujocoWorld) -> Gap:
    """Two unloaded clips of unit a and one of unit b, carrying something unknown."""
    told = [Conditions(unit="a", payloads={})] * 2 + [Conditions(unit="b", payloads=None)]
    named = [replace(c, conditions=t) for c, t in zip(clips, told, strict=True)]
    return measure(named, weak, horizons=[0.25, "full"], attribution=True)


def test_a_gap_is_read_back(gap: Gap, clips: list[Recording], arms: Robot, tmp_path: Path) -> None:
    """From its dict and from its file, with NaNs, attribution and joints that have no error."""
    gap.to_json(tmp_path / "gap.json")
    stuck = [replace(c, mask=c.mask & (np.arange(c.mask.shape[1]) > 0)) for c in clips[:2]]
    one_masked = measure(stuck, MujocoWorld(arms), horizons=["full"], attribution=True)
    read = json.loads((tmp_path / "gap.json").read_text())
    for before, data in ((gap, gap.to_dict()), (gap, read), (one_masked, one_masked.to_dict())):
        after = Gap.from_dict(data)
        assert after.to_dict() == before.to_dict() and str(after) == str(before)
        assert after.identity == before.identity and after.horizons == before.horizons
        for one, other in zip(after.clips, before.clips, strict=True):
            np.testing.assert_array_equal(one.joints["mpjae"], other.joints["mpjae"])
            np.testing.assert_array_equal(one.offsets, other.offsets)
        assert after.attribution and before.attribution
        assert after.attribution.ranking == before.attribution.ranking
        np.testing.assert_array_equal(after.attribution.share, before.attribution.share)
    plain = replace(gap, attribution=None)
    assert Gap.from_dict(plain.to_dict()).attribution is None


@pytest.mark.parametrize("data", [None, [], {}, {"clips": 3}, {"identity": {}, "joints": []}])
def test_what_is_no_gap_is_refused(data: object) -> None:
    """By name, and with what was expected."""
    with pytest.raises(FormatError, match=r"my.json is no gap.*gapless measure --json"):
        Gap.from_dict(data, "my.json")


def test_mean_and_interval_by_hand() -> None:
    """1, 2, 3: mean 2, standard error 1/sqrt(3), t of two degrees of freedom 4.303."""
    found = Mean.of([1.0, 2.0, 3.0, math.nan])
    assert (found.value, found.clips) == (2.0, 3)
    assert found.half_width == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    assert math.isnan(Mean.of([5.0]).half_width)
    assert Mean.of([]).clips == 0


def test_means_are_over_clips_and_groups_are_parts_of_them(gap: Gap) -> None:
    """Two units, two payload labels, three motions; their weighted means are the whole."""
    units = gap.by("unit", "mpjae", "full")
    assert {n: m.clips for n, m in units.items()} == {"a": 2, "b": 1}
    assert set(gap.by("payload", "mpjae", "full")) == {"0 kg", "unknown"}
    whole = gap.mean("mpjae", "full").value
    assert whole == pytest.approx((2 * units["a"].value + units["b"].value) / 3)
    assert gap.joint("mpjae", "full").mean() == pytest.approx(whole)


def test_a_fixed_base_has_the_same_error_with_and_without_root(gap: Gap) -> None:
    """E_g-mpjpe equals E_mpjpe where the root cannot move, and there is no root velocity."""
    one, other = gap.mean("e_g_mpjpe", "full"), gap.mean("e_mpjpe", "full")
    assert one.value == other.value > 0
    assert gap.mean("root_vel", "full").clips == 0


def test_wrong_names_are_answered(gap: Gap) -> None:
    """Metric, group and horizon."""
    for call in (
        lambda: gap.mean("mpjea", "full"),
        lambda: gap.by("units", "mpjae", "full"),
        lambda: gap.at(0.3),
    ):
        with pytest.raises(NameMismatchError, match="Known"):
            call()


def test_json_is_strict_and_complete(gap: Gap, tmp_path: Path) -> None:
    """No NaN, every clip, the identity and the causes."""
    gap.to_json(tmp_path / "gap.json")
    text = (tmp_path / "gap.json").read_text()
    assert "NaN" not in text
    found = json.loads(text)
    assert len(found["clips"]) == 6
    assert found["identity"]["key"] == gap.identity.key
    assert found["attribution"]["overall"]["gain error"] > 0.9


def test_it_prints_tables_and_draws_a_picture(gap: Gap, tmp_path: Path) -> None:
    """The same figures for people."""
    text = str(gap)
    for title in ("Gap by horizon", "Gap by joint", "Gap by unit", "Likely causes"):
        assert title in text
    assert gap.plot(tmp_path / "gap.png").stat().st_size > 10_000
    assert [p.name for p in tmp_path.iterdir()] == ["gap.png"]


def test_hostile_names_are_printed_as_they_are(clips: list[Recording], weak: MujocoWorld) -> None:
    """Markup in a motion's name neither breaks nor colours the table."""
    names = ["[/red]x", "[bold]y[/bold]"]
    hostile = [replace(c, name=n) for c, n in zip(clips, names, strict=False)]
    text = str(measure(hostile, weak, horizons=["full"]))
    assert "[/red]x" in text
    assert "[bold]y[/bold]" in text


def test_a_dataset_on_disk_gives_the_same_gap(
    clips: list[Recording], weak: MujocoWorld, tmp_path: Path
) -> None:
    """Streaming from files equals recordings in memory, to the precision of the store."""
    Dataset.from_recordings(clips, "g1").save(tmp_path / "data")
    there = measure(Dataset.open(tmp_path / "data"), weak, horizons=[0.5])
    here = measure(clips, weak, horizons=[0.5])
    assert there.mean("mpjae", 0.5).value == pytest.approx(here.mean("mpjae", 0.5).value, rel=1e-4)


def test_groups_of_recordings_do_not_change_the_numbers(
    clips: list[Recording], weak: MujocoWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One recording at a time or all together: the same figures."""
    together = measure(clips, weak, horizons=[0.5]).to_dict()
    monkeypatch.setattr(sys.modules["gapless.measurement.measuring"], "GROUP_FRAMES", 1)
    assert measure(clips, weak, horizons=[0.5]).to_dict() == together


def test_flagged_recordings_are_left_out_and_said(
    clips: list[Recording], weak: MujocoWorld
) -> None:
    """What the import found unfit is measured only when asked for."""
    flagged = replace(clips[0], name="blocked", provenance={"flags": ["not_followed"]})
    gap = measure([flagged, clips[1]], weak, horizons=["full"])
    assert [c.name for c in gap.clips] == ["motion_1"]
    assert any("blocked" in line for line in gap.skipped)
    both = measure([flagged, clips[1]], weak, horizons=["full"], include_flagged=True)
    assert len(both.clips) == 2
    with pytest.raises(DataError, match="flagged"):
        measure([flagged], weak)


def test_short_clips_say_what_could_not_be_computed(
    clips: list[Recording], weak: MujocoWorld
) -> None:
    """A clip of 0.3 s has no window of 1 s and no causes; the rest is measured."""
    gap = measure([clips[0].clip(50, 65)], weak, horizons=[0.25, 1.0], attribution=True)
    assert gap.horizons == (0.25,)
    assert gap.attribution is None
    assert any("1 s" in line for line in gap.skipped)
    assert any("likely causes" in line for line in gap.skipped)


def test_torque_error_knows_delay_and_effects(arms: Robot) -> None:
    """A world that is its own robot has no torque error, delay and backlash included."""
    world = MujocoWorld(arms, effects=Effects(delay=0.06, backlash=0.02))
    start = world.home()
    motion = start.q + 0.2 * np.sin(np.arange(100)[:, None] / 8)
    clip = record(world, motion, "m", start=start)
    (found,) = measure([clip], world, horizons=["full"]).clips
    assert np.nanmax(found.joints["torque_rmse"]) < 1e-6


def test_logged_gains_and_payloads_are_replayed(arms: Robot, clips: list[Recording]) -> None:
    """A recording that states its load and gains has no gap in a world that can carry them."""
    loads = {arms.end_effectors[0].body: Payload(1.0)}
    gains = {"left_elbow_joint": (30.0, 2.0)}
    real = MujocoWorld(arms.with_payloads(loads).with_gains(gains))
    clip = record(real, clips[0].target, "m", start=real.home())
    told = replace(clip, conditions=Conditions(payloads=loads, gains=gains))
    untold = replace(clip, conditions=Conditions())
    world = MujocoWorld(arms)
    assert measure([told], world, horizons=["full"]).mean("mpjae", "full").value < 1e-9
    assert measure([untold], world, horizons=["full"]).mean("mpjae", "full").value > 0.01


def test_velocity_commands_and_feed_forward_are_replayed(
    arms: Robot, clips: list[Recording]
) -> None:
    """kd·target_dq + torque_ff acts as the extra torque it is."""
    world, target = MujocoWorld(arms), clips[0].target
    target_dq = np.gradient(target, axis=0) * 50
    torque_ff = np.full_like(target, 0.3)
    extra = arms.joints.kd * target_dq + torque_ff
    played = world.rollout(world.home(), target[None], torques=extra[None])
    real = replace(
        clips[0],
        q=played.q[0, :-1],
        channels={"dq": played.dq[0, :-1], "target_dq": target_dq, "torque_ff": torque_ff},
    )
    assert measure([real], world, horizons=["full"]).mean("mpjae", "full").value < 1e-6


def test_world_errors_are_left_out_where_the_base_is_an_estimate() -> None:
    """It is good enough to start from, not to be judged against."""
    robot = Robot.load("go2", mount="free")
    world = MujocoWorld(robot)
    hold = np.repeat(robot.joints.default[None], 40, axis=0)
    clip = record(world, hold, "stand", start=world.home())
    for kept in ({}, {"imu_quat_wxyz": clip.channels["base_quat_wxyz"]}):
        gap = measure([replace(clip, channels=kept)], world, horizons=[0.25])
        assert gap.mean("e_g_mpjpe", 0.25).clips == 0
        assert gap.mean("e_mpjpe", 0.25).clips == 1
