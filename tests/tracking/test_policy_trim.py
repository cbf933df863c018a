"""A trim: folded into a network it acts as beside it, and it makes a planted error good."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.errors import ArtifactError
from gapless.learning.checkpoint import Checkpoint
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights, read_mlp
from gapless.progress import Progress
from gapless.robots import Robot
from gapless.tracking.policy_trim import OFFSET, TrimmedNetwork, gravity_columns, trim_size
from gapless.tracking.tracker_training import TrackerJudge, TrackerTraining
from gapless.tracking.tracking_contract import tracking_contract
from gapless.tracking.training import own_contract
from gapless.tracking.trim_fit import SHARE, TrimFit
from gapless.worlds import MujocoWorld
from gapless.worlds.effects import Effects
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World
from pendulum import swings, weakened
from quick_trackers import TINY
from standing_motion import standing_motion

ENOUGH = replace(TINY, trim=2, warm_up=1).with_samples(60_000)


def job_of(policy: Policy, world: World, settings: object = ENOUGH) -> TrackerTraining:
    """A fine-tuning of the pendulum's policy in a world."""
    world = world.at_rate(policy.contract.rate)
    frames = MotionFrames.of(swings(), world.robot, world.rate)
    begun = read_mlp(policy.network.path)
    contract = own_contract(policy, frames, "trimmed")
    return TrackerTraining(world, frames, contract, settings, begun, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("normalised", [False, True])
def test_a_folded_trim_acts_as_the_trimmed_network(walker: Robot, normalised: bool) -> None:
    """With gravity in every frame, and what its input is normalised by."""
    frames = MotionFrames.of(standing_motion(walker), walker, 50.0)
    contract = tracking_contract(frames, walker, "asap", "residual", 0.005)
    rng, sizes = np.random.default_rng(0), (contract.width, 16, len(contract.joints))
    plain = MlpWeights(
        tuple(
            (0.1 * rng.normal(size=(b, a)).astype(np.float32), rng.normal(size=b))
            for a, b in pairwise(sizes)
        )
    )
    scaled = {"mean": rng.normal(size=plain.width), "std": rng.uniform(0.5, 2, plain.width)}
    weights = replace(plain, **scaled) if normalised else plain
    assert gravity_columns(contract).sum(axis=1) == pytest.approx([5.0, 5.0])
    trim = rng.normal(size=(1, trim_size(weights, contract)))
    trimmed = TrimmedNetwork(weights, contract, trim)
    seen = rng.normal(size=(7, contract.width))
    beside = replace(trimmed, trims=np.repeat(trim, 7, axis=0))(seen)
    np.testing.assert_allclose(trimmed.folded()(seen), beside, atol=2e-5)
    assert np.abs(beside - weights(seen)).max() > 0.01
    none = TrimmedNetwork(weights, contract, 0 * trim)
    np.testing.assert_allclose(none.folded()(seen), weights(seen), atol=1e-6)


def test_wrong_zeros_are_made_good(swinger: Policy, rod: Robot) -> None:
    """The offset that is found is the encoder's, and what was lost comes back."""
    nominal, bias = MujocoWorld(rod, physics_step=0.005), 0.06
    off = MujocoWorld(rod, physics_step=0.005, effects=Effects(encoder_bias=bias))
    judge = TrackerJudge(job_of(swinger, off))
    begun = read_mlp(swinger.network.path)
    own = TrackerJudge(job_of(swinger, nominal)).error(begun)
    fit = TrimFit(job_of(swinger, off))
    assert fit.rounds == 2
    found = fit.found(Checkpoint(None))
    lost, left = judge.error(begun) - own, judge.error(found) - own
    assert lost > 0.005 and left < 0.3 * lost
    scale = float(np.ravel(swinger.contract.action.scale)[0])
    moved = (found.layers[-1][1] - begun.layers[-1][1])[0] * scale
    assert abs(moved) > OFFSET and np.sign(moved) == np.sign(bias)


def test_a_tuning_is_trimmed_first(swinger: Policy, rod: Robot, tmp_path: Path) -> None:
    """PPO has the samples that are left; what is written is never worse than the beginning."""
    weak = MujocoWorld(weakened(rod, 0.7), physics_step=0.005)
    events: list[Progress] = []
    how = replace(TINY, trim=9, warm_up=1, environments=128)
    fit = TrimFit(job_of(swinger, weak, how.with_samples(1e9)))
    how = how.with_samples(2.2 * fit.round_samples)
    tuned = gapless.finetune(swinger, weak, tmp_path / "t", how, watch=events.append)
    told = gapless.artifact.read_json(tmp_path / "t" / "training.json")
    assert told["trimmed"] == fit.round_samples <= SHARE * how.samples
    assert abs(told["samples"] - how.samples) <= how.environments * how.ppo.steps
    assert [e.done for e in events if e.stage == "trimming"] == [1]
    judge = TrackerJudge(job_of(swinger, weak))
    before, after = (judge.error(read_mlp(p.network.path)) for p in (swinger, tuned))
    assert after <= before and told["error_m"] == pytest.approx(after)


def test_few_samples_are_not_spent_on_it(swinger: Policy, rod: Robot) -> None:
    """A training too short for a round has none."""
    weak = MujocoWorld(weakened(rod, 0.7), physics_step=0.005)
    assert TrimFit(job_of(swinger, weak, replace(TINY, trim=2))).rounds == 0


def test_stopped_and_resumed_it_is_the_same(swinger: Policy, rod: Robot, tmp_path: Path) -> None:
    """After its first round; progress of another question is refused."""
    job = job_of(swinger, MujocoWorld(weakened(rod, 0.7), physics_step=0.005))
    whole = TrimFit(job).found(Checkpoint(None))

    def stop(now: Progress) -> None:
        raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "trim", job.question())
    with pytest.raises(KeyboardInterrupt):
        TrimFit(job, stop).found(kept)
    again = TrimFit(job).found(Checkpoint(tmp_path / "trim", job.question()))
    assert same(again, whole)
    with pytest.raises(ArtifactError, match="another training"):
        TrimFit(job).found(Checkpoint(tmp_path / "trim", {"seed": 9}))


def test_several_simulators_count_alike(swinger: Policy, rod: Robot) -> None:
    """Every trim is played in each of them; one found for both is between those of either."""
    worlds = [
        MujocoWorld(rod, physics_step=0.005, effects=Effects(encoder_bias=bias))
        for bias in (-0.06, 0.06)
    ]
    fit = TrimFit(job_of(swinger, MixedWorld(worlds)))
    begun, found = read_mlp(swinger.network.path), fit.found(Checkpoint(None))
    one = TrimFit(job_of(swinger, worlds[1])).found(Checkpoint(None))
    moved = [abs(w.layers[-1][1] - begun.layers[-1][1])[0] for w in (found, one)]
    assert moved[0] < 0.5 * moved[1]


def same(one: MlpWeights, other: MlpWeights) -> bool:
    """Bit for bit."""
    pairs = zip(sum(one.layers, ()), sum(other.layers, ()), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
