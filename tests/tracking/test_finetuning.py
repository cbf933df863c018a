"""A policy is trained on in another world: from its own actions, whoever made it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import gapless
import small_networks as nets
from asap_contract import asap_contract
from gapless.corrections import CorrectedWorld, Correction
from gapless.errors import DataError, GaplessError, NameMismatchError
from gapless.motions import read_motions
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.contract_json import KEY, contract_text
from gapless.policies.mlp_weights import MlpWeights, mlp_model, read_mlp
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import Ports
from gapless.progress import Progress
from gapless.robots import Robot
from gapless.tracking import tracker_training
from gapless.tracking.tracker_training import TrackerJudge, TrackerTraining
from gapless.tracking.training import FINETUNED, finetuned_in, own_contract
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.mixed_world import MixedWorld
from hidden_pair import STEP
from pendulum import swings, weakened
from quick_trackers import QUICK, TINY

STILL = replace(TINY, warm_up=9)
"""Only the critic learns."""


@pytest.fixture(scope="module")
def weak(rod: Robot) -> MujocoWorld:
    """The pendulum with a weaker motor."""
    return MujocoWorld(weakened(rod, 0.7), physics_step=0.005)


def told(policy: Policy) -> dict:
    """What a training says of itself."""
    return json.loads((policy.source.parent / "training.json").read_text())


def seen(policy: Policy) -> np.ndarray:
    """Anything."""
    return np.random.default_rng(0).normal(size=(30, policy.contract.width))


def test_it_begins_with_the_actions_of_the_policy(
    swinger: Policy, weak: MujocoWorld, tmp_path: Path
) -> None:
    """While only the critic learns the outputs stay; then they move a little."""
    before = read_mlp(swinger.network.path)
    still = gapless.finetune(swinger, weak, tmp_path / "still", STILL)
    again = read_mlp(still.network.path)
    assert again.sizes == before.sizes == (32, 32)
    np.testing.assert_allclose(again(seen(swinger)), before(seen(swinger)), rtol=1e-5, atol=1e-5)
    assert told(still)["tuned"] is True
    contract = replace(swinger.contract, name="still")
    assert still.contract == contract
    moved = gapless.finetune(swinger, weak, tmp_path / "moved", replace(TINY, warm_up=0, noise=0.1))
    assert told(moved)["settings"]["actor"] == [32, 32]


def test_the_motion_beside_the_policy_is_followed(
    swinger: Policy, weak: MujocoWorld, tmp_path: Path
) -> None:
    """Or another that is given, whose length the contract then has."""
    still = gapless.finetune(swinger, weak, tmp_path / "a", STILL)
    np.testing.assert_array_equal(
        read_motions(tmp_path / "a" / "motion.npz", weak.robot)[0].q, swings().q
    )
    longer = gapless.finetune(swinger, weak, tmp_path / "b", STILL, motion=swings(1.6, "longer"))
    assert (still.contract.motion_seconds, longer.contract.motion_seconds) == (1.0, 1.6)
    assert told(longer)["motion"] == "longer"


def test_a_figure_that_was_rounded_is_kept(swinger: Policy, rod: Robot) -> None:
    """What a policy was trained with, rather than what frames make of it."""
    frames = MotionFrames.of(swings(), rod)
    near = Policy(replace(swinger.contract, motion_seconds=1.013), swinger.network, swinger.source)
    assert own_contract(near, frames, "a").motion_seconds == 1.013
    far = Policy(replace(swinger.contract, motion_seconds=3.0), swinger.network, swinger.source)
    assert own_contract(far, frames, "a").motion_seconds == 1.0


def test_stopped_and_resumed_it_is_as_uninterrupted(
    swinger: Policy, weak: MujocoWorld, tmp_path: Path
) -> None:
    """Byte for byte, the frozen normalisation included."""
    how, progress = replace(TINY.with_samples(12 * 8 * 16), noise=0.1, warm_up=3), tmp_path / "p"

    def stop(now: Progress) -> None:
        if now.done == 11:
            raise KeyboardInterrupt

    through = gapless.finetune(swinger, weak, tmp_path / "a" / "policy", how)
    out = tmp_path / "b" / "policy"
    with pytest.raises(KeyboardInterrupt):
        gapless.finetune(swinger, weak, out, how, checkpoint=progress, watch=stop)
    resumed = gapless.finetune(swinger, weak, out, how, checkpoint=progress)
    assert resumed.source.read_bytes() == through.source.read_bytes()


def any_network(width: int, activation: str) -> MlpWeights:
    """Other people's: its input is normalised, and it is not ours."""
    layers = tuple((nets.drawn(a, b).T, nets.drawn(b)) for a, b in pairwise((width, 12, 1)))
    return MlpWeights(layers, activation, np.full(width, 0.2), np.full(width, 1.5))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_networks_of_other_people_are_tuned(
    activation: str, swinger: Policy, weak: MujocoWorld, tmp_path: Path
) -> None:
    """With their own activation and normalisation, ports and clips."""
    contract = replace(
        swinger.contract,
        ports=Ports("actor_obs", "action"),
        action=replace(swinger.contract.action, clip=(-0.4, 0.4)),
    )
    weights = any_network(contract.width, activation)
    file = tmp_path / "theirs" / "model.onnx"
    file.parent.mkdir()
    file.write_bytes(mlp_model(weights, {KEY: contract_text(contract)}, ("actor_obs", "action")))
    tuned = gapless.finetune(Policy.load(file), weak, tmp_path / "t", STILL, motion=swings())
    again = read_mlp(tuned.network.path)
    assert again.activation == activation
    np.testing.assert_allclose(again(seen(tuned)), weights(seen(tuned)), rtol=1e-4, atol=1e-5)
    assert tuned.contract.action == contract.action and tuned.contract.ports.action == "actions"


def test_it_is_tuned_under_a_correction_that_it_does_not_keep(
    pair: Robot, made: Callable[..., Correction], tmp_path: Path
) -> None:
    """In the corrected simulator of a run; in several that were drawn, too."""
    world = MujocoWorld(pair, physics_step=STEP)
    still = replace(swings(0.4), joints=pair.joints.names, q=np.tile(pair.joints.default, (21, 1)))
    policy = gapless.train(still, world, tmp_path / "p", TINY)
    corrected = CorrectedWorld(world, None, [made()])
    tuned = gapless.finetune(policy, corrected, tmp_path / "t", STILL)
    assert told(tuned)["error_m"] != told(policy)["error_m"]
    both = MixedWorld([corrected.twin(), world.twin()])
    mixed = gapless.finetune(policy, both, tmp_path / "m", STILL)
    assert told(mixed)["world"]["effects_hash"] != told(tuned)["world"]["effects_hash"]
    assert tuned.contract.gains == mixed.contract.gains == policy.contract.gains


def test_the_rate_of_the_policy_is_the_worlds(swinger: Policy, rod: Robot, tmp_path: Path) -> None:
    """A world of another rate is brought to it."""
    tuned = gapless.finetune(swinger, MujocoWorld(rod, 100.0), tmp_path / "a", STILL)
    assert tuned.contract.rate == 50.0 and told(tuned)["world"]["rate"] == 50.0


def test_what_cannot_be_tuned_is_told(swinger: Policy, weak: MujocoWorld, tmp_path: Path) -> None:
    """No motion; another robot; a network with a memory; a walker."""
    out = tmp_path / "out"
    bare = replace(
        swinger.contract, reference="", action=replace(swinger.contract.action, meaning="offset")
    )
    homeless = Policy(bare, swinger.network, swinger.source)
    with pytest.raises(DataError, match=r"does not say which motion it follows: --motion"):
        gapless.finetune(homeless, weak, out, STILL)
    with pytest.raises(NameMismatchError, match="swing"):
        gapless.finetune(swinger, MujocoWorld(Robot.load("so101")), out, STILL)
    width = swinger.contract.width
    nets.lstm(tmp_path / "m.onnx", width, 4, 1)
    states = Ports("obs", "actions", {"h_in": "h_out", "c_in": "c_out"})
    memory = Policy(
        replace(swinger.contract, ports=states),
        OnnxNetwork(tmp_path / "m.onnx", states),
        tmp_path / "m.onnx",
    )
    with pytest.raises(DataError, match=r"m\.onnx is no chain of dense layers .*without a memory"):
        gapless.finetune(memory, weak, out, STILL, motion=swings())
    assert not out.exists()


def test_asaps_kick_is_tuned(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its public network, in the simulator of its robot: it begins as it is."""
    monkeypatch.setattr(tracker_training, "JUDGES", 3)
    network = shared_data / "policies" / "asap_g1_23dof" / "kick_level1.onnx"
    kick = shared_data / "motions" / "asap_g1_23dof" / "kick_level1_filter.pkl"
    if not (network.is_file() and kick.is_file()):
        pytest.skip("ASAP's kick is not on this machine")
    robot = Robot.load("g1_23dof", mount="free")
    policy = Policy.load(asap_contract(tmp_path / "policy.toml", network))
    [motion] = read_motions(kick, robot)
    world = MujocoWorld(robot, physics_step=0.005)
    how = replace(FINETUNED, environments=8).with_samples(2 * 8 * 24)
    assert how.warm_up >= how.ppo.iterations == 2
    tuned = gapless.finetune(policy, world, tmp_path / "kick", how, motion=motion)
    mine, its = read_mlp(tuned.network.path), read_mlp(network)
    some = np.random.default_rng(0).normal(size=(5, 380))
    np.testing.assert_allclose(mine(some), its(some), atol=1e-5 * np.abs(its(some)).max())
    assert told(tuned)["error_m"] < 0.2
    assert tuned.contract.action.clip == policy.contract.action.clip
    assert tuned.contract.motion_seconds == policy.contract.motion_seconds


def test_the_first_steps_move_a_policy_little(
    swinger: Policy, weak: MujocoWorld, tmp_path: Path
) -> None:
    """By a small part of its noise, and far less than steps of a training's size would."""
    before = read_mlp(swinger.network.path)(seen(swinger))
    changed = []
    for rate in (FINETUNED.ppo.rate, QUICK.ppo.rate):
        ppo = replace(TINY.ppo, rate=rate, iterations=1)
        how = replace(TINY, noise=FINETUNED.noise, ppo=ppo)
        moved = gapless.finetune(swinger, weak, tmp_path / f"{rate}", how)
        changed.append(np.abs(read_mlp(moved.network.path)(seen(swinger)) - before).mean())
    assert changed[0] < 0.5 * FINETUNED.noise and 3 * changed[0] < changed[1]


def test_settings_of_tuning_are_gentle() -> None:
    """Less noise, and a critic that warms up first."""
    assert FINETUNED.noise < TINY.noise and FINETUNED.warm_up > 0 and FINETUNED.tightening == 0
    with pytest.raises(GaplessError):
        replace(FINETUNED, noise=-1.0)


def test_a_tuning_suits_its_world(walker: Robot, rod: Robot) -> None:
    """Simulators are varied, hidden robots are not; who is held is not pushed."""
    assert finetuned_in(MujocoWorld(walker)) == FINETUNED
    few = finetuned_in(MujocoWorld(walker), 4)
    assert (few.environments, few.vary) == (4, 4)
    hidden = finetuned_in(HiddenWorld(walker, "mild"))
    assert (hidden.vary, hidden.ranges, hidden.push) == (0, "", FINETUNED.push)
    held = finetuned_in(MujocoWorld(rod))
    assert (held.vary, held.push) == (FINETUNED.vary, 0.0)


def test_rounds_are_judged_under_the_noise_of_the_training(swinger: Policy, rod: Robot) -> None:
    """But for what is asked to be calm."""
    world = MujocoWorld(rod, physics_step=STEP)
    frames = MotionFrames.of(swings(), rod, world.rate)
    begun, contract = read_mlp(swinger.network.path), own_contract(swinger, frames, "judged")
    errors = []
    for noise in (0.0, 3.0):
        how = replace(TINY, sensor_noise=noise)
        job = TrackerTraining(world, frames, contract, how, begun, 0)
        errors.append(TrackerJudge(job).error(begun))
    assert errors[1] > 1.05 * errors[0]
