"""The Motion: names, clocks, lead-in, files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, FormatError, NameMismatchError
from gapless.motions import Motion
from gapless.robots import Robot


@pytest.fixture
def wave() -> Motion:
    """Two joints of an arm, one by its name in logs, with a base."""
    time = np.arange(101)[:, None] / 50
    turn = np.column_stack([np.cos(time / 2), 0 * time, 0 * time, np.sin(time / 2)])
    q = np.sin(3 * time + [0.3, 0.8])
    return Motion("wave", ("elbow_flex", "Rotation"), 50, q, np.hstack([time] * 3), turn, "test")


def test_targets_go_by_name(wave: Motion, so101: Robot) -> None:
    """Aliases count, joints that are absent stay at the default pose, locked ones are left out."""
    targets = wave.targets(so101)
    assert np.array_equal(targets[:, so101.joints.index("elbow_flex")], wave.q[:, 0])
    assert np.array_equal(targets[:, so101.joints.index("shoulder_pan")], wave.q[:, 1])
    rest = [i for i, n in enumerate(so101.joints.names) if n not in ("elbow_flex", "shoulder_pan")]
    assert (targets[:, rest] == so101.joints.default[rest]).all()
    locked = so101.lock(["elbow_flex"])
    assert wave.targets(locked).shape == (101, 5)


def test_unknown_joints_are_refused(wave: Motion, so101: Robot) -> None:
    """The nearest right name is in the message."""
    with pytest.raises(NameMismatchError, match="Did you mean 'elbow_flex'"):
        replace(wave, joints=("elbow_flx", "Rotation")).targets(so101)


def test_resampling_keeps_the_curve_and_its_bounds(wave: Motion, so101: Robot) -> None:
    """Samples of the old clock are met exactly; the base turns with the joints."""
    fine = wave.resampled(200)
    assert fine.seconds == pytest.approx(wave.seconds)
    assert np.allclose(fine.q[::4], wave.q)
    assert np.allclose(fine.q, np.sin(3 * np.arange(401)[:, None] / 200 + [0.3, 0.8]), atol=2e-3)
    assert (fine.q.max(axis=0) <= wave.q.max(axis=0)).all()
    assert fine.base_quat_wxyz is not None
    assert np.allclose(fine.base_quat_wxyz[:, 3], np.sin(np.arange(401) / 400))
    assert wave.targets(so101, 30).shape == (61, 6)


def test_a_step_does_not_overshoot_when_resampled() -> None:
    """A command never leaves the range of its neighbours."""
    step = Motion("step", ("a",), 50, np.repeat([[0.0], [1.0]], 10, axis=0))
    assert np.ptp(step.resampled(333).q) == 1.0


def test_lead_in_starts_and_ends_at_rest_in_the_default_pose(wave: Motion, so101: Robot) -> None:
    """The robot is not thrown: small steps, half the speed limit at most."""
    motion = wave.with_lead_in(so101, 0.01)
    speed = np.abs(np.diff(motion.q, axis=0)) * 50
    lead = (len(motion) - len(wave)) // 2
    assert np.array_equal(motion.q[0], so101.joints.default)
    assert np.array_equal(motion.q[-1], so101.joints.default)
    assert (speed[:lead] <= 0.5 * so101.joints.velocity + 1e-9).all()
    assert speed[[0, -1]].max() < 0.2
    assert motion.base_pos is not None and len(motion.base_pos) == len(motion)
    assert np.array_equal(motion.for_robot(so101).q, motion.q)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_files_keep_everything(wave: Motion, tmp_path: Path, suffix: str) -> None:
    """Names, rate, base; nothing else is left in the folder, and bytes are reproducible."""
    path = wave.save(tmp_path / f"wave{suffix}")
    again = Motion.load(path)
    assert (again.name, again.joints, again.rate) == (wave.name, wave.joints, 50)
    for field in ("q", "base_pos", "base_quat_wxyz"):
        assert np.allclose(getattr(again, field), getattr(wave, field), atol=1e-11)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == wave.save(tmp_path / f"again{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rate": 0}, "rate is 0"),
        ({"joints": ("a", "a")}, "named twice"),
        ({"joints": ("a",)}, r"q has shape \(101, 2\), expected \(101, 1\)"),
        (
            {"q": np.where(np.arange(202).reshape(101, 2) == 7, np.nan, 0.0)},
            r"q of 'Rotation' is not finite at 0\.060 s \(sample 3\)",
        ),
        ({"base_quat_wxyz": np.zeros((101, 4))}, r"length 0 at 0\.000 s \(sample 0\)"),
        ({"base_pos": np.zeros((3, 3))}, "base_pos has shape"),
    ],
)
def test_nonsense_is_refused(wave: Motion, change: dict, problem: str) -> None:
    """The message names the motion, the field and what was expected."""
    with pytest.raises(DataError, match=problem):
        replace(wave, **change)


def test_files_that_are_no_motion_are_refused(tmp_path: Path) -> None:
    """Wrong suffix, missing arrays, an uneven clock, Python objects."""
    with pytest.raises(FormatError, match=r"saved as \.npz or \.csv"):
        Motion.load(tmp_path / "a.pkl")
    np.savez(tmp_path / "a.npz", q=np.zeros((3, 1)))
    with pytest.raises(FormatError, match="lacks"):
        Motion.load(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", joints=np.array([{}]), rate=1.0, q=np.zeros((3, 1)))
    with pytest.raises(FormatError, match="Python objects"):
        Motion.load(tmp_path / "b.npz")
    (tmp_path / "b.csv").write_text("time,j,base_x\n0,1,0\n1,2,0\n")
    with pytest.raises(FormatError, match=r"lacks the columns \['base_y', 'base_z'\]"):
        Motion.load(tmp_path / "b.csv")
    (tmp_path / "a.csv").write_text("time,j\n0,1\n1,2\n5,3\n")
    with pytest.raises(FormatError, match="not uniform"):
        Motion.load(tmp_path / "a.csv")


@pytest.mark.parametrize("value", [1e308, -1e7])
def test_positions_that_nothing_can_have_are_refused(value: float) -> None:
    """They are finite, and their slopes are not."""
    q = np.zeros((5, 1))
    q[2] = value
    with pytest.raises(DataError, match=r"absurdly large at 0\.040 s"):
        Motion("far", ("hip",), 50.0, q)
