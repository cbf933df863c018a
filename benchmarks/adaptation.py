"""An arm that picks up a load in mid-run, and one whose motors heat up; adapting, and not.

Offsets are how far the hand is from where the nominal, unloaded robot has it under the same
commands. The adaptation knows the nominal figures, from which the hidden robot differs; where that
was weighed, it also has recordings of other motions of it, with nothing and with 1 kg in hand.

    python benchmarks/adaptation.py --json adaptation.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gapless.deployment.adaptive_pilot import AdaptivePilot
from gapless.deployment.arm_model import ArmModel
from gapless.deployment.arm_weighing import weighed_arm
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.payload_adaptation import PayloadAdaptation
from gapless.deployment.pilot import Pilot
from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Payload, Robot
from gapless.worlds import HiddenWorld, MujocoWorld, World

HAND, RATE, KG = "left_wrist_yaw_link", 50, 2.0
PICKS, ENDS = 5.0, 13.0
"""s at which the load comes, and at which the run is over."""
KNOWN, SWINGS, LASTS = 1.0, 4, 8.0
"""kg of the known load; motions that are recorded with and without it, and their length, s."""
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


class Swinging(Reaching):
    """Moves all joints of the arm, each by two sines that are its own; slowly, as a load swings."""

    def __init__(self, robot: Robot, arm: ArmModel, joints: tuple[str, ...], seed: int) -> None:
        super().__init__(robot, joints)
        rng, size = np.random.default_rng(seed), (len(arm.joints), 2)
        self._pose[self._row["left_elbow_joint"]] = 0.6
        self._pose[self._row["left_shoulder_pitch_joint"]] = -0.2
        self._pose[self._row["left_shoulder_roll_joint"]] = 0.3
        self._rows = [self._row[joint] for joint in arm.joints]
        self._wide, self._often = rng.uniform(0.1, 0.25, size), rng.uniform(0.15, 0.5, size)
        self._phase = rng.uniform(0, 2 * np.pi, size)

    def decide(self) -> JointCommand:
        """The pose, and the sines."""
        q, time = self._pose.copy(), self._step / RATE
        self._step += 1
        waves = self._wide * np.sin(2 * np.pi * self._often * time + self._phase)
        q[self._rows] += min(time, 1.0) * waves.sum(axis=1)
        return JointCommand.of_targets(q, self._kp, self._kd)


def swung(world: World, arm: ArmModel, seed: int, kg: float) -> Recording:
    """A motion of the arm with a known load, as a log would have it."""
    link = WorldLink(world)
    loads = {HAND: Payload(kg)} if kg else {}
    link.carry(loads)
    pilot, rows = Swinging(world.robot, arm, link.joints, seed), []
    for _ in range(round(LASTS * RATE)):
        state, command = link.read(), pilot.decide()
        rows.append((state.q, command.q, state.dq))
        link.write(command)
    q, target, dq = (np.array(part) for part in zip(*rows, strict=True))
    pairs = zip(link.joints, command.kp.tolist(), command.kd.tolist(), strict=True)
    told = Conditions(payloads=loads, gains={joint: (kp, kd) for joint, kp, kd in pairs})
    mask = np.ones(q.shape, bool)
    return Recording(f"swing{seed}", link.joints, RATE, q, target, mask, {"dq": dq}, told)


def arm_of(world: Callable[[], World], weighed: bool) -> ArmModel:
    """What the adaptation knows of a robot's arm."""
    arm = ArmModel.of(Robot.load("g1", mount="fixed"), HAND)
    if not weighed:
        return arm
    cases = [(seed, kg) for seed in range(SWINGS) for kg in (0.0, KNOWN)]
    return weighed_arm(arm, [swung(world(), arm, *case) for case in cases])


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
    world: World, arm: ArmModel | None, loaded: bool, hot: bool = False
) -> tuple[np.ndarray, np.ndarray, int]:
    """(T, J) positions, (T,) believed masses, and rollbacks; without an arm nothing adapts."""
    robot = world.robot
    link = (HotLink if hot else WorldLink)(world)
    pilot: Pilot = Reaching(robot, link.joints)
    adaptation = None
    if arm is not None:
        adaptation = PayloadAdaptation(arm, link.joints, robot.joints.effort, RATE)
        pilot = AdaptivePilot(pilot, adaptation)
    q, masses = [], []
    for step in range(round(ENDS * RATE)):
        if loaded and step == round(PICKS * RATE):
            link.carry({HAND: Payload(KG)})
        pilot.observe(link.read())
        link.write(pilot.decide())
        q.append(link.read().q)
        masses.append(0.0 if adaptation is None else adaptation.mass)
    return np.array(q), np.array(masses), 0 if adaptation is None else adaptation.rollbacks


def hands(robot: Robot, q: np.ndarray) -> np.ndarray:
    """(T, 3) where the hand is, m."""
    kinematics = Kinematics.of(robot)
    return kinematics.link_poses(q)[0][:, kinematics.links.index(HAND)]


def compare(preset: str, unit: int, hot: bool) -> dict[str, Any]:
    """One hidden robot: as it is, adapting by the nominal figures, and weighed before."""
    robot = Robot.load("g1", mount="fixed")
    meant = hands(robot, run(MujocoWorld(robot, RATE), None, loaded=False)[0])
    late = slice(round((PICKS + 3) * RATE), None) if not hot else slice(-2 * RATE, None)
    found: dict[str, Any] = {"preset": preset, "unit": unit, "case": "heat" if hot else "2 kg"}

    def world() -> World:
        return HiddenWorld(robot, preset, unit, rate=RATE) if preset else MujocoWorld(robot, RATE)

    arms = {"without": None, "nominal": arm_of(world, False), "weighed": arm_of(world, True)}
    for name, arm in arms.items():
        q, masses, back = run(world(), arm, loaded=not hot, hot=hot)
        away = 1000 * np.linalg.norm(hands(robot, q) - meant, axis=1)
        found[name] = {
            "offset_mm": float(away[late].mean()),
            "course_mm": [float(part.mean()) for part in np.split(away, round(ENDS))],
            "kg": float(masses[round((PICKS + 3) * RATE)]),
            "masses_kg": masses[:: RATE // 2].round(3).tolist(),
            "rollbacks": back,
        }
    return found


def shown(row: dict[str, Any]) -> str:
    """A line of the table."""
    name = f"{row['preset']} {row['unit']}" if row["preset"] else "nominal"
    ways = [row[way] for way in ("without", "nominal", "weighed")]
    kg = ["-" if row["case"] == "heat" else f"{way['kg']:.2f}" for way in ways[1:]]
    offsets = [f"{way['offset_mm']:.0f}" for way in ways]
    cells = [name, row["case"], *kg, *offsets, str(sum(way["rollbacks"] for way in ways))]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presets", nargs="+", default=["", "mild", "typical"])
    parser.add_argument("--units", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    print("| robot | case | kg believed 3 s after | weighed | hand offset without, mm | ", end="")
    print("with | weighed | rollbacks |\n|---|---|---|---|---|---|---|---|")
    rows = []
    for preset in args.presets:
        for unit in args.units if preset else [0]:
            for hot in (False, True):
                rows.append(compare(preset, unit, hot))
                print(shown(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
