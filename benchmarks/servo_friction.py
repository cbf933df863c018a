"""Laws of friction on a real servo: learn from its low gains, predict its highest.

DIR holds the pendulum logs of a Dynamixel XL330 that Rhoban/bam publishes (Apache-2.0): four
motions at each of four gains, 0.49 kg at 0.1 m. The servo is controlled by duty: torque is
stall · (duty_per_rad · error - speed / no-load speed), so that its gain is proportional to the
register and its damping constant. All but the highest gain teach; every parameter is found by
`gapless.identify`; errors are of the highest gain alone, whose logs nothing else has seen.

    python benchmarks/servo_friction.py --data ../shared/data/bam_xl330
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from gapless import MujocoWorld, Robot
from gapless.identification import Calibration, IdentifySettings, identify
from gapless.identification.problem.simulator import Simulator
from gapless.measurement.windows import windows_of
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording

RATE = 100.0
PENDULUM = """
<mujoco model="xl330"><worldbody>
  <body name="arm"><joint name="servo" axis="0 1 0" armature="0.001"/>
    <inertial pos="0 0 -0.1" mass="0.49" diaginertia="1e-4 1e-4 1e-4"/></body>
</worldbody><actuator><position name="servo" joint="servo" kp="0.36"/></actuator></mujoco>
"""
GAIN = 4096 / (2 * np.pi) / 128 / 885 * 0.318
"""N·m/rad of one unit of the register: ticks a radian, its scale, full duty, stall torque 7.4 V."""

STARTS = (0.0, 0.02)
"""Dry friction to begin with, N·m: a fit may end in a valley of its own."""

BASE = ("kp", "damping", "armature", "frictionloss", "effort", "encoder_bias", "delay")
LAWS = {
    "a": BASE,
    "b": (*BASE, "load_friction", "stribeck_torque", "stribeck_speed"),
    "c": (
        *(*BASE, "load_friction", "stribeck_torque", "stribeck_speed"),
        *("backdrive_friction", "quadratic_friction"),
    ),
}
TOLD = {
    "a": "Coulomb and viscous",
    "b": "a + load and Stribeck",
    "c": "b + direction and square of the load",
}


def read(path: Path) -> tuple[int, Recording]:
    """The gain, and the log on a uniform clock up to where the motor is switched off."""
    log = json.loads(path.read_text())
    entries = log["entries"]
    on = [e["torque_enable"] for e in entries]
    entries = entries[: on.index(False) if False in on else len(on)]
    time, q, goal = (
        np.array([e[key] for e in entries]) for key in ("timestamp", "position", "goal_position")
    )
    clock = np.arange(time[0], time[-1], 1 / RATE)
    recording = Recording(
        name=f"{log['trajectory']} kp{log['kp']}",
        joints=("servo",),
        rate=RATE,
        q=np.interp(clock, time, q)[:, None],
        target=np.interp(clock, time, goal)[:, None],
        mask=np.ones((len(clock), 1), bool),
        channels={},
        conditions=Conditions(gains={"servo": (GAIN * log["kp"], 0.0)}, mount="fixed"),
        provenance={"source": str(path.name)},
    )
    return log["kp"], recording


def error(world: MujocoWorld, clips: list[Recording], seconds: float | None) -> float:
    """Mean error of positions over windows, or whole clips, rad."""
    found = []
    for clip in clips:
        length = seconds or (len(clip) - 2) / RATE
        windows = windows_of([clip], world.robot, length)
        played = Simulator(world, []).play(windows, np.zeros((1, 0))).q[0]
        found.append(np.abs(played - windows.states.q[:, -played.shape[1] :]).ravel())
    return float(np.mean(np.concatenate(found)))


def best_of(
    starts: tuple[float, ...], robot: Robot, lower: list[Recording], names: tuple[str, ...]
) -> tuple[Calibration, MujocoWorld]:
    """The fit that repeats the lower gains best, of several that start from other friction."""
    settings, found = IdentifySettings(windows=60, prior_weight=0.1), []
    for loss in starts:
        nominal = robot.with_joints(frictionloss=loss)
        fit = identify(lower, nominal, names, settings=settings, keep_anyway=True)
        found.append((fit, fit.world(nominal, RATE)))
    return min(found, key=lambda pair: error(pair[1], lower, 1.0))


def main() -> None:
    """Fit each law to the lower gains and print what it makes of the highest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=list(LAWS))
    args = parser.parse_args()
    logs = [read(path) for path in sorted(args.data.glob("*.json"))]
    highest = max(gain for gain, _ in logs)
    lower = [clip for gain, clip in logs if gain < highest]
    test = [clip for gain, clip in logs if gain == highest]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "xl330.xml").write_text(PENDULUM)
        robot = Robot.from_mjcf(Path(folder) / "xl330.xml")
    robot = robot.with_joints(effort=0.318, damping=0.005)
    print(f"{len(lower)} logs teach, {len(test)} of gain {highest} test; mean |error|, rad")
    for law in args.laws:
        found, world = best_of(STARTS, robot, lower, LAWS[law])
        errors = [error(world, clips, s) for clips in (lower, test) for s in (1.0, None)]
        print(f"{law}: {TOLD[law]}")
        print(
            "   lower gains 1 s {:.4f}, clips {:.4f}; highest 1 s {:.4f}, clips {:.4f}".format(
                *errors
            )
        )
        values = (f"{e.name.split('/')[0]} {e.value:.4g}" for e in found.estimates)
        print("   " + ", ".join(values), flush=True)


if __name__ == "__main__":
    main()
