"""Readings that no robot can have had are masked and told; the rest of the log is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless import Dataset, Robot
from gapless.errors import DataError
from gapless.recordings import Recording
from gapless.recordings.importing import ImportReport, import_dataset
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.clock import infer_unit

RATE = 50.0


def write_log(path: Path, spikes: dict[int, float], time: np.ndarray | None = None) -> None:
    """Ten seconds of waves with other readings of the first joint in some rows."""
    names = Robot.load("so101").joints.names
    at = np.arange(500) / RATE
    q = 0.3 * np.sin(np.pi * at[:, None] + np.arange(len(names)) / 3) + 0.3
    target = q.copy()
    for row, value in spikes.items():
        q[row, 0] = value
    columns = ["t", *(f"q_{n}" for n in names), *(f"cmd_{n}" for n in names)]
    rows = np.hstack([(at if time is None else time)[:, None], q, target])
    text = "\n".join(",".join(repr(float(v)) for v in row) for row in rows)
    path.write_text(",".join(columns) + "\n" + text + "\n")
    joints = ", ".join(f'"{n}"' for n in names)
    (path.parent.parent / "mapping.toml").write_text(
        f'time = "t"\nangle_unit = "rad"\njoints = [{joints}]\nq = "q_{{joint}}"\n'
        'target = "cmd_{joint}"\npairing = "acts_after"\n'
    )


def imported(folder: Path) -> tuple[dict[str, Recording], ImportReport]:
    """All logs of a folder, by name."""
    robot, options = Robot.load("so101"), ImportOptions(mapping=folder / "mapping.toml")
    report = import_dataset("generic", folder / "logs", robot, folder / "data", options)
    return {r.name: r for r in Dataset.open(folder / "data")}, report


@pytest.mark.parametrize("value", [1e308, 1e30, -1e12, 700.0, np.inf])
def test_a_spike_costs_itself_and_no_other_log(value: float, tmp_path: Path) -> None:
    """The sample is masked and counted, its neighbours and the other log are as they were."""
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "a.csv", {})
    write_log(tmp_path / "logs" / "b.csv", {100: value})
    found, report = imported(tmp_path)
    assert not report.refused and set(found) == {"a", "b"}
    assert found["a"].mask.all() and (~found["b"].mask).sum() <= 3
    assert not found["b"].mask[100, 0] or abs(found["b"].q[100, 0] - found["a"].q[100, 0]) < 0.05
    assert np.abs(found["b"].q).max() < 1.0
    np.testing.assert_allclose(found["b"].q[200:], found["a"].q[200:], atol=1e-6)
    if np.isfinite(value):
        assert any("spike" in str(f) for f in report.findings)


def test_a_fast_joint_is_no_spike(tmp_path: Path) -> None:
    """Nor is one that leaps and stays, or a log that begins with something odd."""
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs" / "a.csv", {0: 2.0, 100: 0.45, 101: 0.5})
    found, _ = imported(tmp_path)
    assert found["a"].mask.all() and found["a"].q[100, 0] == pytest.approx(0.45)


@pytest.mark.parametrize("declared", [None, "s", "ms"])
def test_a_clock_in_two_units_is_refused(declared: str | None) -> None:
    """Whichever of them is the usual one; gaps and a reset are none."""
    time = np.arange(500) / RATE
    for cut in (100, 250, 400):
        mixed = np.concatenate([time[:cut], 1000 * time[cut:]])
        with pytest.raises(DataError, match=r"two units|median sampling interval"):
            infer_unit(mixed, declared)  # type: ignore[arg-type]
    gaps = time.copy()
    gaps[200:] += 20.0
    gaps[300:] += 20.0
    assert infer_unit(gaps, None) == "s"
    assert infer_unit(np.concatenate([time, time]), None) == "s"
