"""Every folder of real recordings goes through import, check and measure."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.measurement import Gap, measure
from gapless.recordings import Dataset
from gapless.recordings.checks import CheckReport, check_dataset
from gapless.recordings.importing import ImportReport, import_dataset
from gapless.recordings.options import ImportOptions
from gapless.robots import Robot
from gapless.worlds import MujocoWorld

HORIZONS = (0.25, 0.5)


@dataclass(frozen=True)
class Case:
    """A folder of logs, and what is known about it.

    Attributes:
        format: the importer.
        folder: under the shared data.
        robot: a built-in robot.
        mount: how it was held.
        recordings: how many it holds.
        rate: samples a second of the dataset.
        gap: bounds of every clip's mean joint error, rad: above zero, as no simulator is right
            (but a joint that sticks stands nearly as still as the real one before its step);
            below some 1.5 to 2 times the largest that was seen.
        files: only these, to stay fast.
        hold: what joints do that the log lacks.
    """

    format: str
    folder: str
    robot: str
    mount: str
    recordings: int
    rate: int
    gap: tuple[float, float]
    files: tuple[str, ...] = ()
    hold: str | None = None


CASES = {
    "so101": Case("sage", "so101", "so101", "fixed", 10, 50, (0.005, 0.08)),
    "h1_2": Case(
        "gaponet",
        "h1_2/origin",
        "h1_2",
        "fixed",
        43,
        50,
        (0.001, 0.06),
        ("motor_left_elbow_joint_0kg.npz", "motor_left_shoulder_pitch_joint_0kg.npz"),
        "default",
    ),
    "kbot_leg": Case("kscale", "kbot_leg", "kbot", "fixed", 10, 90, (1e-7, 0.06), hold="default"),
    "kbot_leg_on_legs": Case(
        "kscale", "kbot_leg", "kbot_legs", "fixed", 10, 90, (1e-7, 0.06), hold="zero"
    ),
    "kbot_walk": Case("kscale", "kbot_walk", "kbot_legs", "free", 2, 48, (0.01, 0.4)),
    "go2": Case("walk_these_ways", "go2", "go2", "free", 5, 50, (0.02, 0.2)),
    "asap": Case("asap", "motions/asap_g1_23dof", "g1_23dof", "free", 6, 30, (0.005, 0.1)),
}


@dataclass
class Imported:
    """A dataset and everything that was said about it."""

    robot: Robot
    dataset: Dataset
    report: ImportReport
    check: CheckReport

    @property
    def fit(self) -> Dataset:
        """The recordings that were not flagged."""
        return self.dataset.select(lambda episode: not episode.flags)


@pytest.fixture(scope="module")
def imported(shared_data: Path, tmp_path_factory: pytest.TempPathFactory):
    """Import and check a case, once for all tests of this module."""
    done: dict[str, Imported] = {}

    def get(name: str) -> Imported:
        if name not in done:
            done[name] = _import(CASES[name], shared_data, tmp_path_factory.mktemp(name))
        return done[name]

    return get


def _import(case: Case, data: Path, tmp: Path) -> Imported:
    source = data / case.folder
    if case.files:
        (tmp / "logs").mkdir()
        for name in case.files:
            shutil.copy(source / name, tmp / "logs")
        source = tmp / "logs"
    robot = Robot.load(case.robot, mount=case.mount)
    options = ImportOptions(hold=case.hold)
    report = import_dataset(case.format, source, robot, tmp / "dataset", options)
    dataset = Dataset.open(tmp / "dataset")
    return Imported(robot, dataset, report, check_dataset(dataset, robot))


def _measured(found: Imported, recordings: Dataset) -> Gap:
    world = MujocoWorld(found.robot, recordings.rate)
    return measure(recordings, world, horizons=HORIZONS, windows=2)


@pytest.mark.parametrize("name", CASES)
def test_every_log_becomes_a_recording(imported, name):
    """Nothing is refused or unread, rate and joints are as known, and the check counts the same."""
    case, found = CASES[name], imported(name)
    assert (found.report.refused, found.report.unread) == ({}, [])
    assert found.report.logs == found.report.recordings == len(found.dataset) == case.recordings
    assert found.dataset.rate == case.rate
    assert found.dataset.joints == found.robot.joints.names
    assert found.check.recordings == case.recordings
    assert found.check.seconds == pytest.approx(found.dataset.seconds)


@pytest.mark.parametrize("name", [name for name in CASES if name != "go2"])
def test_good_logs_pass_the_check(imported, name):
    """Neither import nor check finds an error in runs that are known to be sound."""
    found = imported(name)
    assert found.report.flagged == []
    assert found.check.ok


def test_exactly_the_failed_go2_runs_are_flagged(imported):
    """The three runs whose targets the legs never followed are flagged by import and check."""
    found = imported("go2")
    failed = [
        "go2_2024-01-26_11_18_35",
        "go2_2024-01-26_11_22_05",
        "go2_2024-01-28_09_22_33",
    ]
    assert found.report.flagged == failed
    errors = {f.recording for f in found.check.findings if f.severity == "error"}
    assert errors == set(failed)
    assert set(found.dataset.motions) - set(found.fit.motions) == set(failed)


@pytest.mark.parametrize("name", [name for name in CASES if name != "asap"])
def test_gaps_are_finite_and_plausible(imported, name):
    """Every sound clip is scored at every horizon, within the bounds its case states."""
    case, found = CASES[name], imported(name)
    gap = _measured(found, found.fit)
    _assert_plausible(gap, len(found.fit), case.gap)


def _assert_plausible(gap: Gap, clips: int, bounds: tuple[float, float]) -> None:
    for horizon in HORIZONS:
        assert len(gap.at(horizon)) == clips
        errors = [np.nanmean(clip.joints["mpjae"]) for clip in gap.at(horizon)]
        assert np.isfinite(errors).all()
        assert bounds[0] < min(errors)
        assert max(errors) < bounds[1]
        assert not any(clip.diverged for clip in gap.at(horizon))


def test_reference_motions_are_measured_only_when_declared_as_commands(imported):
    """ASAP's motions command nothing: measure refuses them, and says how to play them."""
    case, found = CASES["asap"], imported("asap")
    assert found.check.missing["target"] == case.recordings
    with pytest.raises(DataError, match="with_reference_as_command"):
        _measured(found, found.dataset)
    played = found.dataset.map(lambda recording: recording.with_reference_as_command())
    _assert_plausible(_measured(found, played), case.recordings, case.gap)


def test_names_and_conditions_of_single_joint_tests(imported):
    """Motor numbers become joints, with the gains of the log; all other joints are held."""
    found = imported("kbot_leg")
    assert {name.split("/")[0] for name in found.dataset.motions} == {"chirp", "step"}
    episode = found.dataset.episodes[found.dataset.motions.index("chirp/actuator_44")]
    assert episode.conditions.gains == {"dof_right_knee_04": (150.0, 8.0)}
    assert len(episode.conditions.held) == 19


def test_one_log_bends_the_same_knee_on_both_kbots(imported):
    """The two models turn the knee about opposite axes, and each gets the sign that bends it."""
    old, new = imported("kbot_leg_on_legs"), imported("kbot_leg")
    at = old.dataset.motions.index("chirp/actuator_44")
    bends = [
        found.dataset[at].q[:, found.robot.joints.index(joint)]
        for found, joint in ((new, "dof_right_knee_04"), (old, "right_knee_04"))
    ]
    np.testing.assert_allclose(bends[0], -bends[1], atol=1e-6)
    assert bends[0].max() < 0


def test_h1_2_payload_labels_and_torque_gains(imported):
    """The 0 kg files are labelled so, and their torques follow the table's gains within a tenth."""
    found = imported("h1_2")
    assert all(e.conditions.payloads == {} for e in found.dataset.episodes)
    assert found.dataset.motions[0] == "left_elbow_joint_ramp/000"
    kp = {}
    for joint in ("left_elbow_joint", "left_shoulder_pitch_joint"):
        column = found.robot.joints.index(joint)
        clips = [r for r in found.dataset if r.name.startswith(joint)]
        error = np.concatenate([(r.target[:-1] - r.q[1:])[:, column] for r in clips])
        speed = np.concatenate([r.channels["dq"][1:, column] for r in clips])
        torque = np.concatenate([r.channels["torque"][1:, column] for r in clips])
        kp[joint] = np.linalg.lstsq(np.stack([error, -speed], 1), torque, rcond=None)[0][0]
        assert kp[joint] == pytest.approx(found.robot.joints.kp[column], rel=0.1)
