"""Episodes of a motion: what is seen, what is commanded, how they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tracking_tasks import N, begun, on_course, task_of

from gapless.learning.world_vec_env import WorldVecEnv
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.tracking.curricula import Curricula
from gapless.tracking.reference_starts import StartNoise
from gapless.tracking.tracking_rewards import ASAP
from gapless.tracking.tracking_task import FELL, SensorNoise, TrackingTask
from gapless.worlds import MujocoWorld
from gapless.worlds.world import State
from pendulum import swings


def test_sizes_are_those_of_asap(walker: Robot, frames: MotionFrames) -> None:
    """380 numbers for the policy, 177 more for its critic, one action a joint."""
    task = task_of(frames, walker)
    begun(task)
    seen = task.observations()
    assert seen["policy"].shape == (N, 380)
    assert seen["privileged"].shape == (N, 177)
    assert (task.num_actions, task.max_episode_length) == (23, 50)


def test_a_held_robot_sees_no_base(rod: Robot) -> None:
    """Nor does its critic."""
    frames = MotionFrames.of(swings(), rod)
    task = task_of(frames, rod)
    begun(task)
    seen = task.observations()
    # action, position, velocity now; the same and the phase of four moments; the phase now
    assert seen["policy"].shape == (N, 3 + 4 * 4 + 1)
    assert seen["privileged"].shape == (N, 2 * 3 * len(frames.names))


def test_the_critic_sees_the_way_to_the_reference(walker: Robot, frames: MotionFrames) -> None:
    """Turned into the heading of the base; five velocities of it, the newest first."""
    task = task_of(frames, walker)
    state = begun(task)
    seen = task.observations()["privileged"]
    np.testing.assert_allclose(seen[:, :3], 2 * state.base_lin_vel_w, atol=1e-2)
    assert not seen[:, 3:15].any()
    np.testing.assert_allclose(seen[:, 15 : 15 + 81], 0, atol=1e-9)
    first = seen[:, :3].copy()
    task.command(np.zeros((N, 23)), True)
    aside = on_course(frames, 1)
    aside = replace(aside, base_pos=aside.base_pos + np.array([0.1, 0.0, 0.0]))
    task.reward(aside, np.zeros(N, bool))
    task.look(aside, np.zeros(N, bool))
    seen = task.observations()["privileged"]
    np.testing.assert_allclose(seen[:, 3:6], first)
    away = seen[:, 15 : 15 + 81].reshape(N, 27, 3)
    np.testing.assert_allclose(np.linalg.norm(away, axis=-1), 0.1, atol=1e-9)
    assert (away[..., 0] < -0.099).all()


def test_on_course_nothing_ends_and_the_error_is_nothing(
    walker: Robot, frames: MotionFrames
) -> None:
    """A step is then worth about all that ASAP gives, times the control step."""
    task = task_of(frames, walker)
    begun(task)
    task.command(np.zeros((N, 23)), True)
    gained = task.reward(on_course(frames, 1), np.zeros(N, bool))
    most = (sum(w for w in ASAP.values() if w > 0) + 0.5) / 50
    assert (0.9 * most < gained).all() and (gained <= most).all()
    assert not task.terminated().any() and not task.expired().any()
    np.testing.assert_allclose(task.distance, 0, atol=1e-12)
    assert task.figures()["error_mm"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("way", ["tipped", "far"])
def test_a_fall_terminates(way: str, walker: Robot, frames: MotionFrames) -> None:
    """Gravity across the trunk, or a body too far from its reference; only in its own row."""
    task = task_of(frames, walker, curricula=Curricula(distance=0.5))
    begun(task)
    task.command(np.zeros((N, 23)), True)
    state = on_course(frames, 1)
    fallen = state.map(np.copy)
    if way == "tipped":
        fallen.base_quat_wxyz[2] = [np.cos(0.5), np.sin(0.5), 0, 0]
    else:
        fallen.base_pos[2] += [0.6, 0, 0]
    gained = task.reward(fallen, np.zeros(N, bool))
    assert task.terminated().tolist() == [False, False, True, False]
    assert not task.expired().any()
    assert gained[2] < gained[0] + 0.9 * FELL / 50
    assert task.starts.failures[0] > 0


def test_a_row_that_diverged_has_finite_figures(walker: Robot, frames: MotionFrames) -> None:
    """It terminates; its neighbours are worth what they would be."""
    task, twin = task_of(frames, walker), task_of(frames, walker)
    state, lost = on_course(frames, 1), np.array([False, True, False, False])
    for one in (task, twin):
        begun(one)
        one.command(np.zeros((N, 23)), True)
    broken = state.map(lambda a: np.where(lost[:, None], np.nan, a))
    gained, wanted = task.reward(broken, lost), twin.reward(state, np.zeros(N, bool))
    assert np.isfinite(gained).all() and np.isfinite(list(task.figures().values())).all()
    assert task.terminated().tolist() == lost.tolist()
    np.testing.assert_array_equal(gained[~lost], wanted[~lost])
    task.look(state, lost)
    assert np.isfinite(task.observed).all()
    assert all(np.isfinite(seen).all() for seen in task.observations().values())


def test_all_rows_may_diverge_at_once(walker: Robot, frames: MotionFrames) -> None:
    """Then there is no error to tell, and no warning."""
    task = task_of(frames, walker)
    state = begun(task)
    task.command(np.zeros((N, 23)), True)
    blank = replace(state, torque=state.q).map(lambda a: np.full_like(a, np.nan))
    assert np.isfinite(task.reward(blank, np.ones(N, bool))).all()
    assert task.terminated().all() and np.isnan(task.figures()["error_mm"])


def test_the_end_of_the_motion_is_a_time_out(rod: Robot) -> None:
    """Wherever in it an episode began; the next begins at once."""
    frames = MotionFrames.of(swings(0.5), rod)
    task = task_of(frames, rod, where="anywhere", environments=8)
    env = WorldVecEnv(MujocoWorld(rod, physics_step=0.01), task, 8)
    env.begin(0)
    env.episode_length_buf = torch.zeros(8, dtype=torch.long)
    left = len(frames) - 1 - task._frame
    for step in range(1, left.max() + 1):
        _, reward, done, extras = env.step(torch.zeros(8, 1))
        ends = left == step
        assert done.numpy()[ends].all() and extras["time_outs"].numpy()[ends].all()
        assert not extras["time_outs"].numpy()[left > step].any()
        assert torch.isfinite(reward).all()


def test_rows_that_begin_anew_have_no_past(walker: Robot, frames: MotionFrames) -> None:
    """Their four moments are blank again; the others' go on."""
    task = task_of(frames, walker)
    world = MujocoWorld(walker, physics_step=0.005)
    state = begun(task)
    world.reset(state)
    for _ in range(3):
        state = world.step(task.command(np.full((N, 23), 0.1), True).target)
        task.reward(state, world.health.diverged)
        task.look(state, np.zeros(N, bool))
    past = slice(23 + 3 + 23 + 23, 376)
    assert task.observed[:, past].any(axis=1).all()
    rows = np.array([0, 2])
    state = state.with_rows(rows, task.begin(rows).state)
    task.look(state, np.isin(np.arange(N), rows))
    assert task.observed[:, past].any(axis=1).tolist() == [False, True, False, True]
    assert not task.observed[rows, :23].any() and task.observed[1, :23].all()


def test_what_is_drawn_depends_on_the_draw_and_the_seed(
    walker: Robot, frames: MotionFrames
) -> None:
    """So that a resumed training draws the same."""
    noise = {"where": "anywhere", "starts": StartNoise()}
    task, other = task_of(frames, walker, **noise), task_of(frames, walker, seed=1, **noise)

    def first(of: TrackingTask, draw: int) -> np.ndarray:
        of.renew(draw)
        return begun(of).q

    one = first(task, 0)
    assert (first(task, 1) != one).any() and (first(other, 0) != one).any()
    np.testing.assert_array_equal(first(task, 0), one)


def test_sensors_err_within_their_bounds(walker: Robot, frames: MotionFrames) -> None:
    """What is seen does; what a step is worth does not."""
    size = SensorNoise()
    clear, noisy = task_of(frames, walker), task_of(frames, walker, sensors=size)
    for task in (clear, noisy):
        begun(task)
    off = np.abs(noisy.observed - clear.observed)
    parts = {"spin": (slice(23, 26), 0.25), "joint": (slice(26, 49), 1.0)}
    parts |= {"joint_speed": (slice(49, 72), 0.05), "tilt": (slice(376, 379), 1.0)}
    for name, (columns, scale) in parts.items():
        bound = scale * getattr(size, name)
        assert 0.2 * bound < off[:, columns].max() <= bound * (1.5 if name == "tilt" else 1 + 1e-9)
    for task in (clear, noisy):
        task.command(np.zeros((N, 23)), True)
    gained = [t.reward(on_course(frames, 1), np.zeros(N, bool)) for t in (clear, noisy)]
    np.testing.assert_array_equal(*gained)
    np.testing.assert_array_equal(clear.observations()["privileged"].shape, (N, 177))


def test_pushes_come_now_and_then(walker: Robot, frames: MotionFrames) -> None:
    """Level, of the speed that was asked for, as often; none by default."""
    assert task_of(frames, walker).command(np.zeros((N, 23)), True).push is None
    task = task_of(frames, walker, push=0.7, push_every=0.2, environments=2000)
    given = task.command(np.zeros((2000, 23)), True).push
    speed = np.linalg.norm(given, axis=1)
    assert 0.07 < (speed > 0).mean() < 0.13  # one step in ten
    np.testing.assert_allclose(speed[speed > 0], 0.7)
    assert not given[:, 2].any()


def test_noise_of_actions_moves_targets_alone(walker: Robot, frames: MotionFrames) -> None:
    """The policy still sees what it did."""
    task = task_of(frames, walker, action_noise=0.05)
    begun(task)
    sent = task.command(np.zeros((N, 23)), True).target
    off = np.abs(sent - frames.state.q[0])
    assert 0.04 < off.max() <= 0.05 + 1e-12
    task.look(on_course(frames, 0), np.zeros(N, bool))
    assert not task.observed[:, :23].any()


def test_rewards_look_at_the_truth(walker: Robot, frames: MotionFrames) -> None:
    """What sensors say of a hidden robot is not where it is."""

    def truth(seen: State) -> State:
        return replace(seen, base_pos=seen.base_pos + np.array([0.0, 0.1, 0.0]))

    task = task_of(frames, walker, truth=truth)
    begun(task)
    task.command(np.zeros((N, 23)), True)
    task.reward(on_course(frames, 1), np.zeros(N, bool))
    np.testing.assert_allclose(task.distance, 0.1)


def test_what_lasts_beyond_a_round_is_kept(walker: Robot, frames: MotionFrames) -> None:
    """Curricula and failures; not the episodes."""
    task, again = task_of(frames, walker, where="failures"), task_of(frames, walker)
    begun(task)
    task.command(np.zeros((N, 23)), True)
    far = on_course(frames, 1)
    task.reward(replace(far, base_pos=far.base_pos + 9.0), np.zeros(N, bool))
    task.renew(1)
    again.restore(task.arrays())
    assert again.curricula == task.curricula and again.curricula != Curricula()
    np.testing.assert_array_equal(again.starts.failures, task.starts.failures)


def test_late_starts_do_not_count_as_short_episodes(rod: Robot) -> None:
    """An episode that comes to the end of the motion lasted, however late it began."""
    frames = MotionFrames.of(swings(), rod)
    task = task_of(frames, rod, where="anywhere", curricula=Curricula(target=20.0))
    begun(task)
    task._frame[:] = len(frames) - 2
    task.command(np.zeros((N, 1)), True)
    task.reward(on_course(frames, len(frames) - 1), np.zeros(N, bool))
    assert task.expired().all()
    assert task.curricula.length == pytest.approx(N / 1000 * 21)
