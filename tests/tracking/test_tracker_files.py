"""A tracker's folder: complete or absent, and as what was trained."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gapless.artifact import read_json
from gapless.errors import GaplessError, SimulationError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights
from gapless.policies.onnx_metadata import read_metadata
from gapless.policies.onnx_network import OnnxNetwork
from gapless.policies.policy_contract import Ports
from gapless.robots import Robot
from gapless.tracking.tracker_files import Tracker
from gapless.tracking.tracking_contract import tracking_contract
from pendulum import swings
from small_networks import drawn


def tracker_of(robot: Robot, frames: MotionFrames, sight: str, size: float = 1.0) -> Tracker:
    """With weights of no sense."""
    contract = tracking_contract(frames, robot, sight, "default", 0.005)
    sizes = contract.width, 8, len(contract.joints)
    layers = tuple((size * drawn(a, b).T, drawn(b)) for a, b in pairwise(sizes))
    return Tracker(contract, MlpWeights(layers), frames, {"seed": 3})


def seen(tracker: Tracker) -> np.ndarray:
    """Anything."""
    return np.random.default_rng(0).normal(size=(20, tracker.contract.width))


@pytest.fixture
def small(rod: Robot) -> Tracker:
    """Of a pendulum."""
    return tracker_of(rod, MotionFrames.of(swings(), rod), "beyondmimic")


def test_it_is_read_back_whole(small: Tracker, tmp_path: Path) -> None:
    """Contract, actions, reference, and how it was made."""
    policy = small.save(tmp_path / "p", seen(small), small.weights(seen(small)))
    assert policy.contract == small.contract and policy.source == tmp_path / "p" / "policy.onnx"
    acted, _ = policy.network.run(seen(small), {}, np.zeros(20, int))
    np.testing.assert_allclose(acted, small.weights(seen(small)), atol=1e-5)
    assert policy.reference is not None
    np.testing.assert_array_equal(policy.reference.frames.joint_pos, swings().q)
    facts = read_json(tmp_path / "p" / "training.json")
    assert facts["seed"] == 3 and "gapless" in facts["made_by"]


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_case_47_what_acts_otherwise_is_refused(size: float, rod: Robot, tmp_path: Path) -> None:
    """By a hundred-thousandth of the largest action, or of one; then nothing is there."""
    tracker = tracker_of(rod, MotionFrames.of(swings(), rod), "asap", size)
    acted = tracker.weights(seen(tracker))
    unit = max(1.0, float(np.abs(acted).max()))
    for off, said in ((2.1e-5 * unit, "off by 2.*e-05"), (np.nan, "off by nan")):
        with pytest.raises(SimulationError, match=f"{said} .* nothing was written"):
            tracker.save(tmp_path / "p", seen(tracker), acted + off)
    assert not list(tmp_path.iterdir())
    tracker.save(tmp_path / "p", seen(tracker), acted + 5e-6 * unit)


def test_a_failure_leaves_what_was_there(small: Tracker, tmp_path: Path) -> None:
    """The old policy is whole until the new one is."""
    good = small.weights(seen(small))
    small.save(tmp_path / "p", seen(small), good)
    before = (tmp_path / "p" / "policy.onnx").read_bytes()
    with pytest.raises(SimulationError):
        small.save(tmp_path / "p", seen(small), good + 1, overwrite=True)
    with pytest.raises(GaplessError, match="exists"):
        small.save(tmp_path / "p", seen(small), good)
    assert (tmp_path / "p" / "policy.onnx").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_other_peoples_reader_takes_a_beyondmimic_tracker(
    walker: Robot, frames: MotionFrames, tmp_path: Path
) -> None:
    """By the metadata that mjlab writes, without ours: what it sees, in order."""
    tracker = tracker_of(walker, frames, "beyondmimic")
    policy = tracker.save(tmp_path / "p", seen(tracker), tracker.weights(seen(tracker)))
    network = OnnxNetwork(policy.network.path, Ports())
    network.ports = Ports(observation="obs", action="actions", motion={"joint_pos": "elsewhere"})
    other = read_metadata(network)
    assert other.joints == policy.contract.joints and other.width == policy.contract.width
    kinds = [[c.terms[n].kind for b in c.blocks for n in b.terms] for c in (other, policy.contract)]
    assert kinds[0] == kinds[1]
    np.testing.assert_allclose(other.kp, policy.contract.kp, rtol=1e-8)


def test_only_arrays_are_in_its_motion(small: Tracker, tmp_path: Path) -> None:
    """Nothing that could run."""
    policy = small.save(tmp_path / "p", seen(small), small.weights(seen(small)))
    with np.load(policy.source.parent / "motion.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)
        assert set(arrays.files) >= {"fps", "joint_pos", "joint_vel", "body_pos_w", "body_quat_w"}


def test_a_policy_without_its_motion_says_so(small: Tracker, tmp_path: Path) -> None:
    """It sees its reference, which lies beside it."""
    policy = small.save(tmp_path / "p", seen(small), small.weights(seen(small)))
    (tmp_path / "p" / "motion.npz").unlink()
    with pytest.raises(GaplessError, match=r"motion\.npz does not exist"):
        _ = Policy.load(policy.source).reference
