"""An arm that picks up a load in mid-run, and one whose motors heat up; adapting, and not.

Offsets are how far the hand is from where the nominal, unloaded robot has it under the same
commands. The adaptation knows the nominal figures alone; the hidden robot differs from them.

    python benchmarks/adaptation.py --json adaptation.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from gapless.deployment.adaptive_pilot import AdaptivePilot
from gapless.deployment.arm_model import ArmModel
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.payload_adaptation import PayloadAdaptation
from gapless.deployment.pilot import Pilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.robots import Kinematics, Payload, Robot
from gapless.worlds import HiddenWorld, MujocoWorld, World

HAND, RATE, KG = "left_wrist_yaw_link", 50, 2.0
PICKS, ENDS = 5.0, 13.0
"""s at which the load comes, and at which the run is over."""
FADES = 0.3
"""Share of their torque that hot motors lose by the end."""
STIFF = 4.0
"""Times the gains of the robot's own arm: a walker's arms are too soft to carry anything."""


class Reaching:
    """A pilot that holds the forearm forward and moves the arm slowly."""

    rate = None

    def __init__(self, robot: Robot, joints: tuple[str, ...]) -> None:
        own = robot.joints.select(joints)
        self._kp, self._kd, self._pose = STIFF * own.kp, STIFF * own.kd, own.default.copy()
        self._row = {name: k for k, name in enumerate(joints)}
        self._step = 0

    def begin(self) -> None:
        """Nothing is remembered."""

    def first(self) -> JointCommand:
        """The pose."""
        return self.decide()

    def observe(self, state: LinkState) -> None:
        """Nothing is looked at."""

    def decide(self) -> JointCommand:
        """The pose, a little to and fro."""
        q, time = self._pose.copy(), self._step / RATE
        self._step += 1
        q[self._row["left_elbow_joint"]] = 0.6 + 0.25 * np.sin(2 * np.pi * 0.25 * time)
        q[self._row["left_shoulder_pitch_joint"]] = -0.2 + 0.2 * np.sin(2 * np.pi * 0.2 * time)
        return JointCommand.of_targets(q, self._kp, self._kd)


class HotLink(WorldLink):
    """A robot whose motors lose torque over a run."""

    def write(self, command: JointCommand) -> JointCommand:
        """Obey with what is left."""
        left = 1.0 - FADES * min(self._sequence / (RATE * ENDS), 1.0)
        weak = JointCommand(
            *(command.q, command.dq, left * command.kp, command.kd, left * command.tau)
        )
        super().write(weak)
        return command


def run(
    world: World, adapt: bool, loaded: bool, hot: bool = False
) -> tuple[np.ndarray, np.ndarray, PayloadAdaptation]:
    """(T, J) positions, (T,) believed masses, and who believed them."""
    robot = world.robot
    link = (HotLink if hot else WorldLink)(world)
    arm = ArmModel.of(Robot.load("g1", mount="fixed"), HAND)
    adaptation = PayloadAdaptation(arm, link.joints, robot.joints.effort, RATE)
    pilot: Pilot = Reaching(robot, link.joints)
    if adapt:
        pilot = AdaptivePilot(pilot, adaptation)
    q, masses = [], []
    for step in range(round(ENDS * RATE)):
        if loaded and step == round(PICKS * RATE):
            link.carry({HAND: Payload(KG)})
        pilot.observe(link.read())
        link.write(pilot.decide())
        q.append(link.read().q)
        masses.append(adaptation.mass)
    return np.array(q), np.array(masses), adaptation


def hands(robot: Robot, q: np.ndarray) -> np.ndarray:
    """(T, 3) where the hand is, m."""
    kinematics = Kinematics.of(robot)
    return kinematics.link_poses(q)[0][:, kinematics.links.index(HAND)]


def compare(preset: str, unit: int, hot: bool) -> dict[str, Any]:
    """One hidden robot, with and without."""
    robot = Robot.load("g1", mount="fixed")
    meant = hands(robot, run(MujocoWorld(robot, RATE), adapt=False, loaded=False)[0])
    late = slice(round((PICKS + 3) * RATE), None) if not hot else slice(-2 * RATE, None)
    found: dict[str, Any] = {"preset": preset, "unit": unit, "case": "heat" if hot else "2 kg"}
    for name, adapt in (("without", False), ("with", True)):
        world = HiddenWorld(robot, preset, unit, rate=RATE) if preset else MujocoWorld(robot, RATE)
        q, masses, adaptation = run(world, adapt, loaded=not hot, hot=hot)
        away = np.linalg.norm(hands(robot, q) - meant, axis=1)
        found[f"offset_{name}_mm"] = float(1000 * away[late].mean())
        found[f"course_{name}_mm"] = [float(1000 * a.mean()) for a in np.split(away, round(ENDS))]
    found["mass_kg"] = float(masses[round((PICKS + 3) * RATE)])
    found["masses_kg"] = masses[:: RATE // 2].round(3).tolist()
    found["rollbacks"] = adaptation.rollbacks
    return found


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="+", default=["", "mild", "typical"])
    parser.add_argument("--units", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    print(
        "| robot | case | kg believed 3 s after | hand offset without, mm | with, mm | rollbacks |"
    )
    print("|---|---|---|---|---|---|")
    rows = []
    for preset in args.presets:
        for unit in args.units if preset else [0]:
            for hot in (False, True):
                row = compare(preset, unit, hot)
                rows.append(row)
                name = f"{preset} {unit}" if preset else "nominal"
                mass = "-" if hot else f"{row['mass_kg']:.2f}"
                print(
                    f"| {name} | {row['case']} | {mass} | {row['offset_without_mm']:.0f} | "
                    f"{row['offset_with_mm']:.0f} | {row['rollbacks']} |",
                    flush=True,
                )
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
