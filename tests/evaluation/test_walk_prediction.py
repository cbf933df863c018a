"""Predict the walk: velocities found, errors that are right, commands that taught left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import Dataset, MujocoWorld, Policy, Recording, Robot, Scenario
from gapless.cli.main import main
from gapless.closing import Run
from gapless.errors import DataError
from gapless.evaluation import predict_walks
from gapless.evaluation.episode_recordings import episode_recordings, in_numbers, in_words
from gapless.evaluation.policy_episodes import play
from gapless.evaluation.walking_velocity import walked
from gapless.robots.rotations import about

COMMANDS = ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0, 0.2, 0.4))
SECONDS = 6.5


@pytest.fixture(scope="module")
def log(still: Policy, go2: Robot) -> list[Recording]:
    """A robot that is the simulator."""
    asked = Scenario(episodes=3, seconds=SECONDS, commands=COMMANDS)
    played = play(still, MujocoWorld(go2, physics_step=0.005), asked)
    return episode_recordings(played, still.contract, asked, unit="1")


@pytest.fixture
def worlds(go2: Robot) -> dict[str, MujocoWorld]:
    """The simulator."""
    return {"raw": MujocoWorld(go2, physics_step=0.005)}


def going(clip: Recording, velocities: list[tuple[float, float, float]]) -> Recording:
    """The same clip with a base that goes at these speeds, an equal time each."""
    steps = len(clip)
    speed = np.array(velocities)[np.arange(steps) * len(velocities) // steps]
    heading = 0.7 + np.cumsum(speed[:, 2]) / clip.rate
    cos, sin = np.cos(heading), np.sin(heading)
    moved = np.zeros((steps, 3))
    moved[:, 0] = cos * speed[:, 0] - sin * speed[:, 1]
    moved[:, 1] = sin * speed[:, 0] + cos * speed[:, 1]
    quat = about(np.array([0.0, 0.0, 1.0]), heading)
    base = {"base_quat_wxyz": quat, "base_lin_vel_w": moved}
    base["base_ang_vel_b"] = np.full((steps, 3), 9.0)  # a gyro whose zero is wrong
    return replace(clip, channels=clip.channels | base)


def test_velocities_are_those_of_the_base_in_its_heading(log: list[Recording], go2: Robot) -> None:
    """Of every command its own, whatever the heading and the gyro's zero."""
    found = walked(going(log[2], [(0.31, 0.05, -0.02), (-0.1, 0.22, 0.4)]), go2)
    assert [own.command for own in found.values()] == [(0.3, 0.0, 0.0), (0.0, 0.2, 0.4)]
    np.testing.assert_allclose(found[0].velocity, (0.31, 0.05, -0.02), atol=1e-6)
    np.testing.assert_allclose(found[1].velocity, (-0.1, 0.22, 0.4), atol=1e-6)
    assert {own.base for own in found.values()} == {"logged"}


def test_positions_alone_say_the_same(log: list[Recording], go2: Robot) -> None:
    """A tracker that logs poses and no velocities."""
    clip = going(log[1], [(0.4, -0.1, 0.2)])
    path = np.cumsum(clip.channels["base_lin_vel_w"], axis=0) / clip.rate
    poses = {"base_pos": path, "base_quat_wxyz": clip.channels["base_quat_wxyz"]}
    found = walked(replace(clip, channels=poses), go2)[0]
    np.testing.assert_allclose(found.velocity, (0.4, -0.1, 0.2), atol=2e-3)


def test_a_base_that_was_not_logged_is_estimated_and_said(log: list[Recording], go2: Robot) -> None:
    """From the feet and the IMU's orientation: a robot that stands goes nowhere."""
    quat = log[0].channels["base_quat_wxyz"]
    bare = replace(log[0], channels={"imu_quat_wxyz": quat})
    found = walked(bare, go2)[0]
    assert found.base == "estimated"
    np.testing.assert_allclose(found.velocity, 0, atol=0.01)


def test_no_error_where_the_robot_is_the_simulator(
    still: Policy, worlds: dict, log: list[Recording]
) -> None:
    """Four commands, one of them after another."""
    found = predict_walks(still, worlds, log, episodes=3)
    assert len(found.walks) == 4 and found.base == "logged"
    np.testing.assert_allclose(found.errors["raw"], 0, atol=1e-6)


def test_a_robot_that_goes_elsewhere_is_that_far_away(
    still: Policy, worlds: dict, log: list[Recording]
) -> None:
    """The simulator stands still; the robot did not: the mean over commands of the distances."""
    speeds = [[(0.1, 0.0, 0.0)], [(0.5, -0.2, 0.0)], [(-0.2, 0.0, 0.1), (0.0, 0.0, 0.3)]]
    gone = [going(clip, own) for clip, own in zip(log, speeds, strict=True)]
    found = predict_walks(still, worlds, gone, episodes=3)
    np.testing.assert_allclose(found.errors["raw"], (0.2, 0.05, 0.1), atol=5e-3)
    told = found.to_dict()
    assert told["errors"]["raw"]["vx"] == found.errors["raw"][0] and json.dumps(told)
    assert "mean error, 4 commands" in str(found)


def test_takes_that_differ_say_how_well_the_robot_is_known(
    still: Policy, worlds: dict, log: list[Recording]
) -> None:
    """Four takes 0.02 m/s apart: their mean is judged, and what it leaves open is said."""
    takes = [going(log[1], [(0.4 + d, 0.0, 0.0)]) for d in (-0.03, -0.01, 0.01, 0.03)]
    found = predict_walks(still, worlds, takes, episodes=2)
    (walk,) = found.walks
    assert walk.takes == 4 and walk.robot[0] == pytest.approx(0.4, abs=5e-3)
    assert walk.robot_std is not None and found.floor is not None
    assert walk.robot_std[0] == pytest.approx(0.0258, rel=0.05)
    assert found.floor[0] == pytest.approx(0.0258 / 2 * 0.798, rel=0.05)
    assert found.to_dict()["floor"]["vx"] == found.floor[0]
    assert "a perfect simulator" in str(found)
    single = predict_walks(still, worlds, takes[:1], episodes=2)
    assert single.floor is None and "perfect" not in str(single)


def test_a_fall_counts_as_going_nowhere(still: Policy, go2: Robot, log: list[Recording]) -> None:
    """A simulator in which the policy falls at once has not predicted the walk."""
    heavy = go2.with_joints(kp=0.01 * go2.joints.kp)
    gone = [going(log[1], [(0.5, 0.0, 0.2)])]
    limp = replace(still.contract, kp=tuple(0.001 for _ in still.contract.kp))
    found = predict_walks(
        replace(still, contract=limp), {"limp": MujocoWorld(heavy)}, gone, episodes=2
    )
    assert found.walks[0].fell == {"limp": 1.0}
    np.testing.assert_allclose(found.errors["limp"], (0.5, 0.0, 0.2), atol=1e-6)
    assert "100 % fell" in str(found)


def test_commands_that_taught_are_not_reported(
    still: Policy, worlds: dict, log: list[Recording]
) -> None:
    """They are left out by name; where nothing else is left it is refused."""
    taught = {"still: velocity 0.5 0 0", "still: velocity 9 9 9"}
    found = predict_walks(still, worlds, log, taught=taught, episodes=2)
    assert found.left_out == ("velocity 0.5 0 0",)
    assert found.walks[0].command == (0.0, 0.0, 0.0) and len(found.walks) == 3
    assert "not reported, because they taught or chose: velocity 0.5 0 0" in str(found)
    with pytest.raises(DataError, match="taught or chose"):
        predict_walks(still, worlds, log[1:2], taught=taught)


def test_logs_that_cannot_be_predicted_are_refused(
    still: Policy, worlds: dict, log: list[Recording]
) -> None:
    """Of another policy, without commands in their names, too short."""
    other = replace(log[0], conditions=replace(log[0].conditions, policy="other"))
    with pytest.raises(DataError, match="the log is of other"):
        predict_walks(still, worlds, [other])
    with pytest.raises(DataError, match="does not say what 'still' was asked"):
        predict_walks(still, worlds, [replace(log[0], name="walk 3")])
    with pytest.raises(DataError, match="record longer walks"):
        predict_walks(still, worlds, [log[0].clip(0, 140)], episodes=1)


def test_names_say_what_was_asked() -> None:
    """There and back; a name that says nothing gives nothing."""
    asked = np.array([[0.5, -0.0, 0.125], [0.0, -0.3, 0.0]])
    text = in_words(asked)
    assert text == "0.5 0 0.125, then 0 -0.3 0"
    assert in_numbers(f"velocity {text}") == ((0.5, 0.0, 0.125), (0.0, -0.3, 0.0))
    assert in_numbers("kick_level1") is None and in_numbers("a 1 2, then 3") is None


@pytest.mark.slow
def test_the_command_predicts_the_walks_of_a_run(
    still: Policy, log: list[Recording], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, seconds and what taught come from the log and the run; Python says the same."""
    walks, run, out = tmp_path / "walks", tmp_path / "run", tmp_path / "e.json"
    asked = Scenario(
        episodes=8, seconds=SECONDS, commands=tuple((0.1 * k, 0.0, 0.0) for k in range(8)), push=0.5
    )
    played = play(still, MujocoWorld(Robot.load("go2", mount="free"), physics_step=0.005), asked)
    clips = episode_recordings(played, still.contract, asked)
    Dataset.from_recordings(clips, "go2").save(walks)
    small = ["--set", 'parameters=["kp@all"]', "windows=4", "members=1", "physics_step=0.005"]
    small += ['trainer_settings={"horizons": [0.3], "iterations": 2, "samples": 100}']
    robot = ["--robot", "go2", "--mount", "free"]
    assert main(["close", str(walks), *robot, "--out", str(run), *small]) == 0
    told = [str(still.source), "--run", str(run), "--against", str(walks), "--episodes", "4"]
    assert main(["evaluate", *told, "--json", str(out)]) == 0
    opened = Run.open(run)
    found = predict_walks(
        still, opened.worlds(), Dataset.open(walks), taught=opened.taught, episodes=4
    )
    assert json.loads(out.read_text())["walks"] == json.loads(json.dumps(found.to_dict()))
    assert {f"still: {w.motion}" for w in found.walks} == set(opened.facts["split"]["test"])
    assert "not reported" in capsys.readouterr().out
