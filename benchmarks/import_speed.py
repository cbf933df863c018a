"""Import speed: an hour of a 50 Hz, 29-joint log, as a multiple of real time.

Baseline: real time, the hour the robot took. The log is written first and not timed. Two formats:
a SAGE folder (lists as text in CSV cells) and a generic NPZ file with a mapping.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from gapless.motions.excitation import multisine
from gapless.recordings import ImportOptions, import_dataset
from gapless.robots import Robot

RATE = 50


def signals(robot: Robot, seconds: float) -> dict[str, np.ndarray]:
    """A command and a response that trails it by 40 ms, with noise."""
    target = multisine(robot, seconds, RATE, seed=0)
    rng = np.random.default_rng(0)
    q = np.concatenate([target[:1].repeat(2, axis=0), target[:-2]])
    q = q + rng.normal(0, 1e-4, q.shape)
    dq = np.gradient(q, axis=0) * RATE
    time_s = np.arange(len(q)) / RATE + rng.normal(0, 2e-4, len(q))
    return {"time": np.sort(time_s), "target": target, "q": q, "dq": dq, "torque": 0.1 * dq}


def write_sage(folder: Path, robot: Robot, log: dict[str, np.ndarray]) -> None:
    """Write control.csv, state_motor.csv and joint_list.txt as the SAGE logger does."""
    folder.mkdir(parents=True)
    (folder / "joint_list.txt").write_text("\n".join(robot.joints.names) + "\n")
    micro = log["time"] * 1e6

    def cells(rows: np.ndarray) -> list[str]:
        return ['"[' + ", ".join(f"{v:.6f}" for v in row) + ']"' for row in rows]

    columns = {k: cells(log[k]) for k in ("target", "q", "dq", "torque")}
    with open(folder / "control.csv", "w") as file:
        file.write("type,timestamp,positions\n")
        file.writelines(f"CONTROL,{t},{c}\n" for t, c in zip(micro, columns["target"], strict=True))
    with open(folder / "state_motor.csv", "w") as file:
        file.write("type,timestamp,positions,velocities,torques\n")
        rows = zip(micro, columns["q"], columns["dq"], columns["torque"], strict=True)
        file.writelines(f"STATE_MOTOR,{t},{q},{v},{u}\n" for t, q, v, u in rows)


def write_npz(folder: Path, robot: Robot, log: dict[str, np.ndarray]) -> Path:
    """Write log.npz and the mapping that explains it."""
    np.savez(folder / "log.npz", **log)
    names = ", ".join(f'"{n}"' for n in robot.joints.names)
    mapping = folder / "mapping.toml"
    mapping.write_text(
        f'time = "time"\ntime_unit = "s"\nangle_unit = "rad"\njoints = [{names}]\n'
        'q = "q"\ndq = "dq"\ntorque = "torque"\ntarget = "target"\npairing = "acts_after"\n'
    )
    return mapping


def main() -> None:
    """Write the logs, import them, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    robot = Robot.load("g1", mount="fixed")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = signals(robot, args.seconds)
        write_sage(folder / "sage" / "motion", robot, log)
        mapping = write_npz(folder, robot, log)
        sources = {
            "sage": (folder / "sage", ImportOptions()),
            "generic": (folder / "log.npz", ImportOptions(mapping=mapping)),
        }
        os.sync()  # or the disk would still be busy with the logs
        for format, (source, options) in sources.items():
            start = time.perf_counter()
            report = import_dataset(format, source, robot, folder / f"out_{format}", options)
            elapsed = time.perf_counter() - start
            times = report.seconds / elapsed
            rows.append({"format": format, "seconds": report.seconds, "x_real_time": round(times)})
            took = f"{report.seconds:.0f} s of log in {elapsed:.1f} s"
            print(f"{format}: {took}, {times:.0f} x real time")
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
