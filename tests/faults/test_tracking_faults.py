"""Faults 45-54: what cannot be trained, motion or policy, is told, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest

import gapless
from gapless.cli.main import main
from gapless.cli.training_options import checkpoint_of
from gapless.closing import Run
from gapless.corrections import CorrectedWorld, Correction
from gapless.errors import ModelError
from gapless.motions import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.contract_json import KEY, contract_text
from gapless.policies.mlp_weights import MlpWeights
from gapless.policies.policy_contract import Ports
from gapless.robots import Robot
from gapless.tracking.tracker_files import Tracker
from gapless.tracking.tracking_contract import tracking_contract
from gapless.worlds import MujocoWorld
from pendulum import pendulum, swings
from small_networks import drawn, leaky
from standing_motion import standing_motion

torch = pytest.importorskip("torch")

SMALL = ["--environments", "8", "--samples", "200"]


@pytest.fixture
def rod(tmp_path: Path) -> Robot:
    """A pendulum."""
    return pendulum(tmp_path / "robot")


def refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says; it ends with 2 and changes nothing."""
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    assert main([*arguments, "--out", str(folder / "out"), *SMALL]) == 2
    shown = capsys.readouterr()
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before
    assert "Traceback" not in shown.err and shown.err.startswith("gapless: ")
    return shown.err


def trained_on(motion: Motion, robot: str, folder: Path) -> list[str]:
    """The command."""
    return ["train", str(motion.save(folder / "motion.npz")), "--robot", robot]


def test_case_45_a_motion_of_another_robot_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """By the names of its joints, either way round."""
    said = refused(trained_on(swings(), "g1_23dof", tmp_path), tmp_path, capsys)
    assert "'swing'" in said and "motion.npz" in said
    humanoid = standing_motion(Robot.load("g1_23dof"))
    said = refused(trained_on(humanoid, rod.source, tmp_path), tmp_path, capsys)
    assert "left_hip_pitch_joint" in said


def test_case_46_a_motion_with_a_nan_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """With the joint and the moment; of the base, too."""
    q = swings().q
    q[20] = np.nan
    file = tmp_path / "motion.npz"
    np.savez(file, q=q, joints=np.array(["swing"]), rate=50.0)
    said = refused(["train", str(file), "--robot", rod.source], tmp_path, capsys)
    assert "q of 'swing' is not finite at 0.400 s (sample 20)" in said
    humanoid = standing_motion(Robot.load("g1_23dof"))
    base = humanoid.base_pos.copy()
    base[3, 2] = np.inf
    arrays = {"q": humanoid.q, "joints": np.array(humanoid.joints), "rate": 50.0}
    np.savez(file, **arrays, base_pos=base, base_quat_wxyz=humanoid.base_quat_wxyz)
    said = refused(["train", str(file), "--robot", "g1_23dof"], tmp_path, capsys)
    assert "base_pos is not finite" in said


def test_case_47_a_motion_that_is_too_short_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """There is nothing to track in a tenth of a second."""
    said = refused(trained_on(swings(0.1), rod.source, tmp_path), tmp_path, capsys)
    assert "'swings' lasts 0.10 s; a tracker needs 0.2 s" in said


def test_case_48_a_robot_on_its_feet_needs_a_base(tmp_path: Path, capsys) -> None:
    """A motion without one does not say what its feet stand on."""
    bare = replace(standing_motion(Robot.load("g1_23dof")), base_pos=None, base_quat_wxyz=None)
    said = refused(trained_on(bare, "g1_23dof", tmp_path), tmp_path, capsys)
    assert "does not say where the base is, which a g1_23dof on its feet is asked to follow" in said


def policy_of(robot: Robot, motion: Motion, folder: Path, rate: float = 50.0) -> Policy:
    """A tracker with weights of no sense."""
    frames = MotionFrames.of(motion, robot, rate)
    contract = tracking_contract(frames, robot, "asap", "residual", 0.005)
    sizes = contract.width, 4, len(contract.joints)
    weights = MlpWeights(tuple((drawn(a, b).T, drawn(b)) for a, b in pairwise(sizes)))
    seen = np.zeros((2, contract.width))
    return Tracker(contract, weights, frames, {}).save(folder, seen, weights(seen))


def begun(folder: Path, robot: Robot) -> str:
    """A run that has its raw simulator alone."""
    facts = {"settings": {"physics_step": 0.005}, "data": {"rate": 50.0}}
    return str(Run.begin(folder, robot, facts).path)


def test_case_49_a_run_of_another_robot_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """By the joints that it lacks."""
    policy = str(policy_of(rod, swings(), tmp_path / "policy").source.parent)
    run = begun(tmp_path / "run", Robot.load("so101"))
    said = refused(["finetune", policy, "--run", run], tmp_path, capsys)
    assert "'swing'" in said


def test_case_50_a_policy_that_sees_its_base_needs_one(tmp_path: Path, capsys) -> None:
    """A run of the same robot, held, cannot tune it."""
    walker = Robot.load("g1_23dof", mount="free")
    motion = standing_motion(walker, 0.3)
    policy = str(policy_of(walker, motion, tmp_path / "policy").source.parent)
    run = begun(tmp_path / "run", walker.with_mount("fixed"))
    said = refused(["finetune", policy, "--run", run], tmp_path, capsys)
    assert "sees base_ang_vel, projected_gravity: that needs a base" in said


def test_case_51_a_rate_that_does_not_fit_is_refused(
    tmp_path: Path, pair: Robot, made: Callable[..., Correction]
) -> None:
    """A correction acts at its own rate; a policy of another cannot be tuned under it."""
    world = CorrectedWorld(MujocoWorld(pair, physics_step=0.005), None, [made()])
    q = np.tile(pair.joints.default, (26, 1))
    still = replace(swings(0.5), joints=pair.joints.names, q=q)
    slow = policy_of(pair, still, tmp_path / "policy", rate=40.0)
    with pytest.raises(ModelError, match="acts at 50 Hz, the world at 40 Hz"):
        gapless.finetune(slow, world, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_case_52_a_network_with_a_memory_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """By the node that shows it; it is evaluated, not tuned."""
    whole = policy_of(rod, swings(), tmp_path / "policy")
    ports = Ports("obs", "actions", {"h_in": "h_out"})
    contract = replace(whole.contract, ports=ports)
    network = leaky(tmp_path / "policy" / "policy.onnx", contract.width, 1)
    model = onnx.load(str(network))
    onnx.helper.set_model_props(model, {KEY: contract_text(contract)})
    onnx.save(model, str(network))
    run = begun(tmp_path / "run", rod)
    said = refused(["finetune", str(network.parent), "--run", run], tmp_path, capsys)
    assert "is no chain of dense layers" in said and "without a memory" in said


def test_case_53_progress_that_was_cut_short_is_a_fresh_start(
    tmp_path: Path, capsys, rod: Robot
) -> None:
    """Not a failure, and not half a training: the policy is the one that it would be."""
    asked = [*trained_on(swings(0.5), rod.source, tmp_path), *SMALL]
    out = tmp_path / "b" / "p"
    assert main([*asked, "--out", str(tmp_path / "a" / "p")]) == 0
    out.parent.mkdir()
    checkpoint_of(out).write_bytes(b'\x40\x00\x00\x00\x00\x00\x00\x00{"cut')
    assert main([*asked, "--out", str(out)]) == 0
    whole, again = ((tmp_path / k / "p" / "policy.onnx").read_bytes() for k in "ab")
    assert whole == again and not checkpoint_of(out).exists()


def test_case_54_a_contract_that_was_damaged_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """As is a network that was cut short, and one that names a motion that is gone."""
    policy = policy_of(rod, swings(), tmp_path / "policy")
    run, network = begun(tmp_path / "run", rod), policy.source
    whole = network.read_bytes()
    asked = ["finetune", str(network), "--run", run]
    (network.parent / "motion.npz").rename(tmp_path / "elsewhere.npz")
    assert "motion.npz does not exist" in refused(asked, tmp_path, capsys)
    network.write_bytes(whole[: len(whole) // 2])
    assert "policy.onnx" in refused(asked, tmp_path, capsys)
    model = onnx.load_model_from_string(whole)
    onnx.helper.set_model_props(model, {KEY: "{}"})
    onnx.save(model, str(network))
    assert f"{KEY} does not read as a contract" in refused(asked, tmp_path, capsys)
