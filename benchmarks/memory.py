"""Peak memory of writing and reading a dataset that is larger than any one recording.

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

JOINTS = tuple(f"joint_{i}" for i in range(29))
FRAMES, RATE = 6000, 50
BYTES = FRAMES * len(JOINTS) * (4 * 4 + 1)
"""Stored bytes of one recording: q, target, dq and torque in float32, and the mask."""


@dataclass(frozen=True)
class Options:
    """Peak memory of a large dataset."""

    gigabytes: float = 2.0
    """Size of the dataset."""


def recording(i: int) -> Recording:
    """Two minutes of noise."""
    q, target, dq, torque = np.random.default_rng(i).normal(size=(4, FRAMES, len(JOINTS)))
    mask = np.ones(q.shape, bool)
    channels = {"dq": dq, "torque": torque}
    return Recording(f"motion_{i % 50}", JOINTS, RATE, q, target, mask, channels)


def hold_one(path: Path, count: int) -> None:
    """The baseline: one recording in memory."""
    recording(count).clip(0, FRAMES)


def write(path: Path, count: int) -> None:
    """Stream recordings into a dataset."""
    with DatasetWriter(path, "noise", JOINTS, RATE) as writer:
        for i in range(count):
            writer.append(recording(i))


def read(path: Path, count: int) -> None:
    """Visit every sample of every recording."""
    frames = sum(len(clip) for clip in Dataset.open(path) if np.isfinite(clip.q).all())
    if frames != count * FRAMES:
        sys.exit(f"read {frames} frames, expected {count * FRAMES}")


def _measured(work: Callable[[Path, int], None], path: Path, count: int, answer: object) -> None:
    start = time.perf_counter()
    work(path, count)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.put((kilobytes / 1024, time.perf_counter() - start))  # type: ignore[attr-defined]


def main(options: Options) -> None:
    """Print peak resident memory and time of each pass."""
    count = max(1, round(options.gigabytes * 1e9 / BYTES))
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data")
        baseline = 0.0
        for work in (hold_one, write, read):
            answer = spawn.SimpleQueue()
            process = spawn.Process(target=_measured, args=(work, path, count, answer))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(f"{work.__name__} failed")
            peak, seconds = answer.get()
            baseline = baseline or peak
            print(
                f"{work.__name__:9s} {peak:7.0f} MB  {peak / baseline:5.2f} x one  {seconds:6.1f} s"
            )
        size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
        print(f"dataset   {size / 1e6:7.0f} MB in {count} recordings")


if __name__ == "__main__":
    main(tyro.cli(Options))
