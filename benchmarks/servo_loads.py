"""Weights on hidden one-joint servos whose friction grows with the load, by direction and square.

The truth is integrated here, in NumPy, with BAM's friction budget: dry and viscous friction, and
shares of the motor's and of the load's torque that differ, and of its square; nothing of it is in
`gapless.worlds`. Each weight is found from logs of the lightest one, which is known, and its own.

    python benchmarks/servo_loads.py --servos 3
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless.identification import IdentifySettings, identify
from gapless.identification.plans.two_stage import loads
from gapless.recordings import Recording, Split
from gapless.robots import Robot

RATE, STEP, SECONDS = 100, 5e-4, 6.0
LENGTH, LIGHTEST, WEIGHTS = 0.15, 0.3, (0.5, 0.7, 0.9, 1.1, 1.4)
GRAVITY, EFFORT, GAIN = 9.81, 8.0, 25.0

MJCF = f"""<mujoco model="servo"><compiler angle="radian"/><worldbody><body name="arm" pos="0 0 1">
<joint name="servo" type="hinge" axis="0 1 0" range="-4 4" armature="0.01" damping="0.1"
 frictionloss="0.1"/>
<inertial pos="0 0 -{LENGTH}" mass="{LIGHTEST}" diaginertia="1e-5 1e-5 1e-5"/>
<geom type="sphere" size="0.02" contype="0" conaffinity="0"/>
</body></worldbody><actuator>
<position name="servo" joint="servo" kp="{GAIN}" forcerange="-{EFFORT} {EFFORT}"/>
</actuator></mujoco>"""


@dataclass(frozen=True)
class Servo:
    """A drive as BAM describes it; torques in N·m.

    Attributes:
        gain: of position, N·m/rad.
        rotor: inertia at the output, kg·m².
        dry: friction of the unloaded drive.
        viscous: per rad/s.
        driving: share of the motor's torque that becomes friction.
        driven: share of the load's.
        square: per squared torque through the gear, 1/(N·m).
    """

    gain: float
    rotor: float
    dry: float
    viscous: float
    driving: float
    driven: float
    square: float

    @classmethod
    def drawn(cls, seed: int) -> Servo:
        """One of many."""
        rng = np.random.default_rng(seed)
        between = [(0.8, 1.3), (0.006, 0.015), (0.05, 0.15), (0.05, 0.2), (0.05, 0.15)]
        gain, *rest = (float(rng.uniform(*pair)) for pair in between)
        return cls(GAIN * gain, *rest, float(rng.uniform(0.1, 0.25)), float(rng.uniform(0, 0.02)))

    def swing(self, target: np.ndarray, mass: float) -> np.ndarray:
        """(T,) angles under (T,) targets with a mass at the arm's end."""
        inertia, weight = self.rotor + mass * LENGTH**2, mass * GRAVITY * LENGTH
        q, dq, found = float(target[0]), 0.0, []
        for asked in target:
            found.append(q)
            for _ in range(round(1 / (RATE * STEP))):
                motor = float(np.clip(self.gain * (asked - q), -EFFORT, EFFORT))
                load = -weight * np.sin(q)
                stop = -(inertia / STEP * dq + motor + load)
                budget = self.budget(motor, load, dq)
                dq += STEP * (motor + load + float(np.clip(stop, -budget, budget))) / inertia
                q += STEP * dq
        return np.array(found)

    def budget(self, motor: float, load: float, speed: float) -> float:
        """The most that friction takes."""
        through = abs(self.driving * motor - self.driven * load)
        return self.dry + self.viscous * abs(speed) + through + self.square * load**2


def recordings(servo: Servo, mass: float, seed: int) -> list[Recording]:
    """Three swings of a servo with a mass, as an encoder of 12 bits saw them."""
    rng, time, found = np.random.default_rng(seed), np.arange(0, SECONDS, 1 / RATE), []
    for k in range(3):
        waves = [
            (rng.uniform(0.2, 0.7), rng.uniform(0.1, 0.8), rng.uniform(0, 6.28)) for _ in range(4)
        ]
        target = sum(a * np.sin(2 * np.pi * f * time + p) for a, f, p in waves)
        q = servo.swing(np.asarray(target), mass) + rng.normal(0, 5e-4, len(time))
        found.append(
            Recording(
                name=f"{mass:g} kg {k}",
                joints=("servo",),
                rate=RATE,
                q=q[:, None],
                target=np.asarray(target)[:, None],
                mask=np.ones((len(time), 1), bool),
            )
        )
    return found


def found_mass(servo: Servo, mass: float, seed: int, asked: list[str]) -> tuple[float, float]:
    """The weight that two-stage identification finds, and half its 95 % interval, kg."""
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "servo.xml").write_text(MJCF)
        robot = Robot.from_mjcf(path, mount="fixed")
        clips = [*recordings(servo, LIGHTEST, seed), *recordings(servo, mass, seed + 1)]
        found = identify(
            Split.of(clips),
            robot,
            asked,
            plan="two-stage",
            payload=["payload/arm"],
            loaded=[f"{mass:g} kg *"],
            settings=IdentifySettings(windows=16),
            keep_anyway=True,
        )
    assert found.loaded is not None
    (load,) = loads(found.loaded)
    return LIGHTEST + load.mass, 1.96 * load.std


def main() -> None:
    """Find every weight of every servo and print the errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servos", type=int, default=3)
    parser.add_argument("--first", type=int, default=100, help="seed of the first servo")
    parser.add_argument(
        "--set", nargs="+", default=["kp", "frictionloss", "damping", "armature", "load_friction"]
    )
    asked = parser.parse_args()
    table = Table("servo", "weight, kg", "found", "error", "95 %", "holds")
    errors, holds = [], []
    for seed in range(asked.first, asked.first + asked.servos):
        for mass in WEIGHTS:
            found, half = found_mass(Servo.drawn(seed), mass, 10 * seed, asked.set)
            errors.append(found / mass - 1)
            holds.append(abs(found - mass) <= half)
            row = (f"{found:.3f}", f"{100 * errors[-1]:+.1f} %", f"± {half:.3f}", str(holds[-1]))
            table.add_row(str(seed), f"{mass:g}", *row)
    Console().print(table)
    within = np.abs(errors) <= 0.1
    print(f"within 10 %: {within.sum()} of {len(within)}; intervals hold: {sum(holds)}")


if __name__ == "__main__":
    main()
