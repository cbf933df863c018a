"""Episodes of PPO: where they begin, what they carry, what they see, what they are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.replay_env import Replays
from gapless.corrections.training.rewards import Asap, Gaponet
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, recorded

ENVIRONMENTS = 8


@pytest.fixture(scope="module")
def pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"])


@pytest.fixture(scope="module")
def loads(pair) -> list[Recording]:
    """The same motion of the nominal robot without a load and with 0.3 kg, which the log says."""
    clean = {"noise": 0.0, "seconds": 3.0}
    full = pair.with_payloads({"gripper": Payload(0.3)})
    said = {"gripper": Payload(0.3)}
    return [
        *recorded(pair, ["light"], payloads={}, **clean),
        *recorded(full, ["heavy"], payloads=said, **clean),
    ]


def replays(pair: Robot, recordings: list[Recording], **choices: object) -> Replays:
    """An environment of the nominal robot."""
    clips = bool(choices.pop("clips", False))
    world = MujocoWorld(pair, 50, physics_step=STEP)
    task = Task(world, recordings, recordings, horizon=0.4)
    contract = contract_for(world, 50, **{"model": "mlp", **choices})
    return Replays(task, untrained(contract, task), Gaponet(), ENVIRONMENTS, clips)


def nothing(env: Replays) -> torch.Tensor:
    """Actions that correct nothing."""
    return torch.zeros(ENVIRONMENTS, env.num_actions)


def test_episodes_begin_at_recorded_states(pair, loads):
    """Every environment stands at the start of its window, with the targets before it."""
    env = replays(pair, loads)
    env.begin(0)
    windows, chosen = env.episodes._windows, env.episodes._window
    assert np.array_equal(env.episodes._state.q, windows.start.q[chosen])
    assert np.array_equal(env.episodes._now["target"], windows.targets[chosen, windows.before])


def test_the_recorded_robot_loses_nothing(pair, loads):
    """Where the world is the robot, with the load of each recording, following costs nothing."""
    env = replays(pair, loads)
    env.begin(0)
    worst = 0.0
    for _ in range(45):
        _, reward, _, _ = env.step(nothing(env))
        worst = min(worst, float(reward.min()))
    assert len(set(env.episodes._payloads[env.episodes._window].ravel())) == 2
    # Velocities are differenced from positions: not exactly what the world has.
    assert worst > -0.03


def test_the_load_is_that_of_the_recording(pair, loads):
    """With the loads of the two recordings exchanged, following costs a lot more."""
    told = [r.conditions for r in loads]
    crossed = [replace(r, conditions=c) for r, c in zip(loads, reversed(told), strict=True)]
    env = replays(pair, crossed)
    env.begin(0)
    rewards = [float(env.step(nothing(env))[1].mean()) for _ in range(20)]
    assert min(rewards) < -0.05


def test_episodes_end_in_time_outs_and_begin_anew(pair, loads):
    """After its steps an episode ends as a time-out, and another window begins."""
    env = replays(pair, loads)
    env.begin(0)
    ended = np.zeros(ENVIRONMENTS, int)
    for _ in range(2 * env.max_episode_length):
        _, _, done, extras = env.step(nothing(env))
        assert torch.equal(done, extras["time_outs"])
        ended += done.numpy()
        assert (env.episodes._at[done.numpy()] == 0).all()
    assert (ended >= 1).all() and (ended <= 3).all()


def test_clips_begin_anywhere_and_end_at_the_end(pair, loads):
    """Episodes of whole clips are longer than windows, and begin in the middle too."""
    env = replays(pair, loads, clips=True)
    env.begin(0)
    assert env.max_episode_length > 100
    assert len(set(env.episodes._at)) > ENVIRONMENTS // 2
    for _ in range(30):
        env.step(nothing(env))


def test_the_actor_sees_what_the_correction_sees(pair, loads):
    """Observed inputs give, in the network, what the correction gives in a corrected world."""
    env = replays(pair, loads, rate_limit=0.2)
    env.begin(0)
    correction = _lively(env.correction)
    memory = correction.begun(env.episodes._signals())
    for _ in range(6):
        obs, now = env.get_observations(), env.episodes._signals()
        model, given = env.episodes._network.model, {"all": obs["all"].numpy()}
        raw = model(correction.weights, given, None)[0][0]
        acted = correction.act(now, memory)
        memory = acted.memory
        env.step(torch.as_tensor(raw))
        going = env.episodes._at > 0
        assert np.allclose(env.episodes._outputs[0][going], acted.output[going], atol=1e-5)
        memory = memory.renewed(~going, correction.begun(env.episodes._signals()))


def _lively(correction: Correction) -> Correction:
    rng = np.random.default_rng(0)
    drawn = {k: v + rng.normal(0, 0.1, v.shape) for k, v in correction.weights.items()}
    kept = {k: v if k.startswith("mlp") else correction.weights[k] for k, v in drawn.items()}
    return correction.with_weights(kept)


def test_an_output_is_held(pair, loads):
    """With a hold of three, one action lasts three control steps."""
    env = replays(pair, loads, hold=3)
    env.begin(0)
    at = env.episodes._at.copy()
    env.step(nothing(env) + 0.1)
    going = env.episodes._at > 0
    assert (env.episodes._at[going] == at[going] + 3).all()
    assert np.allclose(env.episodes._outputs[0], env.episodes._outputs[2])


def test_torques_are_added(pair, loads):
    """A torque moves the joint that it acts on."""
    env = replays(pair, loads, head="torque")
    env.begin(0)
    reached = []
    for sign in (0.0, 1.0):
        env.begin(0)
        for _ in range(3):
            env.step(nothing(env) + sign * torch.tensor([0.0, 0.5]))
        reached.append(env.episodes._state.q.copy())
    alike = env.episodes._at == 3
    assert alike.any() and (reached[1] > reached[0] + 1e-4)[alike, 1].all()


def test_a_free_robot_is_followed_too():
    """A standing humanoid that is its own recording earns what ASAP gives for a perfect step."""
    robot = Robot.load("g1_23dof")
    world = MujocoWorld(robot, 50)
    home = np.tile(robot.joints.default, (20, 1))
    clip = record(world, home, "stand", start=world.home())
    task = Task(world, [clip], [clip], horizon=0.1)
    contract = contract_for(world, 50, model="mlp", settings={"now": ("q", "gravity", "error")})
    env = Replays(task, untrained(contract, task), Asap(q_limit=0.0), 2)
    env.begin(0)
    perfect = (1.5 + 1 + 1 + 5 * 0.5) / 50
    for _ in range(3):
        obs, reward, _, _ = env.step(torch.zeros(2, env.num_actions))
        assert np.allclose(reward, perfect, rtol=0.02)
    assert obs["beyond"].shape == (2, 2 * (6 + 23) + 1)
