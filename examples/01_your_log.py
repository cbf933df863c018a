"""Your log: a CSV file, a mapping of six lines, a dataset, its gap."""

import csv
import tempfile
from pathlib import Path

import gapless
from gapless.motions.excitation import multisine
from gapless.worlds.record import record

robot = gapless.Robot.load("so101")
folder = Path(tempfile.mkdtemp())

# A log as a logger of yours may have written it: a row a sample, a column a joint.
world = gapless.MujocoWorld(robot.with_joints(frictionloss=0.3))
clip = record(world, multisine(robot, 8.0, world.rate, seed=1), "wave", start=world.home())
with open(folder / "log.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(
        ["t", *(f"q_{j}" for j in robot.joints.names), *(f"cmd_{j}" for j in robot.joints.names)]
    )
    rows.writerows([t, *q, *c] for t, q, c in zip(clip.time, clip.q, clip.target, strict=True))

# What the columns are.
joints = ", ".join(f'"{j}"' for j in robot.joints.names)
(folder / "mapping.toml").write_text(
    f'time = "t"\ntime_unit = "s"\njoints = [{joints}]\n'
    'q = "q_{joint}"\ntarget = "cmd_{joint}"\npairing = "acts_after"\n'
)

options = gapless.ImportOptions(mapping=folder / "mapping.toml", unit="arm-3", payload="none")
report = gapless.import_dataset("generic", folder / "log.csv", robot, folder / "data", options)
print(f"{report.recordings} recording, {report.seconds:.1f} s, masked: {dict(report.masked)}")

data = gapless.Dataset.open(folder / "data")
print(gapless.check_dataset(data, robot).to_dict()["findings"])
print(gapless.measure(data, gapless.MujocoWorld(robot), horizons=[0.5, "full"], attribution=True))
