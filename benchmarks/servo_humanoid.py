"""A standing humanoid of 20 servos whose logs have joints and commands alone, from npz to verdict.

The robot is a plain MuJoCo model stepped here, not one of our worlds: voltage-driven motors that
count from wrong zeros, friction that grows with the load, a heavier trunk, a delay. Its owner's
MJCF has none of that. Each log is at another gain. They are imported by a mapping and identified
as `gapless close` does, from three motions; the other three are only reported. Stopped, it goes on.

    python benchmarks/servo_humanoid.py --seed 1 --out out/servos
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import Dataset, MujocoWorld, Robot, identify
from gapless.artifact import read_json, write_json
from gapless.cli.main import main as gapless
from gapless.identification import IdentifySettings
from gapless.measurement.judge import replay_error
from gapless.recordings.splitting import split_recordings

RATE, SECONDS = 100, 12.0
LEARN = ("squat_1", "sway_1", "step_2")
REGISTERS = {"squat_1": 40, "sway_1": 64, "step_2": 72, "squat_2": 64, "sway_2": 96, "kick_1": 96}
"""Gain register of each log; the names say which motion it is."""
SUPPLY, DUTY = 12.0 * 0.97, 0.158
"""Volts at full duty; duty for each radian and unit of the register."""
STALL, NO_LOAD = 8.4, 4.7
"""The data sheet of the servos in the legs, N·m and rad/s, which the owner takes for all."""
CHAIN = (("hip_yaw", "0 0 1", 1.2), ("hip_roll", "1 0 0", 0.6), ("hip_pitch", "0 1 0", 1.8))
CHAIN += (("knee", "0 1 0", 2.3), ("ankle_pitch", "0 1 0", 1.2), ("ankle_roll", "1 0 0", 0.6))
DROPS = (-0.03, 0.0, 0.0, -0.14, -0.14, 0.0)
MASSES, CENTRES = (0.05, 0.3, 0.3, 0.12, 0.3, 0.12), (0.0, 0.0, -0.08, -0.05, 0.0, -0.025)
STANCE = {"hip_pitch": -0.45, "knee": 0.9, "ankle_pitch": -0.45, "elbow": -0.3}
MAPPING = """time = "time"
joints = {joints}
q = "position"
target = "goal"
pairing = "acts_after"
[gains]
kp = {{ scalar = "kp" }}
[servo]
kind = "dynamixel_mx"
supply = 12.0
stall_torque = {stall}
no_load_speed = {speed}
voltage = 12.0
"""


def link(name: str, axis: str, reach: float, drop: float, mass: float, centre: float) -> str:
    """The opening of a link that hangs on the one before."""
    size = 1e-3 * mass
    return (
        f'<body name="{name}_link" pos="0 0 {drop}"><joint name="{name}" axis="{axis}" '
        f'range="-{reach} {reach}"/><inertial pos="0 0 {centre}" mass="{mass}" '
        f'diaginertia="{size} {size} {size}"/>'
    )


def leg(side: str, y: float) -> str:
    """Six joints and a foot on four cylinders."""
    rows = zip(CHAIN, DROPS, MASSES, CENTRES, strict=True)
    links = "".join(link(f"{side}_{n}", a, r, d, m, c) for (n, a, r), d, m, c in rows)
    corners = [(x, across) for x in (-0.065, 0.085) for across in (-0.045, 0.045)]
    cleats = "".join(f'<geom class="cleat" pos="{x} {a} -0.036"/>' for x, a in corners)
    return f'<body name="{side}_hip" pos="0 {y} -0.05">{links}{cleats}{"</body>" * 7}'


def arm(side: str, y: float) -> str:
    """Three joints."""
    rows = [("shoulder_pitch", "0 1 0", 0.0), ("shoulder_roll", "1 0 0", 0.0)]
    rows += [("elbow", "0 1 0", -0.14)]
    links = "".join(link(f"{side}_{n}", a, 2.5, d, 0.12, -0.06) for n, a, d in rows)
    return f'<body name="{side}_shoulder" pos="0 {y} 0.16">{links}{"</body>" * 4}'


def model(trunk: float, centre: tuple[float, ...]) -> str:
    """The robot as an MJCF; its owner's or, with other figures, the true one."""
    legs, arms = leg("left", 0.065) + leg("right", -0.065), arm("left", 0.11) + arm("right", -0.11)
    neck = link("head_yaw", "0 0 1", 1.5, 0.2, 0.05, 0.0)
    head = neck + link("head_pitch", "0 1 0", 0.8, 0.03, 0.3, 0.04) + "</body></body>"
    at = " ".join(map(str, centre))
    names = [f"{side}_{n}" for side in ("left", "right") for n, *_ in CHAIN]
    drives = "".join(f'<position joint="{n}" kp="15" forcerange="-8 8"/>' for n in names)
    names = [f"{s}_{n}" for s in ("left", "right") for n in ("shoulder_pitch", "shoulder_roll")]
    names += ["left_elbow", "right_elbow", "head_yaw", "head_pitch"]
    drives += "".join(f'<position joint="{n}" kp="12" forcerange="-6 6"/>' for n in names)
    return f"""<mujoco model="servos"><compiler angle="radian"/><option timestep="0.0005"/>
<default><joint damping="0.1" armature="0.01" frictionloss="0.1"/>
<default class="cleat"><geom type="cylinder" size="0.008 0.004" friction="0.8"/></default></default>
<worldbody><geom type="plane" size="0 0 1" friction="0.8"/><body name="trunk" pos="0 0 0.42">
<freejoint name="trunk_free"/><geom type="box" size=".05 .08 .1" pos="0 0 .08" mass="0"/>
<inertial pos="{at}" mass="{trunk}" diaginertia="0.02 0.015 0.01"/>{legs}{arms}{head}</body>
</worldbody><actuator>{drives}</actuator></mujoco>"""


@dataclass
class Truth:
    """What its owner does not know."""

    rng: np.random.Generator

    def __post_init__(self) -> None:
        draw = self.rng.uniform
        self.trunk = 2.3 * draw(1.0, 1.2)
        self.centre = (draw(-0.01, 0.01), draw(-0.004, 0.004), 0.08 + draw(-0.01, 0.015))
        self.model = mujoco.MjModel.from_xml_string(model(self.trunk, self.centre))
        self.joints = [self.model.joint(i).name for i in range(1, self.model.njnt)]
        self.leg = np.array([any(p in n for p in ("hip", "knee", "ankle")) for n in self.joints])
        count = len(self.joints)
        self.back_emf = np.where(self.leg, 2.0, 1.7) * draw(0.95, 1.05, count)
        self.ohm = np.where(self.leg, 2.6, 3.3) * draw(0.97, 1.05, count)
        self.rotor = np.where(self.leg, 0.022, 0.014)
        self.dry = np.where(self.leg, 0.08, 0.05) * draw(0.8, 1.2, count)
        self.zeros, self.delay = self.rng.normal(0, 0.006, count), draw(0.008, 0.014)
        self.model.dof_armature[6:], self.model.dof_damping[6:] = self.rotor, 0.04
        self.model.actuator_gainprm[:] = self.model.actuator_biasprm[:] = 0
        short = [n.partition("_")[2] if n[0] in "lr" else n for n in self.joints]
        self.stance = np.array([STANCE.get(n, 0.0) for n in short])

    def drive(self, data: mujoco.MjData, target: np.ndarray, register: float) -> None:
        """Torque of the motors, and what rubs: more under load, most at rest."""
        speed = data.qvel[6:]
        error = target + self.zeros - data.qpos[7:]
        volts = SUPPLY * np.clip(DUTY * register * error, -1, 1)
        torque = self.back_emf / self.ohm * (volts - self.back_emf * speed)
        load = np.abs(data.qfrc_bias[6:] - data.qfrc_constraint[6:])
        rubs = 0.1 * np.abs(torque) + 0.11 * load + 0.006 * np.minimum(torque**2, load**2)
        sticks = (0.05 + 0.3 * rubs) * np.exp(-((np.abs(speed) / 0.2) ** 1.5))
        self.model.dof_frictionloss[6:] = self.dry + rubs + sticks
        data.qfrc_applied[6:] = torque

    def recorded(self, targets: np.ndarray, register: float) -> tuple[np.ndarray, float]:
        """(T, J) what the encoders read, and how far the trunk really leant at most, deg."""
        data, step = mujoco.MjData(self.model), self.model.opt.timestep
        data.qpos[7:] = self.stance
        mujoco.mj_forward(self.model, data)
        soles = data.geom_xpos[self.model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER, 2]
        data.qpos[2] -= soles.min() - 0.0045
        tick, late = 2 * np.pi / 4096, round(self.delay / step)
        each = round(1 / RATE / step)
        rows = np.repeat(np.arange(len(targets)), each)
        sent = np.concatenate([np.zeros(round(1.5 / step) + late, int), rows])[: -late or None]
        read, upright = np.zeros_like(targets), 1.0
        for k, row in enumerate(sent):
            at, rest = divmod(k - (len(sent) - len(rows)), each)
            if at >= 0 and rest == 0:
                read[at] = np.round((data.qpos[7:] - self.zeros) / tick) * tick
            self.drive(data, targets[row], register)
            mujoco.mj_step(self.model, data)
            upright = min(upright, data.xmat[1, 8])
        return read, float(np.degrees(np.arccos(upright)))


def eased(t: np.ndarray, begin: float, end: float) -> np.ndarray:
    """From 0 to 1 without a jerk."""
    share = np.clip((t - begin) / (end - begin), 0, 1)
    return share**2 * (3 - 2 * share)


def motion(name: str, truth: Truth) -> np.ndarray:
    """(T, J) targets of a squat, a sway, steps on the spot or a kick; faster with a 2."""
    t, fast = np.arange(0, SECONDS, 1 / RATE), name.endswith("2")
    column, q = {n: i for i, n in enumerate(truth.joints)}, np.tile(truth.stance, (len(t), 1))
    begun, kind = eased(t, 0.5, 1.5), name.partition("_")[0]

    def wave(hertz: float, phase: float = 0.0) -> np.ndarray:
        return np.sin(2 * np.pi * hertz * t + phase)

    def add(joint: str, value: np.ndarray, left: float = 1.0, right: float = 1.0) -> None:
        q[:, column[f"left_{joint}"]] += left * begun * value
        q[:, column[f"right_{joint}"]] += right * begun * value

    def bend(value: np.ndarray, left: float = 1.0, right: float = 1.0) -> None:
        for joint, share in (("hip_pitch", -1), ("knee", 2), ("ankle_pitch", -1)):
            add(joint, share * value, left, right)

    def lean(value: np.ndarray) -> None:
        add("hip_roll", value)
        add("ankle_roll", -value)

    if kind == "squat":
        bend(0.175 * (1 - np.cos(2 * np.pi * (0.6 if fast else 0.35) * t)))
        add("shoulder_pitch", 0.5 * wave(0.5))
        add("elbow", -0.3 * (1 - wave(0.4, np.pi / 2)))
    if kind == "sway":
        lean(0.16 * wave(0.7 if fast else 0.4))
        add("hip_pitch", 0.06 * wave(0.6))
        add("ankle_pitch", 0.05 * wave(0.6, 0.6))
        add("hip_yaw", 0.08 * wave(0.5), 1, -1)
        add("shoulder_roll", 0.3 * (1 - wave(0.5, np.pi / 2)), 1, -1)
    if kind == "step":
        lean(0.2 * wave(0.6))
        bend(0.45 * np.clip(wave(0.6, 0.15) - 0.6, 0, 1), 1, 0)
        bend(0.45 * np.clip(-wave(0.6, 0.15) - 0.6, 0, 1), 0, 1)
    if kind == "kick":
        u = t % 4.0
        lean(0.19 * eased(u, 0, 1) * (1 - eased(u, 3, 4)))
        lifted = eased(u, 1.1, 1.6) * (1 - eased(u, 2.3, 2.8))
        kicks = eased(u, 1.6, 1.75) * (1 - eased(u, 1.8, 2.2))
        add("hip_pitch", -0.18 * lifted - 0.24 * kicks, 1, 0)
        add("knee", 0.42 * lifted - 0.3 * kicks, 1, 0)
        add("ankle_pitch", -0.24 * lifted, 1, 0)
    q[:, column["head_yaw"]] += 0.4 * begun * wave(0.45)
    q[:, column["head_pitch"]] += 0.2 * begun * wave(0.35, 1.0)
    return q


def written(folder: Path, truth: Truth) -> None:
    """The owner's model, a mapping and a log of each motion."""
    (folder / "logs").mkdir(parents=True)
    (folder / "robot.xml").write_text(model(2.3, (0.0, 0.0, 0.08)))
    said = MAPPING.format(joints=json.dumps(truth.joints), stall=STALL, speed=NO_LOAD)
    (folder / "mapping.toml").write_text(said)
    leans = {}
    for name, register in REGISTERS.items():
        goal = motion(name, truth)
        log = {"time": np.arange(len(goal)) / RATE, "goal": goal, "kp": np.float64(register)}
        position, leans[name] = truth.recorded(goal, register)
        np.savez(folder / "logs" / name, position=position, **log)
    write_json(folder / "leans.json", leans)


def main() -> None:
    """Record, import, close, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/servos"))
    args = parser.parse_args()
    folder = args.out / f"seed_{args.seed}"
    truth = Truth(np.random.default_rng(args.seed))
    if not (folder / "data").exists():
        written(folder, truth)
        logs, where = str(folder / "logs"), ["--robot", str(folder / "robot.xml")]
        mapped = ["--mapping", str(folder / "mapping.toml"), "--out", str(folder / "data")]
        gapless(["import", "generic", logs, *where, *mapped])
    robot, data = Robot.load(folder / "robot.xml"), Dataset.open(folder / "data")
    begun = time.process_time()
    found = identify(
        split_recordings(data, learn=LEARN),
        robot,
        "auto",
        settings=IdentifySettings(horizon=0.5, physics_step=0.004),
        checkpoint=folder / ".progress",
    )
    seconds = time.process_time() - begun
    found.save(folder / "calibration.json")
    Console(width=140).print(found)
    worlds = {"raw": MujocoWorld(robot, RATE), "identified": found.world(robot, RATE)}
    errors = {
        clip.name: {w: 1e3 * replay_error([clip], world, 0.5, 24) for w, world in worlds.items()}
        for clip in data
    }
    leans = read_json(folder / "leans.json")
    title = "replay error over 0.5 s, mrad; * taught and chose"
    shown = Table("motion", *worlds, "leant at most, deg", title=title)
    for name, row in errors.items():
        figures = (*(f"{e:.2f}" for e in row.values()), f"{leans[name]:.0f}")
        shown.add_row(name + "*" * (name in LEARN), *figures)
    facts = {"errors_mrad": errors, "leans_deg": leans, "ladder": found.ladder}
    facts["processor_seconds"] = seconds
    write_json(folder / "servo_humanoid.json", facts)
    Console(width=120).print(shown)
    print(
        f"true trunk {truth.trunk:.3f} kg at {np.round(truth.centre, 4)}, delay {truth.delay:.4f} s"
    )


if __name__ == "__main__":
    main()
