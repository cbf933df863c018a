"""What cannot be trained, motion or policy, is told, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from gapless.errors import DataError, ModelError
from gapless.learning import ppo_loop, ppo_progress
from gapless.learning.checkpoint import read_tensors
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


def test_a_motion_of_another_robot_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """By the names of its joints, either way round."""
    said = refused(trained_on(swings(), "g1_23dof", tmp_path), tmp_path, capsys)
    assert "'swing'" in said and "motion.npz" in said
    humanoid = standing_motion(Robot.load("g1_23dof"))
    said = refused(trained_on(humanoid, rod.source, tmp_path), tmp_path, capsys)
    assert "left_hip_pitch_joint" in said


def test_a_motion_with_a_nan_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
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


def test_a_motion_that_is_too_short_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """There is nothing to track in a tenth of a second."""
    said = refused(trained_on(swings(0.1), rod.source, tmp_path), tmp_path, capsys)
    assert "'swings' lasts 0.10 s; a tracker needs 0.2 s" in said


def test_a_robot_on_its_feet_needs_a_base(tmp_path: Path, capsys) -> None:
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


def test_a_run_of_another_robot_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """By the joints that it lacks."""
    policy = str(policy_of(rod, swings(), tmp_path / "policy").source.parent)
    run = begun(tmp_path / "run", Robot.load("so101"))
    said = refused(["finetune", policy, "--run", run], tmp_path, capsys)
    assert "'swing'" in said


def test_a_policy_that_sees_its_base_needs_one(tmp_path: Path, capsys) -> None:
    """A run of the same robot, held, cannot tune it."""
    walker = Robot.load("g1_23dof", mount="free")
    motion = standing_motion(walker, 0.3)
    policy = str(policy_of(walker, motion, tmp_path / "policy").source.parent)
    run = begun(tmp_path / "run", walker.with_mount("fixed"))
    said = refused(["finetune", policy, "--run", run], tmp_path, capsys)
    assert "sees base_ang_vel, projected_gravity: that needs a base" in said


def test_a_rate_that_does_not_fit_is_refused(
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


def test_a_network_with_a_memory_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
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


def test_progress_that_was_cut_short_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """It is left as it is; starting over gives the policy that it would be."""
    asked = trained_on(swings(0.5), rod.source, tmp_path)
    assert main([*asked, *SMALL, "--out", str(tmp_path / "a" / "out")]) == 0
    capsys.readouterr()
    kept = checkpoint_of(tmp_path / "out")
    kept.write_bytes(b'\x40\x00\x00\x00\x00\x00\x00\x00{"cut')
    said = refused(asked, tmp_path, capsys)
    assert f"{kept} is damaged" in said and "start over with --restart" in said
    assert main([*asked, *SMALL, "--out", str(tmp_path / "out"), "--restart"]) == 0
    whole, again = ((tmp_path / k / "policy.onnx").read_bytes() for k in ("a/out", "out"))
    assert whole == again and not kept.exists()


def test_a_contract_that_was_damaged_is_refused(tmp_path: Path, capsys, rod: Robot) -> None:
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


def spoilt(kind: str) -> tuple[Motion, str]:
    """A motion of a G1 that nothing can follow, and what is said of it."""
    robot = Robot.load("g1_23dof")
    motion, q = standing_motion(robot, 0.6), standing_motion(robot, 0.6).q
    if kind == "floor":
        return replace(motion, base_pos=motion.base_pos - [0, 0, 0.3]), "feet below the floor 0.3"
    q[15:, robot.joints.index("left_knee_joint")] += 0.9 if kind == "speed" else 0.0
    q[:, robot.joints.index("left_knee_joint")] += 9.0 if kind == "range" else 0.0
    said = "speed of joints" if kind == "speed" else "joints beyond their range"
    return replace(motion, q=q), said


@pytest.mark.parametrize("kind", ["floor", "speed", "range"])
def test_a_motion_that_nothing_can_follow_is_refused(kind: str, tmp_path: Path, capsys) -> None:
    """By train and by loop, before anything is written; in Python, too."""
    motion, told = spoilt(kind)
    asked = trained_on(motion, "g1_23dof", tmp_path)
    said = refused(asked, tmp_path, capsys)
    assert told in said and "is the most" in said and "gapless motion check FILE" in said
    loop = ["loop", *asked[1:], "--target", "mujoco:mild"]
    assert told in refused(loop, tmp_path, capsys)
    with pytest.raises(DataError, match=told):
        gapless.train(motion, Robot.load("g1_23dof"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_policy_is_not_tuned_on_such_a_motion(tmp_path: Path, capsys, rod: Robot) -> None:
    """Given beside it."""
    policy = str(policy_of(rod, swings(), tmp_path / "policy").source.parent)
    far = replace(swings(), q=swings().q + 4).save(tmp_path / "far.npz")
    run = begun(tmp_path / "run", rod)
    said = refused(["finetune", policy, "--run", run, "--motion", str(far)], tmp_path, capsys)
    assert "'swings' cannot be tracked by pendulum: joints beyond their range" in said


def test_gains_of_another_robot_are_refused(tmp_path: Path, capsys, rod: Robot) -> None:
    """Ten times as stiff as the robot: tuning would only learn around it."""
    stiff = rod.with_joints(kp=10 * rod.joints.kp)
    policy = str(policy_of(stiff, swings(), tmp_path / "policy").source.parent)
    run = begun(tmp_path / "run", rod)
    said = refused(["finetune", policy, "--run", run], tmp_path, capsys)
    assert "states kp of swing 220, the robot 22 N·m/rad" in said and "policy check" in said


def test_a_loop_begins_with_a_policy_of_its_robot(tmp_path: Path, capsys, rod: Robot) -> None:
    """Of another one it is refused, and so are numbers that make no loop; no folder is made."""
    policy = str(policy_of(rod, swings(), tmp_path / "policy").source.parent)
    motion = standing_motion(Robot.load("g1_23dof", mount="free"), 0.3)
    asked = ["loop", *trained_on(motion, "g1_23dof", tmp_path)[1:], "--target", "mujoco:mild"]
    assert "'swing'" in refused([*asked, "--policy", policy], tmp_path, capsys)
    for wrong in (["--rounds", "0"], ["--takes", "0"], ["--seed", "-1"], ["--tune-samples", "nan"]):
        assert "expected" in refused([*asked, *wrong], tmp_path, capsys)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert "is not empty and is no loop" in refused(asked, tmp_path, capsys)


def test_a_training_that_runs_away_keeps_what_it_had(
    tmp_path: Path, capsys, rod: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that explodes stops it; the checkpoint of the round before is whole, no policy is."""
    monkeypatch.setattr(ppo_progress, "KEEP_SECONDS", -1.0)
    guard, out = ppo_loop.refuse_not_finite, tmp_path / "out"

    def watched(figures: Mapping[str, float], models: Iterable[torch.nn.Module], k: int) -> None:
        exploded = {"noise": 1e3} if k == 12 and "noise" in figures else {}
        guard({**figures, **exploded}, models, k)

    monkeypatch.setattr(ppo_loop, "refuse_not_finite", watched)
    asked = [*trained_on(swings(0.5), rod.source, tmp_path), "--out", str(out)]
    assert main([*asked, "--environments", "4", "--samples", str(20 * 4 * 24)]) == 2
    said = capsys.readouterr().err
    assert "noise 1e+03 (more than 20)" in said and "in iteration 12" in said
    assert read_tensors(checkpoint_of(out))[1]["iteration"] == 10 and not out.exists()


def test_a_folder_that_is_neither_run_nor_loop_has_no_page(tmp_path: Path, capsys) -> None:
    """Both are named, with what makes them."""
    for folder in (tmp_path, tmp_path / "absent"):
        assert main(["report", str(folder)]) == 2
        said = capsys.readouterr().err
        assert "is neither a run nor a loop" in said
        assert "run.json" in said and "loop.json" in said and "gapless loop" in said
    assert not list(tmp_path.iterdir())
