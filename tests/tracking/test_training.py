"""A motion becomes a policy: it learns, goes on where it was stopped, and writes a whole folder."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.errors import ArtifactError, FormatError, SimulationError
from gapless.learning.checkpoint import read_tensors
from gapless.motions import read_motions
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import MlpWeights, read_mlp
from gapless.progress import Progress
from gapless.robots import Robot
from gapless.tracking import training
from gapless.tracking.training_worlds import world_to_train_in
from gapless.worlds import MujocoWorld
from gapless.worlds.mixed_world import MixedWorld
from pendulum import pendulum, swings
from quick_trackers import QUICK, TINY


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


def told(policy: Policy) -> dict:
    """What a training says of itself."""
    return json.loads((policy.source.parent / "training.json").read_text())


def test_a_pendulum_learns_its_weight(swinger: Policy, rod: Robot, tmp_path: Path) -> None:
    """Its error falls to a tenth of that of an untrained network, which lets it sag."""
    untrained = replace(TINY, warm_up=99)
    before = told(gapless.train(swings(), rod, tmp_path / "untrained", untrained))["error_m"]
    after = told(swinger)["error_m"]
    assert before > 0.2  # m, though one of the two bodies never moves
    assert after < 0.1 * before
    course = told(swinger)["course"]
    assert [iteration for iteration, _ in course] == [10, 20, 30]
    assert min(error for _, error in course) == pytest.approx(after, rel=1e-3)


def test_its_folder_says_how_it_was_made(swinger: Policy) -> None:
    """Network with contract, motion, settings; and nothing else."""
    folder = swinger.source.parent
    names = {path.name for path in folder.iterdir()}
    assert names == {"policy.onnx", "motion.npz", "training.json", ".gapless.json"}
    facts = told(swinger)
    assert facts["settings"] == json.loads(json.dumps(QUICK.to_dict()))
    assert (facts["motion"], facts["robot"], facts["seed"]) == ("swings", "pendulum", 0)
    assert facts["samples"] == QUICK.samples == 30 * 16 * 128
    assert facts["world"]["engine"] == "mujoco" and facts["tuned"] is False
    assert {"gapless", "mujoco", "numpy"} <= set(facts["made_by"])
    contract = swinger.contract
    assert (contract.name, contract.robot, contract.rate) == ("policy", "pendulum", 50.0)
    assert contract.physics_step == 0.005 and contract.motion_seconds == 1.0


def test_the_motion_beside_it_is_the_one_that_was_given(swinger: Policy, rod: Robot) -> None:
    """As our own motions are read, and as mjlab and BeyondMimic lay them out."""
    file = swinger.source.parent / "motion.npz"
    [motion] = read_motions(file, rod)
    assert (motion.name, motion.rate, motion.joints) == ("swings", 50.0, ("swing",))
    np.testing.assert_array_equal(motion.q, swings().q)
    frames = MotionFrames.of(motion, rod)
    with np.load(file, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["body_pos_w"], frames.bodies.pos)
        np.testing.assert_array_equal(arrays["joint_vel"], frames.state.dq)
        assert arrays["fps"].tolist() == [50.0]
    assert swinger.reference is not None and len(swinger.reference) == len(motion)


def test_stopped_and_resumed_is_as_uninterrupted(tmp_path: Path) -> None:
    """Byte for byte of what runs on the robot; the progress goes when it has served."""
    robot, progress, out = pendulum(tmp_path), tmp_path / "progress", tmp_path / "b" / "policy"
    how = TINY.with_samples(14 * 8 * 16)
    through = gapless.train(swings(), robot, tmp_path / "a" / "policy", how)

    def stop(now: Progress) -> None:
        if now.done == 12:
            raise StoppedError

    with pytest.raises(StoppedError):
        gapless.train(swings(), robot, out, how, checkpoint=progress, watch=stop)
    assert not out.exists()
    arrays, facts = read_tensors(progress)
    assert facts["iteration"] == 10 and "memory/curricula" in arrays
    seen: list[int] = []
    resumed = gapless.train(
        swings(), robot, out, how, checkpoint=progress, watch=lambda now: seen.append(now.done)
    )
    assert min(seen) == 11
    for name in ("policy.onnx", "motion.npz"):
        whole, parts = ((p.source.parent / name).read_bytes() for p in (through, resumed))
        assert whole == parts, name
    for name in ("error_m", "course"):
        assert told(resumed)[name] == told(through)[name]
    assert not progress.exists()


def test_progress_of_another_training_is_refused(tmp_path: Path) -> None:
    """Another seed, motion or setting is another question, unless it starts over."""
    robot, progress = pendulum(tmp_path), tmp_path / "progress"
    long = TINY.with_samples(20 * 8 * 16)

    def stop(now: Progress) -> None:
        if now.done > 10:
            raise StoppedError

    with pytest.raises(StoppedError):
        gapless.train(swings(), robot, tmp_path / "p", long, checkpoint=progress, watch=stop)
    others = [
        ({"seed": 1}, "seed was 0, now 1"),
        ({"settings": replace(long, noise=0.5)}, "settings was"),
        ({"motion": replace(swings(), name="other")}, "motion was 'swings', now 'other'"),
        ({"motion": replace(swings(), q=swings().q + 0.1)}, "frames was"),
        ({"robot": robot.with_joints(kp=20.0)}, "world was"),
    ]
    for change, said in others:
        asked = {"motion": swings(), "robot": robot, "settings": long} | change
        with pytest.raises(ArtifactError, match=f"{said}.*--restart"):
            gapless.train(out=tmp_path / "p", checkpoint=progress, **asked)
    assert progress.exists() and not (tmp_path / "p").exists()
    asked = {"motion": swings(), "robot": robot, "settings": TINY}
    gapless.train(out=tmp_path / "p", checkpoint=progress, restart=True, **asked)
    assert not progress.exists()


def test_progress_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    """Damaged or of another format, it never half counts, and is not forgotten without a word."""
    robot, progress = pendulum(tmp_path), tmp_path / "progress"
    cut = b"\x08\x00\x00\x00\x00\x00\x00\x00{}"
    progress.write_bytes(cut)
    out = tmp_path / "policy"
    with pytest.raises(FormatError, match=r"progress is damaged .* restart=True"):
        gapless.train(swings(), robot, out, TINY, checkpoint=progress)
    assert progress.read_bytes() == cut and not out.exists()
    gapless.train(swings(), robot, out, TINY, checkpoint=progress, restart=True)
    assert not progress.exists()


def test_a_world_that_is_given_is_varied_too(tmp_path: Path) -> None:
    """As the simulator of a robot is; the same simulators either way."""
    robot, how = pendulum(tmp_path), replace(TINY, vary=3)
    by_world = gapless.train(swings(), MujocoWorld(robot, physics_step=0.005), tmp_path / "w", how)
    by_robot = gapless.train(swings(), robot, tmp_path / "r", how)
    assert told(by_world)["world"] == told(by_robot)["world"]
    assert told(by_world)["error_m"] == told(by_robot)["error_m"]


def test_the_same_seed_gives_the_same_policy(tmp_path: Path) -> None:
    """And another another."""
    robot = pendulum(tmp_path)
    found = [
        gapless.train(swings(), robot, tmp_path / str(k) / "p", TINY, seed=seed).source.read_bytes()
        for k, seed in enumerate((3, 3, 4))
    ]
    assert found[0] == found[1] != found[2]


def test_a_file_that_acts_otherwise_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is exported must do what was trained, on every observation of whole episodes."""

    def off(*_: object) -> MlpWeights:
        weights = right(*_)  # type: ignore[arg-type]
        (matrix, bias), *rest = weights.layers
        return replace(weights, layers=((matrix, bias + np.float32(1e-3)), *rest))

    right = training.weights_of
    monkeypatch.setattr(training, "weights_of", off)
    out = tmp_path / "policy"
    with pytest.raises(SimulationError, match=r"off by .* nothing was written"):
        gapless.train(swings(), pendulum(tmp_path / "robot"), out, TINY)
    assert {p.name for p in tmp_path.iterdir()} == {"robot"}


def test_a_folder_that_is_there_is_kept(tmp_path: Path) -> None:
    """Unless it may be replaced; one that is no artifact never is."""
    robot, out = pendulum(tmp_path), tmp_path / "policy"
    first = gapless.train(swings(), robot, out, TINY).source.read_bytes()
    told: list[Progress] = []
    with pytest.raises(ArtifactError, match="exists"):
        gapless.train(swings(), robot, out, TINY, seed=1, watch=told.append)
    assert (out / "policy.onnx").read_bytes() == first
    with pytest.raises(ArtifactError, match="gapless did not write it"):
        mine = pendulum(tmp_path / "mine").source
        gapless.train(swings(), robot, Path(mine).parent, TINY, overwrite=True, watch=told.append)
    assert not told and Path(mine).is_file()  # before the work, not after it
    gapless.train(swings(), robot, out, TINY, seed=1, overwrite=True)
    assert (out / "policy.onnx").read_bytes() != first


def test_a_robot_is_trained_in_simulators_that_differ(tmp_path: Path) -> None:
    """Where it is asked for; the world says so."""
    robot = pendulum(tmp_path)
    varied = gapless.train(swings(), robot, tmp_path / "v", replace(TINY, vary=3))
    plain = gapless.train(swings(), robot, tmp_path / "p", TINY)
    assert told(varied)["world"] != told(plain)["world"]
    world = world_to_train_in(robot, replace(TINY, vary=3))
    assert isinstance(world, MixedWorld) and len(world.worlds) == 3
    assert told(varied)["world"] == asdict(world.identity)


def test_a_world_may_be_given_instead_of_a_robot(tmp_path: Path) -> None:
    """At its own rate and step, which the contract then says."""
    world = MujocoWorld(pendulum(tmp_path), 25.0, physics_step=0.02)
    policy = gapless.train(swings(), world, tmp_path / "p", TINY)
    assert (policy.contract.rate, policy.contract.physics_step) == (25.0, 0.02)
    assert len(read_motions(tmp_path / "p" / "motion.npz", world.robot)[0]) == 26


@pytest.mark.parametrize("preset", ["asap", "beyondmimic"])
@pytest.mark.parametrize("action", ["residual", "default"])
def test_every_preset_trains_and_exports(preset: str, action: str, tmp_path: Path) -> None:
    """What comes out reads what it says it sees."""
    how = replace(TINY, preset=preset, action=action, sensor_noise=1.0, action_noise=0.01)
    policy = gapless.train(swings(), pendulum(tmp_path), tmp_path / "p", how)
    assert policy.contract.width == policy.network.width == read_mlp(policy.network.path).width
    assert policy.contract.action.meaning == ("reference" if action == "residual" else "offset")
    sees = {term.kind for term in policy.contract.terms.values()}
    assert ("reference_joints" in sees) == (preset == "beyondmimic")
