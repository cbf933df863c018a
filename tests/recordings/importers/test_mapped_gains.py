"""Gains of each log by a mapping: a column, a scalar, the file's name, a servo's register."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gapless.errors import FormatError
from gapless.recordings.importers import ReadOptions, read
from gapless.recordings.rawlog import RawLog

BASE = """time = "t"
time_unit = "s"
joints = ["hip", "knee"]
q = "q"
pairing = "acts_after"
"""


def logged(folder: Path, mapping: str, name: str = "squat.npz", **arrays: Any) -> RawLog:
    """One log of two joints and 40 samples, read by a mapping."""
    (log,) = read("generic", write(folder, name, **arrays), options(folder, mapping))
    return log


def write(folder: Path, name: str, **arrays: Any) -> Path:
    """Its file."""
    folder.joinpath("logs").mkdir(exist_ok=True)
    np.savez(folder / "logs" / name, t=np.arange(40) / 50, q=np.zeros((40, 2)), **arrays)
    return folder / "logs" / name


def options(folder: Path, mapping: str, **more: Any) -> ReadOptions:
    """The mapping as a file."""
    (folder / "m.toml").write_text(BASE + mapping)
    return ReadOptions(mapping=folder / "m.toml", **more)


def test_the_number_in_the_files_name(tmp_path: Path) -> None:
    """Every log has its own, scaled."""
    for register in (100, 400, 2.5):
        write(tmp_path, f"squat_kp{register}_v2.npz")
    mapping = '[gains]\nkp = { name = "kp{value}", scale = 0.01 }\nkd = 0.2\n'
    logs = read("generic", tmp_path / "logs", options(tmp_path, mapping))
    found = {log.name: log.conditions.gains for log in logs}
    assert found == {
        f"squat_kp{r}_v2": {
            "hip": pytest.approx((r / 100, 0.2)),
            "knee": pytest.approx((r / 100, 0.2)),
        }
        for r in (100, 400, 2.5)
    }


@pytest.mark.parametrize("value", [12.0, np.array([12.0, 8.0]), json.dumps({"kp": [12, 8]})])
def test_a_scalar_of_the_file(tmp_path: Path, value: Any) -> None:
    """A number, one for each joint, or JSON in a text."""
    inside = isinstance(value, str)
    log = logged(
        tmp_path,
        f'[gains]\nkp = {{ scalar = "{"meta.kp" if inside else "p"}" }}\nkd = 0.5\n',
        **{"meta" if inside else "p": np.array(value)},
    )
    second = 12.0 if np.ndim(value) == 0 and not inside else 8.0
    assert log.conditions.gains == {"hip": (12.0, 0.5), "knee": (second, 0.5)}


def test_metadata_of_other_formats(tmp_path: Path) -> None:
    """An attribute of HDF5, an entry of Parquet, a JSON file beside a table."""
    mapping, (time, q) = (
        '[gains]\nkp = { scalar = "kp" }\nkd = 1\n',
        (np.arange(9) / 50, np.ones((9, 2))),
    )
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["t"], file["q"], file.attrs["kp"] = time, q, 30.0
    table = pa.table({"t": time, "q": list(q)}).replace_schema_metadata({"kp": "31"})
    pq.write_table(table, tmp_path / "b.parquet")
    np.savez(tmp_path / "c.npz", t=time, q=q)
    (tmp_path / "c.json").write_text('{"kp": {"hip": 32, "knee": 33}}')
    logs = [*read("generic", tmp_path, options(tmp_path, mapping))]
    assert [log.conditions.gains["hip"][0] for log in logs] == [30.0, 31.0, 32.0]
    assert logs[2].conditions.gains["knee"] == (33.0, 1.0)


def test_a_column_that_stays(tmp_path: Path) -> None:
    """One column for all joints, or one a joint; of patterns the last that fits counts."""
    mapping = '[gains.kp]\n"*" = { column = "p" }\nknee = { column = "p_{joint}", scale = 2 }\n'
    log = logged(tmp_path, mapping, p=np.full(40, 10.0), p_knee=np.full(40, 7.0))
    kp = {joint: pair[0] for joint, pair in log.conditions.gains.items()}
    assert kp == {"hip": 10.0, "knee": 14.0}
    assert np.isnan(log.conditions.gains["hip"][1]), "kd is the robot's own"


def test_a_column_that_changes_is_refused_and_can_be_trimmed(tmp_path: Path) -> None:
    """The message says when; the stretch before it has one gain."""
    p, mapping = (
        np.where(np.arange(40) < 25, 10.0, 20.0),
        '[gains]\nkp = { column = "p" }\nkd = 1\n',
    )
    with pytest.raises(FormatError, match=r"from 10 to 20 at row 25.*--trim START END"):
        logged(tmp_path, mapping, p=p)
    path = write(tmp_path, "squat.npz", p=p)
    (before,) = read("generic", path, options(tmp_path, mapping, trim=(0.0, 0.48)))
    (after,) = read("generic", path, options(tmp_path, "start = 0.5\n" + mapping))
    assert before.conditions.gains["hip"] == (10.0, 1.0)
    assert after.conditions.gains["hip"] == (20.0, 1.0) and after.trim == (0.5, 0.0)


def test_registers_of_a_servo(tmp_path: Path) -> None:
    """kp from the register and the supply that was logged, kd from the back-EMF; effort is said."""
    mapping = """[gains]
kp = { name = "kp{value}" }
[servo]
kind = "dynamixel_xl330"
supply = { column = "volts" }
stall_torque = 0.52
no_load_speed = 10.8
voltage = 5.0
"""
    volts = 7.4 + 0.05 * np.sin(np.arange(40))
    log = logged(tmp_path, mapping, "lift_kp400.npz", volts=volts)
    kp = 400 / 256 / 885 * 4096 / (2 * np.pi) * 0.52 * np.median(volts) / 5
    assert log.conditions.gains["knee"] == pytest.approx((kp, 0.52 / 10.8))
    (note,) = log.notes
    assert "hip, knee: effort 0.77 N·m at 7.4 V" in note


def test_a_servo_of_all_joints_and_another_of_some(tmp_path: Path) -> None:
    """What the second table does not say is as in the first."""
    mapping = """[gains]
kp = 100
[servo]
kind = "dynamixel_x"
supply = { scalar = "volts" }
stall_torque = 1.4
no_load_speed = 4.8
voltage = 12.0
[servo."kn*"]
stall_torque = 4.1
"""
    gains = logged(tmp_path, mapping, volts=12.0).conditions.gains
    assert gains["knee"] == pytest.approx([4.1 / 1.4 * gain for gain in gains["hip"]])


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("[gains]\nkp = true\n", r"gains\.kp is True; expected a number"),
        ('[gains]\nkp = { name = "kp" }\n', "expected a number"),
        ("[gains]\nkq = 1\n", "holds kp and kd"),
        ('[gains.kp]\n"elbow*" = 1\n', r"'elbow\*' fits no joint"),
        ('[gains]\nkp = { name = "kp{value}" }\n', "file name 'squat.npz' has no number"),
        ('[gains]\nkp = { column = "kpp" }\n', "no column 'kpp'"),
        ('[gains]\nkp = { scalar = "kpp" }\n', "no scalar 'kpp'"),
        ('[servo]\nkind = "dynamixel_x"\n', "stall_torque, no_load_speed, voltage, supply missing"),
        ('[servo."kn*"]\nkind = "pwm"\n', "stall_torque, no_load_speed, voltage, supply missing"),
        ("end = 0.5\nstart = 0.7\n", "no stretch of time"),
        ('start = "a"\n', "seconds were expected"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, mapping: str, message: str) -> None:
    """Before or while a file is read."""
    with pytest.raises(FormatError, match=message):
        logged(tmp_path, mapping)


def test_gains_that_a_mapping_forgets_are_named(tmp_path: Path) -> None:
    """Logs of different gains would be replayed at the robot's own, and nobody would know."""
    (note,) = logged(tmp_path, "", kp=np.array(32.0)).notes
    assert "'kp' looks like a gain" in note and '{ scalar = "kp" }' in note
    assert logged(tmp_path, '[gains]\nkp = { scalar = "kp" }\n', kp=np.array(32.0)).notes == ()


def test_one_number_is_no_column(tmp_path: Path) -> None:
    """Who writes column where scalar is meant is told so."""
    with pytest.raises(FormatError, match=r"is one number, no column; .* scalar"):
        logged(tmp_path, '[gains]\nkp = { column = "kp" }\n', kp=np.array(32.0))
