"""Peak memory of writing, reading, checking and measuring a dataset larger than any recording.

    python benchmarks/memory.py --gigabytes 2

Each pass runs in a process of its own; the baseline is a process that holds one recording.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from gapless.recordings.dataset import Dataset, DatasetWriter
from gapless.recordings.recording import Recording
from gapless.robots import Robot

ROBOT, MOUNT = "g1", "fixed"
FRAMES, RATE = 6000, 50
BYTES = FRAMES * 29 * (4 * 4 + 1)
"""Stored bytes of one recording: q, target, dq and torque in float32, and the mask."""


@dataclass(frozen=True)
class Options:
    """Peak memory of a large dataset."""

    gigabytes: float = 2.0
    """Size of the dataset."""
    limit: float = 1024.0
    """Megabytes that no pass may exceed."""


def recording(i: int, robot: Robot) -> Recording:
    """Two minutes of sines around the standing pose, which the joints follow after a step."""
    rng, count = np.random.default_rng(i), len(robot.joints.names)
    frequency, phase = rng.uniform(0.1, 0.5, count), rng.uniform(0, 2 * np.pi, count)
    angle = 2 * np.pi * frequency * np.arange(FRAMES)[:, None] / RATE + phase
    target = robot.joints.default + 0.1 * np.sin(angle)
    q = np.concatenate([target[:1], target[:-1]]) + rng.normal(0, 1e-4, target.shape)
    channels = {"dq": np.gradient(q, axis=0) * RATE, "torque": rng.normal(size=q.shape)}
    mask = np.ones(q.shape, bool)
    names = tuple(robot.joints.names)
    return Recording(f"motion_{i % 50}", names, RATE, q, target, mask, channels)


def hold_one(path: Path, count: int) -> None:
    """The baseline: one recording in memory."""
    recording(count, Robot.load(ROBOT, mount=MOUNT)).clip(0, FRAMES)


def write(path: Path, count: int) -> None:
    """Stream recordings into a dataset."""
    robot = Robot.load(ROBOT, mount=MOUNT)
    with DatasetWriter(path, robot.name, robot.joints.names, RATE) as writer:
        for i in range(count):
            writer.append(recording(i, robot))


def read(path: Path, count: int) -> None:
    """Visit every sample of every recording."""
    frames = sum(len(clip) for clip in Dataset.open(path) if np.isfinite(clip.q).all())
    if frames != count * FRAMES:
        sys.exit(f"read {frames} frames, expected {count * FRAMES}")


def check(path: Path, count: int) -> None:
    """Check every recording, and the recordings against each other."""
    from gapless.recordings.checks import check_dataset

    report = check_dataset(Dataset.open(path), Robot.load(ROBOT, mount=MOUNT))
    if report.recordings != count:
        sys.exit(f"checked {report.recordings} recordings, expected {count}")


def measure(path: Path, count: int) -> None:
    """Replay a quarter of a second of every recording."""
    import gapless

    world = gapless.MujocoWorld(Robot.load(ROBOT, mount=MOUNT))
    gap = gapless.measure(Dataset.open(path), world, windows=1, horizons=[0.25])
    if len(gap.clips) != count:
        sys.exit(f"measured {len(gap.clips)} recordings, expected {count}")


def _measured(work: Callable[[Path, int], None], path: Path, count: int, answer: object) -> None:
    start = time.perf_counter()
    work(path, count)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.put((kilobytes / 1024, time.perf_counter() - start))  # type: ignore[attr-defined]


def main(options: Options) -> None:
    """Print peak resident memory and time of each pass; fail where one is above the limit."""
    count = max(1, round(options.gigabytes * 1e9 / BYTES))
    spawn = multiprocessing.get_context("spawn")
    baseline, highest = 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data")
        for work in (hold_one, write, read, check, measure):
            answer = spawn.SimpleQueue()
            process = spawn.Process(target=_measured, args=(work, path, count, answer))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(f"{work.__name__} failed")
            peak, seconds = answer.get()
            baseline, highest = baseline or peak, max(highest, peak)
            print(
                f"{work.__name__:9s} {peak:7.0f} MB  {peak / baseline:5.2f} x one  {seconds:6.1f} s"
            )
        size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
        print(f"dataset   {size / 1e6:7.0f} MB in {count} recordings")
    if highest > options.limit:
        sys.exit(f"the highest peak is {highest:.0f} MB, above {options.limit:.0f} MB")


if __name__ == "__main__":
    main(tyro.cli(Options))
