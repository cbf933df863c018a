"""Importing a source into a dataset."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.dataset import Dataset
from gapless.recordings.importing import common_rate, import_dataset, import_logs
from gapless.recordings.options import ImportOptions
from raw_logs import arm_log, edited


def named(log, name):
    """The log under another name and source."""
    return replace(log, name=name, source=f"/somewhere/{name}.csv")


def test_rate_is_the_lowest_native_rate(so101):
    """A dataset is never finer than its coarsest log; an unusable log does not decide."""
    logs = [arm_log(so101, rate=r) for r in (100.0, 49.8, 200.0)]
    assert common_rate(logs, ImportOptions()) == 50
    assert common_rate([replace(logs[0], streams={}), logs[2]], ImportOptions()) == 200


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


def test_flagged_recordings_are_kept_or_excluded(so101, tmp_path):
    """A run that did not follow its commands is marked; exclude_flagged leaves it out."""
    good = named(arm_log(so101), "good")
    target = good.streams["target"].values + np.array([0.8, 0.8, 0.8, 0, 0, 0])
    failed = named(edited(good, target=target), "failed")
    kept = import_logs([good, failed], so101, tmp_path / "a", ImportOptions())
    assert kept.flagged == ["failed"] and kept.recordings == 2
    flags = {e.name: e.provenance["flags"] for e in Dataset.open(tmp_path / "a").episodes}
    assert flags == {"good": [], "failed": ["not_followed"]}
    only = ImportOptions(exclude_flagged=True)
    report = import_logs([good, failed], so101, tmp_path / "b", only)
    assert (report.recordings, report.excluded) == (1, ["failed"])


def test_progress_names_every_log(so101, tmp_path):
    """Progress is called once a log, refused ones included."""
    seen = []
    logs = [named(arm_log(so101, seed=k), f"m{k}") for k in range(3)]
    import_logs(logs, so101, tmp_path / "d", ImportOptions(), lambda n, k: seen.append((n, k)))
    assert seen == [("m0", 1), ("m1", 2), ("m2", 3)]


def test_real_arm_logs_import(shared_data, so101, tmp_path):
    """SAGE folders of an SO-101 become a 50 Hz dataset in one call."""
    report = import_dataset("sage", shared_data / "so101", so101, tmp_path / "d")
    assert (report.rate, report.logs, report.recordings) == (50, 10, 10)
    assert report.refused == {} and report.flagged == []
    data = Dataset.open(tmp_path / "d")
    assert data.joints == so101.joints.names and data.seconds > 900
    assert all("/" not in e.provenance["source"] for e in data.episodes)
