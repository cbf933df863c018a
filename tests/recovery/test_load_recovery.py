"""Recovery of a load: found from recordings, put into the training world, and carried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gapless
from gapless.cli.main import main
from gapless.errors import ModelError
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.motions.excitation import multisine
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.mlp_weights import read_mlp
from gapless.recordings import Recording, Split
from gapless.robots import Payload, Robot
from gapless.tracking.tracker_episodes import whole_episodes
from gapless.tracking.tracking_rewards import ASAP
from gapless.tracking.tracking_task import TrackingTask
from gapless.tracking.training_worlds import calibrated_world
from gapless.tracking.varied_worlds import varied_world
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from gapless.worlds.world import World
from pendulum import pendulum, swings
from quick_trackers import QUICK

STEP = 0.005
TRUE = Payload(0.4, (0.0, 0.0, -0.1))
"""Hung 10 cm below the bob."""
TUNING = replace(QUICK, noise=0.25, warm_up=3, tightening=0.0)


def clips(robot: Robot, load: Payload | None) -> list[Recording]:
    """Two motions as encoders saw them; with a load, none says that it is there."""
    world = MujocoWorld(robot.with_payloads({"bob": load} if load else {}), physics_step=STEP)
    found = []
    for k in range(2):
        wave = multisine(robot, 6.0, 50, seed=k + 10 * bool(load), amplitude=0.5)
        name = f"load_{k}" if load else f"bare_{k}"
        clip = record(world, wave, name, start=world.home())
        noisy = clip.q + np.random.default_rng(k).normal(0, 2e-4, clip.q.shape)
        told = replace(clip.conditions, payloads=None if load else {})
        found.append(replace(clip, q=noisy, channels={}, conditions=told))
    return found


@pytest.fixture(scope="module")
def calibration(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Of a pendulum with more damping than its model, by two stages."""
    robot = pendulum(tmp_path_factory.mktemp("nominal"))
    real = robot.with_joints(damping=robot.joints.damping + 0.3)
    data = Split.of([*clips(real, None), *clips(real, TRUE)])
    return identify(
        *(data, robot, ["damping"]),
        plan="two-stage",
        payload=["payload/bob", "payload_z/bob"],
        loaded=["load_*"],
        settings=IdentifySettings(physics_step=STEP, windows=12),
        keep_anyway=True,
    )


def error(policy: Policy, world: World) -> float:
    """Mean distance of bodies over the whole motion from its first frame, m."""
    frames = MotionFrames.of(swings(), world.robot)
    task = TrackingTask(frames, world.robot, policy.contract, ASAP, 1, where="first")
    return float(whole_episodes(world, task, read_mlp(policy.network.path)).mean())


def test_the_load_is_in_the_training_world(calibration: Calibration, tmp_path: Path) -> None:
    """Mass and centre, on the robot as its first stage found it; also when that is varied."""
    found = calibration.loaded
    assert found is not None
    low, high = found["payload/bob"].interval
    assert low < TRUE.mass * 2.1 / 2 < high  # a pendulum tells moments, and no centres
    placed = found.with_values({"payload/bob": 0.3, "payload_z/bob": -0.2})
    robot = pendulum(tmp_path)
    world = calibrated_world(replace(calibration, loaded=placed), robot, STEP)
    assert world.robot.payloads == {"bob": Payload(0.3, (0.0, 0.0, -0.2))}
    body = world.robot.model().body("bob")
    assert body.mass[0] == pytest.approx(0.8) and body.ipos[2] == pytest.approx(-0.3 * 0.2 / 0.8)
    assert world.robot.joints.damping[0] == pytest.approx(0.3, abs=0.06)
    loads = [w.robot.payloads["bob"].mass for w in varied_world(world, 4).worlds]
    assert len(set(loads)) == 4
    near = varied_world(world, 4, ranges="narrow").worlds
    assert all(w.robot.payloads == world.robot.payloads for w in near)


def test_an_identified_load_is_carried(
    swinger: Policy, calibration: Calibration, tmp_path: Path
) -> None:
    """Of what the load costs a tracker, 60 % at least is won back; it never saw the truth."""
    robot = pendulum(tmp_path)
    true = MujocoWorld(robot.with_payloads({"bob": TRUE}), physics_step=STEP)
    before = error(swinger, MujocoWorld(robot, physics_step=STEP))
    lost = error(swinger, true)
    assert lost > 3 * before
    world = calibrated_world(calibration, robot, STEP)
    tuned = gapless.finetune(swinger, world, tmp_path / "tuned", TUNING)
    assert lost - error(tuned, true) > 0.6 * (lost - before)


def test_the_command_tunes_in_the_same_world(
    swinger: Policy, calibration: Calibration, tmp_path: Path
) -> None:
    """`finetune --calibration`: the world of `calibrated_world`."""
    robot, file = pendulum(tmp_path), tmp_path / "load.json"
    calibration.save(file)
    asked = ["finetune", str(swinger.source.parent), "--calibration", str(file)]
    where = ["--robot", robot.source or "", "--out", str(tmp_path / "tuned")]
    alone = ["--environments", "8", "--samples", "200", "--vary", "0"]
    assert main([*asked, *where, *alone]) == 0
    facts = gapless.artifact.read_json(tmp_path / "tuned" / "training.json")
    world = calibrated_world(Calibration.load(file), robot, STEP)
    assert facts["world"]["model_hash"] == world.identity.model_hash


def test_a_load_that_the_motor_does_not_hold_is_refused(
    swinger: Policy, calibration: Calibration, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is trained; nothing is left behind."""
    robot, file = pendulum(tmp_path), tmp_path / "heavy.json"
    held = robot.with_joints(default=np.array([np.pi / 2]))
    assert calibration.loaded is not None
    heavy = calibration.loaded.with_values({"payload/bob": 20.0})
    heavy = replace(calibration, loaded=heavy)
    with pytest.raises(ModelError, match=r"20 kg on bob is beyond.*swing needs .* limit is 60"):
        calibrated_world(heavy, held, STEP)
    with pytest.raises(ModelError, match="beyond the motors"):
        loaded = MujocoWorld(held.with_payloads({"bob": Payload(20.0)}), physics_step=STEP)
        gapless.finetune(swinger, loaded, tmp_path / "tuned", TUNING, motion=swings())
    heavy.save(file)
    asked = [
        "finetune",
        str(swinger.source.parent),
        "--calibration",
        str(file),
        "--world",
        "mujoco",
    ]
    assert main([*asked, "--out", str(tmp_path / "tuned")]) == 2
    assert "where shall it be tuned?" in capsys.readouterr().err
    assert not (tmp_path / "tuned").exists()
