"""Replay: windows, masks, padding, names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.measurement.replay import replay
from gapless.measurement.spans import FULL, spans_of
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record


def test_the_recorded_world_reproduces_its_recording(arms: Robot, clips: list[Recording]) -> None:
    """Replay in the very world that was recorded has no gap, at any horizon."""
    world = MujocoWorld(arms)
    for horizon in (0.25, 1.0, FULL):
        for played in replay(clips, world, horizon):
            assert np.nanmax(np.abs(played.error)) < 1e-9
            assert played.usable.any()


def test_a_delayed_world_reproduces_its_recording_from_any_start(arms: Robot) -> None:
    """Targets before a window still matter to a delayed robot, and are handed over."""
    world = MujocoWorld(arms, effects=Effects(delay=0.05))
    clip = record(world, multisine(arms, 2.0, 50, seed=1), "m", start=world.home())
    (played,) = replay([clip], world, 0.25)
    assert len(played.starts) == 8
    assert np.nanmax(np.abs(played.error)) < 1e-9


def test_windows_do_not_overlap_and_cross_no_masked_frame(clips: list[Recording]) -> None:
    """A gap in the middle splits the clip; no window contains it."""
    mask = clips[0].mask.copy()
    mask[70:75] = False
    found = spans_of(replace(clips[0], mask=mask).frame_valid, 50, 0.5)
    assert found.tolist() == [[0, 25], [25, 50], [75, 100], [100, 125]]
    full = spans_of(replace(clips[0], mask=mask).frame_valid, 50, FULL)
    assert full.tolist() == [[0, 69], [75, 149]]


def test_limit_spreads_windows(clips: list[Recording]) -> None:
    """Three of the twelve, the middle of each third."""
    assert spans_of(clips[0].frame_valid, 50, 0.25, limit=3)[:, 0].tolist() == [24, 72, 120]


def test_masked_joint_is_not_scored_but_the_others_are(arms: Robot, clips: list[Recording]) -> None:
    """A joint that is declared held never counts; its neighbours do."""
    held = arms.joints.names[4]
    mask = clips[0].mask.copy()
    mask[:, 4] = False
    clip = replace(clips[0], mask=mask, conditions=Conditions(held={held: 0.0}))
    (played,) = replay([clip], MujocoWorld(arms), 0.5)
    assert not played.usable[..., 4].any()
    assert played.usable[..., 3].all()


def test_a_stuck_encoder_costs_its_own_joint_only(arms: Robot, clips: list[Recording]) -> None:
    """A joint that is masked throughout is not scored; the recording is replayed all the same."""
    mask = clips[0].mask.copy()
    mask[:, 4] = False
    (played,) = replay([replace(clips[0], mask=mask)], MujocoWorld(arms), 0.5)
    assert not played.usable[..., 4].any()
    assert played.usable[..., 3].all()


def test_frames_without_a_base_are_not_replayed() -> None:
    """A NaN in the base pose of a free robot breaks windows there, and is never scored."""
    robot = Robot.load("g1", mount="free")
    world = MujocoWorld(robot)
    hold = np.repeat(robot.joints.default[None], 40, axis=0)
    clip = record(world, hold, "stand", start=world.home())
    base = clip.channels["base_pos"].copy()
    base[20] = np.nan
    broken = replace(clip, channels={**clip.channels, "base_pos": base})
    (played,) = replay([broken], world, FULL)
    assert played.starts.tolist() == [0, 21]
    assert np.isfinite(played.real.base_pos[played.usable.any(axis=-1)]).all()


def test_padding_is_never_scored(arms: Robot, clips: list[Recording]) -> None:
    """Two stretches of different length share arrays; the shorter one's tail is unusable."""
    mask = clips[0].mask.copy()
    mask[100] = False
    (played,) = replay([replace(clips[0], mask=mask)], MujocoWorld(arms), FULL)
    assert played.usable.shape[1] == 100
    assert played.usable[1, :49].all()
    assert not played.usable[1, 49:].any()


def test_joints_are_matched_by_name(arms: Robot, clips: list[Recording]) -> None:
    """A recording with its columns in another order gives the same replay."""
    order = np.random.default_rng(0).permutation(len(arms.joints.names))
    clip = clips[0]
    shuffled = replace(
        clip,
        joints=tuple(clip.joints[i] for i in order),
        q=clip.q[:, order],
        target=clip.target[:, order],
        mask=clip.mask[:, order],
        channels={"dq": clip.channels["dq"][:, order]},
    )
    world = MujocoWorld(arms)
    (a,), (b,) = replay([clip], world, 0.5), replay([shuffled], world, 0.5)
    np.testing.assert_array_equal(a.sim.q, b.sim.q)


def test_missing_joints_are_refused_unless_declared_held(
    arms: Robot, clips: list[Recording]
) -> None:
    """The message names the joint and the way to declare it; declared, it is held."""
    clip, gone = clips[0], clips[0].joints[0]
    fewer = replace(
        clip,
        joints=clip.joints[1:],
        q=clip.q[:, 1:],
        target=clip.target[:, 1:],
        mask=clip.mask[:, 1:],
        channels={},
    )
    world = MujocoWorld(arms)
    with pytest.raises(DataError, match=rf"{gone}.*--hold default"):
        replay([fewer], world, 0.5)
    declared = replace(fewer, conditions=Conditions(held={gone: 0.1}))
    (played,) = replay([declared], world, 0.5)
    assert not played.usable[..., 0].any()
    np.testing.assert_array_equal(played.target[..., 0], 0.1)


def test_a_recording_without_commands_is_refused_with_the_way_out(
    arms: Robot, clips: list[Recording]
) -> None:
    """A reference motion can only be replayed as its own command, when asked."""
    motion = replace(clips[0], target=None)
    with pytest.raises(DataError, match="--reference-as-command"):
        replay([motion], MujocoWorld(arms), 0.5)
    as_command = motion.with_reference_as_command()
    np.testing.assert_array_equal(as_command.target[:-1], motion.q[1:])


def test_another_rate_is_refused(arms: Robot, clips: list[Recording]) -> None:
    """A recording is replayed only at its own rate."""
    with pytest.raises(DataError, match="at_rate"):
        replay(clips, MujocoWorld(arms, rate=100), 0.5)
