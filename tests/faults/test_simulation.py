"""Faults 25-34: what goes wrong in simulation is marked, counted and said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, SimulationError
from gapless.measurement import measure
from gapless.measurement.replay import replay
from gapless.measurement.spans import FULL
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record


def runaway(robot: Robot) -> MujocoWorld:
    """A controller that pumps energy in: huge gains, no damping, a coarse step."""
    wild = robot.with_joints(kp=1e9, kd=0.0, effort=np.inf, armature=0.0, damping=0.0)
    return MujocoWorld(wild, physics_step=0.02)


def pushed(world: MujocoWorld, environments: int = 2) -> np.ndarray:
    """Targets away from home, so that something happens."""
    return np.repeat(world.home(environments).q[:, None] + 0.3, 40, axis=1)


def test_case_25_a_diverged_copy_is_marked_and_never_reset(arms: Robot) -> None:
    """MuJoCo would put a NaN state back to zero and go on; here its samples become invalid."""
    world = runaway(arms)
    played = world.rollout(world.home(2), pushed(world))
    assert played.valid[:, 0].all()
    assert not played.valid[:, -1].any()
    first = played.valid.argmin(axis=1)
    assert not any(played.valid[i, first[i] :].any() for i in range(2))


def test_case_25_step_reports_who_diverged_and_when(arms: Robot) -> None:
    """`health` names the copy and the time, and the copy stays where it was."""
    world = runaway(arms)
    world.reset(world.home(2))
    for _ in range(40):
        state = world.step(world.home(2).q + 0.3)
    assert world.health.diverged.all()
    assert (world.health.at >= 0).all()
    assert np.isfinite(state.q).all()


def test_case_25_one_wild_copy_does_not_touch_its_neighbours(arms: Robot) -> None:
    """An environment thrown in at an absurd speed diverges alone."""
    world = MujocoWorld(arms)
    start = world.home(3)
    dq = start.dq.copy()
    dq[1] = 1e5
    calm = world.rollout(start, pushed(world, 3))
    mixed = world.rollout(replace(start, dq=dq), pushed(world, 3))
    np.testing.assert_array_equal(mixed.q[[0, 2]], calm.q[[0, 2]])
    assert mixed.valid[[0, 2]].all()


def test_case_26_nan_commands_are_refused_before_the_engine_sees_them(arms: Robot) -> None:
    """MuJoCo would zero them silently; the error names the joint."""
    world = MujocoWorld(arms)
    targets = pushed(world)
    targets[0, 3, 4] = np.nan
    with pytest.raises(DataError, match=arms.joints.names[4]):
        world.rollout(world.home(2), targets)
    world.reset(world.home(2))
    with pytest.raises(DataError, match=arms.joints.names[4]):
        world.step(targets[:, 3])


def test_case_26_nan_starts_are_refused(arms: Robot) -> None:
    """A start state that is not finite is no start."""
    world = MujocoWorld(arms)
    start = world.home(1)
    with pytest.raises(DataError, match="not finite"):
        world.rollout(replace(start, q=start.q * np.nan), pushed(world, 1))


def test_case_27_the_frozen_tail_of_a_rollout_is_never_scored(
    arms: Robot, clips: list[Recording]
) -> None:
    """After a warning mujoco.rollout repeats the last state; those samples are unusable."""
    (played,) = replay(clips[:1], runaway(arms), FULL)
    assert played.diverged.all()
    last = played.sim.valid[0].argmin()
    assert not played.usable[0, last:].any()
    assert np.isnan(played.error[0, last:]).all()


def test_case_27_measure_counts_diverged_windows(arms: Robot, clips: list[Recording]) -> None:
    """Diverged windows appear in the figures, and success is lost."""
    gap = measure(clips[:1], runaway(arms), horizons=[0.5])
    (clip,) = gap.clips
    assert clip.diverged == clip.windows > 0
    assert clip.bodies["success"] == 0.0
    assert any("diverged" in line and "--physics-step" in line for line in gap.skipped)


def test_case_28_recording_a_diverging_world_says_when_and_what_to_try(arms: Robot) -> None:
    """The error names the motion, the time and the remedies."""
    world = runaway(arms)
    with pytest.raises(SimulationError, match=r"diverged .* s into 'wild'.*physics_step"):
        record(world, pushed(world, 1)[0], "wild", start=world.home())


def test_case_28_the_last_states_before_a_divergence_are_kept(
    arms: Robot, clips: list[Recording], tmp_path: Path
) -> None:
    """Plain named arrays, readable without pickle, ending where the states stop being valid."""
    measure(clips[:1], runaway(arms), horizons=[0.5], dump=tmp_path / "dump")
    (file,) = (tmp_path / "dump").iterdir()
    with np.load(file, allow_pickle=False) as found:
        assert found["joints"].tolist() == list(arms.joints.names)
        assert len(found["q"]) == len(found["time"]) == len(found["target"]) > 0
        assert np.isfinite(found["q"]).all()


def test_case_28_no_engine_log_is_left_in_the_users_folder(
    arms: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MuJoCo's MUJOCO_LOG.TXT is not written; warnings go to the logger."""
    monkeypatch.chdir(tmp_path)
    world = runaway(arms)
    world.rollout(world.home(2), pushed(world))
    assert list(tmp_path.iterdir()) == []


def test_case_30_numbers_of_different_simulators_are_not_compared(
    arms: Robot, clips: list[Recording]
) -> None:
    """Another step size is another simulator; the refusal says what differs."""
    fine = measure(clips[:1], MujocoWorld(arms.with_joints(kp=0.9 * arms.joints.kp)))
    coarse = measure(clips[:1], MujocoWorld(arms.with_joints(kp=0.8 * arms.joints.kp)))
    assert fine.reduction(coarse) > 0.2
    other = replace(coarse, identity=replace(coarse.identity, version="2.0.0"))
    with pytest.raises(SimulationError, match=r"version is .* here and 2\.0\.0 there"):
        fine.reduction(other)
    assert fine.reduction(other, allow_version_mismatch=True) == fine.reduction(coarse)


def test_case_33_a_fall_is_told_by_survival_not_hidden_in_means() -> None:
    """A standing robot whose commands are lost falls; short windows survive, the clip does not."""
    robot = Robot.load("g1", mount="free")
    world = MujocoWorld(robot)
    hold = np.repeat(robot.joints.default[None], 100, axis=0)
    stands = record(world, hold, "stand", start=world.home())
    still = replace(
        stands,
        q=np.repeat(stands.q[:1], 100, axis=0),
        channels={k: np.repeat(v[:1], 100, axis=0) for k, v in stands.channels.items()},
    )
    limp = MujocoWorld(robot.with_joints(kp=0.02 * robot.joints.kp))
    gap = measure([still], limp, horizons=[0.25, "full"])
    short, full = gap.at(0.25)[0].bodies, gap.at("full")[0].bodies
    assert short["success"] == 1.0
    assert full["success"] == 0.0
    assert 0.1 < full["survival_s"] < 1.9


def test_case_34_the_same_measurement_twice_is_the_same_bytes(
    arms: Robot, clips: list[Recording]
) -> None:
    """Figures are reproducible to the last bit."""
    shaky = MujocoWorld(arms.with_joints(kp=0.9 * arms.joints.kp))
    first, second = (
        json.dumps(measure(clips, shaky, attribution=True).to_dict()) for _ in range(2)
    )
    assert first == second


def test_masked_samples_never_reach_the_numbers(arms: Robot, clips: list[Recording]) -> None:
    """Garbage under a False mask changes nothing."""
    clip = clips[0]
    mask, q = clip.mask.copy(), clip.q.copy()
    mask[60:64] = False
    world = MujocoWorld(arms.with_joints(kp=0.9 * arms.joints.kp))
    clean = measure([replace(clip, mask=mask)], world)
    q[60:64] = 99.0
    dirty = measure([replace(clip, mask=mask, q=q)], world)
    assert clean.to_dict() == dirty.to_dict()
    assert clean.clips[0].masked == 4 * len(arms.joints.names)


PEGS = "".join(
    f'<geom type="box" size=".01 .01 .05" pos="{x:.2f} {y:.2f} 0" mass=".01"/>'
    for x in np.linspace(-0.2, 0.2, 6)
    for y in np.linspace(-0.2, 0.2, 6)
)
TABLE = """<mujoco model="table"><size memory="{}"/><worldbody><body name="base" pos="0 0 0.06">
<freejoint/><geom type="box" size=".05 .05 .05" mass="1"/>{}<body name="arm" pos="0 0 .06">
<joint name="swing" axis="0 1 0" range="-90 90"/>
<geom type="capsule" fromto="0 0 0 0 0 .1" size=".01" mass=".1"/></body></body></worldbody>
<actuator><position joint="swing" kp="2" kv=".1" forcerange="-3 3"/></actuator></mujoco>"""


def test_case_32_contacts_that_find_no_room_end_a_simulation(tmp_path: Path) -> None:
    """MuJoCo leaves them out and goes on; here the environment has diverged."""
    ended = {}
    for memory in ("10M", "30K"):
        file = tmp_path / f"{memory}.xml"
        file.write_text(TABLE.format(memory, PEGS))
        world = MujocoWorld(Robot.load(str(file), mount="free"), 50)
        played = world.rollout(world.home(1), np.zeros((1, 20, 1)))
        ended[memory] = bool(played.valid.all())  # type: ignore[union-attr]
    assert ended == {"10M": True, "30K": False}
