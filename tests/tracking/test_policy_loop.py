"""The whole loop on a quadruped, small: every step is there, and nothing is done twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import Policy, Robot, train
from gapless.closing import CloseSettings, Run
from gapless.errors import ArtifactError, DataError
from gapless.evaluation import Evaluation
from gapless.learning.ppo_settings import PpoSettings
from gapless.motions.motion import Motion
from gapless.progress import Progress
from gapless.reports import report
from gapless.tracking import TrainSettings, tracking_contract
from gapless.tracking.loop_folder import LoopFolder
from gapless.tracking.policy_loop import LoopSettings, PolicyLoop
from gapless.worlds.named_worlds import world_of

TINY = TrainSettings(
    environments=8, actor=(16,), ppo=PpoSettings(iterations=2, steps=8, critic=(16,))
)
HOW = LoopSettings(
    takes=4,
    episodes=2,
    train=TINY,
    finetune=replace(TINY, warm_up=1),
    close=CloseSettings(
        parameters=("kp@all",),
        windows=4,
        members=1,
        trainer_settings={"horizons": (0.3,), "iterations": 2, "samples": 100},
    ),
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    """Stiff enough to stand by itself."""
    go2 = Robot.load("go2", mount="free")
    return go2.with_joints(kp=np.full(12, 80.0), kd=np.full(12, 3.0))


@pytest.fixture(scope="module")
def sways(robot: Robot) -> Motion:
    """Three seconds in which the knees bend a little."""
    time = np.arange(151) / 50
    q = np.tile(robot.joints.default, (len(time), 1))
    bend = 0.08 * np.sin(2 * np.pi * 0.8 * time)
    for column, name in enumerate(robot.joints.names):
        q[:, column] += bend * ({"thigh": 1.0, "calf": -2.0}.get(name.split("_")[1], 0.0))
    place = np.tile([0.0, 0.0, robot.standing_height], (len(time), 1))
    return Motion("sways", robot.joints.names, 50.0, q, place, np.tile([1.0, 0, 0, 0], (151, 1)))


@pytest.mark.slow
def test_the_loop_runs_and_resumes(robot: Robot, sways: Motion, tmp_path: Path) -> None:
    """Policies, recordings, a run and scores; the second call reads them all."""
    target = world_of("mujoco:mild", robot)
    found = PolicyLoop(sways, robot, target, tmp_path / "loop", HOW).run()
    assert set(found["policies"]) == {"policy_0", "policy_1"}
    assert all(np.isfinite(s["e_g_mpjpe"]) for s in found["policies"].values())
    run = Run.open(tmp_path / "loop" / "run_1")
    assert all("take" in name for name in run.taught)
    assert run.facts["policy"]["name"] == "policy_0"  # whose paths the simulator must predict
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "loop").rglob("*.onnx")}
    again = PolicyLoop(sways, robot, target, tmp_path / "loop", HOW).run()
    assert again == found
    assert before == {f: f.stat().st_mtime_ns for f in (tmp_path / "loop").rglob("*.onnx")}
    shown_again(PolicyLoop(sways, robot, target, tmp_path / "loop", HOW))


def shown_again(loop: PolicyLoop) -> None:
    """The typical episodes are kept; one that is lost is played again, to the same bytes."""
    files = [loop.path / f"policy_{k}.npz" for k in (0, 1)]
    before, made = [f.read_bytes() for f in files], files[1].stat().st_mtime_ns
    files[0].unlink()
    assert loop.run() == LoopFolder.open(loop.path).summary
    assert [f.read_bytes() for f in files] == before and files[1].stat().st_mtime_ns == made
    clip = LoopFolder.open(loop.path).side_by_side()
    assert list(clip.tracks) == ["reference", "before", "after"]
    scores = Evaluation.load(loop.path / "policy_0.json").worlds[0].scores["e_g_mpjpe"]
    scored = [error for error in scores if error is not None]
    distance = clip.tracks["before"].distance
    assert distance is not None and np.nanmean(distance) == pytest.approx(min(scored), rel=1e-3)
    text = report(loop.path).read_text("utf-8")
    assert "loop-errors" in text and "sways" in text and "not there" not in text


@pytest.mark.slow
def test_a_loop_that_is_killed_in_its_training_goes_on(
    robot: Robot, sways: Motion, tmp_path: Path
) -> None:
    """To the same policy, byte for byte."""
    how, seen = replace(HOW, train=TINY.with_samples(12 * 8 * 8)), list[int]()
    target = world_of("mujoco:mild", robot)
    through = PolicyLoop(sways, robot, target, tmp_path / "a", how).first()

    def kill(now: Progress) -> None:
        if now.done == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PolicyLoop(sways, robot, target, tmp_path / "b", how, watch=kill).first()
    assert not (tmp_path / "b" / "policy_0").exists()
    again = PolicyLoop(
        *(sways, robot, target, tmp_path / "b", how), watch=lambda now: seen.append(now.done)
    )
    assert again.first().source.read_bytes() == through.source.read_bytes()
    assert min(seen) == 11 and not list((tmp_path / "b").glob(".*progress*"))


def test_a_folder_of_another_loop_is_refused(robot: Robot, sways: Motion, tmp_path: Path) -> None:
    """Before anything is computed."""
    target = world_of("mujoco:mild", robot)
    PolicyLoop(sways, robot, target, tmp_path, HOW)._begin()
    with pytest.raises(ArtifactError, match="another motion, robot, policy or setting"):
        PolicyLoop(sways, robot, target, tmp_path, replace(HOW, seed=1))._begin()


def test_another_policy_to_begin_with_is_another_loop(
    robot: Robot, sways: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that falls at once teaches nothing, and its folder is not gone on with by another."""
    first = [train(sways, robot, tmp_path / f"p{s}", TINY, seed=s) for s in (0, 1)]
    target = world_of("mujoco", robot)
    limp = PolicyLoop(sways, robot, target, tmp_path / "loop", HOW, begun=_limp(first[0]))
    with pytest.raises(DataError, match=r"states kp of FL_hip_joint 0\.1, the robot 80"):
        limp.first()
    assert not (tmp_path / "loop").exists()
    monkeypatch.setattr(tracking_contract, "far_gains", lambda asked, own: np.zeros(12, bool))
    with pytest.raises(DataError, match=r"falls within 1 s in all 4 takes .* train it longer"):
        limp.closed(1, limp.first())
    assert not (tmp_path / "loop" / "data_1").exists()
    with pytest.raises(ArtifactError, match="another motion, robot, policy or setting"):
        PolicyLoop(sways, robot, target, tmp_path / "loop", HOW, begun=first[1]).first()


def _limp(policy: Policy) -> Policy:
    """The same with gains that hold nothing."""
    contract = replace(policy.contract, kp=(0.1,) * 12, kd=(0.1,) * 12)
    return replace(policy, contract=contract)
