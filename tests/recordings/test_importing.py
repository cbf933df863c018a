"""Importing a source into a dataset."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.dataset import Dataset
from gapless.recordings.importing import common_rate, import_dataset, import_logs, refusals
from gapless.recordings.options import ImportOptions
from gapless.robots import Robot
from raw_logs import arm_log, edited, rows


def named(log, name):
    """The log under another name and source."""
    return replace(log, name=name, source=f"/somewhere/{name}.csv")


def test_rate_is_the_lowest_native_rate(so101):
    """A dataset is never finer than its coarsest log; an unusable log does not decide."""
    logs = [arm_log(so101, rate=r) for r in (100.0, 49.8, 200.0)]
    assert common_rate(logs, ImportOptions()) == 50
    assert common_rate([replace(logs[0], streams={}), logs[2]], ImportOptions()) == 200


def test_a_log_that_is_clearly_resampled_is_warned_of(so101, tmp_path):
    """The lowest rate decides; a log at another one is told, unless the rate was asked for."""
    logs = [named(arm_log(so101, rate=r), f"at_{r:g}") for r in (48.0, 93.9, 50.0)]
    report = import_logs(logs, so101, tmp_path / "a", ImportOptions())
    (found,) = [f for f in report.findings if f.code == "resampled"]
    assert (report.rate, found.recording, found.severity) == (48, "at_93.9", "warning")
    assert "0.51" in found.message and "--rate 94" in found.message
    asked = import_logs(logs, so101, tmp_path / "b", ImportOptions(rate=94))
    assert [f.severity for f in asked.findings if f.code == "resampled"] == ["info", "info"]


def test_real_walks_of_two_rates_are_told(shared_data, tmp_path):
    """K-Bot: the 94 Hz policy log that becomes 48 Hz is a warning."""
    robot = Robot.load("kbot_legs")
    report = import_dataset("kscale", shared_data / "kbot_walk", robot, tmp_path / "d")
    (found,) = [f for f in report.findings if f.code == "resampled"]
    assert "93.9 Hz" in found.message and found.severity == "warning"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rate": 0}, "--rate is 0.*1 to 10000"),
        ({"rate": -50}, "--rate is -50"),
        ({"rate": 49.5}, "whole number"),
        ({"rate": 20_000}, "--rate is 20000"),
        ({"max_masked": 1.5}, "--max-masked is 1.5.*0 to 1"),
        ({"max_masked": float("nan")}, "--max-masked is nan"),
        ({"max_gap": 0.0}, "--max-gap is 0.0.*above 0"),
        ({"payload": "gripper=-1"}, "gripper carries -1.0 kg"),
        ({"payload": "gripper=nan"}, "gripper carries nan kg"),
    ],
)
def test_impossible_options_are_refused(wrong, words):
    """An option out of its range is refused with the range, before anything is read."""
    with pytest.raises(DataError, match=words):
        ImportOptions(**wrong)


def test_bridged_and_saturated_samples_are_counted(so101, tmp_path):
    """The report counts what was bridged and what torque was dropped."""
    log = arm_log(so101)
    torque = np.clip(log.streams["dq"].values, -0.2, 0.2)
    messy = rows(edited(log, torque=torque), np.delete(np.arange(400), [200, 201]))
    report = import_logs([messy], so101, tmp_path / "d", ImportOptions())
    assert report.interpolated == 2 and report.masked == {}
    stored = Dataset.open(tmp_path / "d")[0]
    assert 0 < report.torque_saturated == np.isnan(stored.channels["torque"]).sum()


def test_refused_logs_are_listed_and_the_rest_imported(so101, tmp_path):
    """One bad log does not stop the others, and is never dropped silently."""
    good = named(arm_log(so101), "good")
    bad = named(edited(good, q=np.full((400, 6), np.nan)), "bad")
    report = import_logs([good, bad], so101, tmp_path / "data", ImportOptions())
    assert (report.logs, report.recordings) == (2, 1)
    assert "not in the log" in report.refused["bad"]
    data = Dataset.open(tmp_path / "data")
    assert data.motions == ("good",)
    assert data[0].provenance["source"] == "good.csv"
    assert data[0].provenance["format"] == "raw"
    json.dumps(report.to_dict())


def test_nothing_usable_writes_nothing(so101, tmp_path):
    """When every log is refused all reasons are told and no folder appears."""
    bad = arm_log(so101, time_unit="ns")
    with pytest.raises(DataError, match="plausible"):
        import_logs([bad], so101, tmp_path / "data", ImportOptions(rate=50))
    assert list(tmp_path.iterdir()) == []


def test_one_reason_of_many_logs_is_told_once(so101, tmp_path):
    """Logs that do not say their pairing: one line, whatever was measured, and what to type."""
    logs = [
        named(arm_log(so101, lag=0.03 + 0.002 * k, seed=k, pairing="unknown"), f"walk_{k}")
        for k in range(7)
    ]
    still = arm_log(so101, pairing="unknown")
    still = edited(still, q=0 * still.streams["q"].values, target=0 * still.streams["q"].values)
    bad = named(rows(arm_log(so101), np.arange(2)), "short")
    report = import_logs(
        [*logs, named(still, "still"), bad, arm_log(so101)],
        so101,
        tmp_path / "d",
        ImportOptions(rate=50),
    )
    assert len(report.refused) == 9 and report.recordings == 1
    together, alone = refusals(report.refused)
    assert together.startswith("8 logs (walk_0, walk_1, walk_2, walk_3, walk_4 and 3 more)")
    assert together.count("--command-acts after") == 1 and "short" in alone


def test_flagged_recordings_are_kept_or_excluded(so101, tmp_path):
    """A run that did not follow its commands is marked; exclude_flagged leaves it out."""
    good = named(arm_log(so101), "good")
    target = good.streams["target"].values + np.array([0.8, 0.8, 0.8, 0, 0, 0])
    failed = named(edited(good, target=target), "failed")
    kept = import_logs([good, failed], so101, tmp_path / "a", ImportOptions())
    assert kept.flagged == ["failed"] and kept.recordings == 2
    flags = {e.name: e.flags for e in Dataset.open(tmp_path / "a").episodes}
    assert flags == {"good": (), "failed": ("not_followed",)}
    only = ImportOptions(exclude_flagged=True)
    report = import_logs([good, failed], so101, tmp_path / "b", only)
    assert (report.recordings, report.excluded) == (1, ["failed"])


def test_progress_names_every_log(so101, tmp_path):
    """A watch is told once a log, refused ones included."""
    seen = []
    logs = [named(arm_log(so101, seed=k), f"m{k}") for k in range(3)]
    import_logs(logs, so101, tmp_path / "d", ImportOptions(), seen.append)
    assert [(now.stage, now.done) for now in seen] == [("m0", 1), ("m1", 2), ("m2", 3)]


def test_real_arm_logs_import(shared_data, so101, tmp_path):
    """SAGE folders of an SO-101 become a 50 Hz dataset in one call."""
    report = import_dataset("sage", shared_data / "so101", so101, tmp_path / "d")
    assert (report.rate, report.logs, report.recordings) == (50, 10, 10)
    assert report.refused == {} and report.flagged == []
    data = Dataset.open(tmp_path / "d")
    assert data.joints == so101.joints.names and data.seconds > 900
    assert all("/" not in e.provenance["source"] for e in data.episodes)
