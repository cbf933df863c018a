"""The pictures of docs/identify.md: hidden SO-101 arms whose truth is known, identified.

Writes one PNG an idea into docs/identify and prints the figures that each shows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.identification import IdentifySettings, identify
from gapless.identification.calibration_plots import new_figure, plot_calibration, save_figure
from gapless.identification.plans.two_stage import loads
from gapless.identification.problem.posing import problem_of
from gapless.measurement.judge import replay_error
from gapless.measurement.replay import replay
from gapless.motions.excitation import multisine
from gapless.parameters import apply, parameters_of
from gapless.recordings import Recording, Split
from gapless.robots import Payload, Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

RATE, PHYSICS_STEP, SECONDS = 50.0, 0.005, 6.0
NOISE = 2e-4
"""Encoder noise, rad, where nothing else is said."""
QUICK = IdentifySettings(physics_step=PHYSICS_STEP, windows=12)
DRIVES = ("kp", "damping", "frictionloss")
RECORDED, BEFORE, AFTER = "#1f77b4", "#d62728", "#2ca02c"


def arm(*moving: str) -> Robot:
    """An SO-101 with some joints free, the others welded."""
    whole = Robot.load("so101")
    return whole.lock([j for j in whole.joints.names if j not in moving])


def scaled(robot: Robot, **factors: float) -> Robot:
    """The robot with some figures of all joints multiplied."""
    return robot.with_joints(**{k: f * getattr(robot.joints, k) for k, f in factors.items()})


def recorded(
    robot: Robot,
    count: int,
    *,
    name: str = "wave",
    noise: float = NOISE,
    seed: int = 0,
    still: tuple[str, ...] = (),
    unit: str | None = None,
) -> list[Recording]:
    """Motions of a hidden robot as its encoders saw them; velocities and loads are not logged."""
    world = MujocoWorld(robot, RATE, physics_step=PHYSICS_STEP)
    found = []
    for i in range(count):
        targets = multisine(robot, SECONDS, RATE, seed=100 * seed + i, band=(0.1, 1.5))
        targets[:, robot.joints.pick(still)] = robot.joints.default[robot.joints.pick(still)]
        clean = record(world, targets, f"{name}_{i}", start=world.home())
        error = np.random.default_rng(100 * seed + i).normal(0, noise, clean.q.shape)
        told = replace(clean.conditions, payloads=None, unit=unit)
        found.append(replace(clean, q=clean.q + error, channels={}, conditions=told))
    return found


def windows(path: Path) -> None:
    """A recording, and replays of one second from recorded states, before and after a fit."""
    robot = arm("shoulder_lift", "elbow_flex")
    clips = recorded(scaled(robot, kp=0.5, damping=0.8, frictionloss=5.0), 5)
    found = identify(Split.of(clips[2:], clips[1:2], clips[:1]), robot, DRIVES, settings=QUICK)
    nominal = MujocoWorld(robot, RATE, physics_step=PHYSICS_STEP)
    worlds = {"nominal": nominal, "calibrated": found.world(robot, RATE, physics_step=PHYSICS_STEP)}
    figure = new_figure(8.5, 4.6)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for panel, (name, world), colour in zip(panels, worlds.items(), (BEFORE, AFTER), strict=True):
        (played,) = replay(clips[:1], world, 1.0)
        _draw_windows(panel, played, robot.joints.index("elbow_flex"), name, colour)
        error = replay_error(clips[:1], world, 1.0)
        panel.set_title(f"{name} robot: {1e3 * error:.1f} mrad", fontsize=10)
        print(f"windows: {name} {1e3 * error:.2f} mrad over 1 s, on a motion that no fit saw")
    panels[1].set_xlabel("time [s]")
    figure.supylabel("elbow [rad]", fontsize=10)
    save_figure(figure, path)


def _draw_windows(panel: Any, played: Any, joint: int, name: str, colour: str) -> None:
    for window, start in enumerate(played.starts):
        time_ = (start + np.arange(played.real.q.shape[1])) / RATE
        label = {"label": "recorded"} if not window else {}
        panel.plot(time_, played.real.q[window, :, joint], RECORDED, lw=3, alpha=0.5, **label)
        label = {"label": f"replay, {name}"} if not window else {}
        panel.plot(time_, played.sim.q[window, :, joint], colour, lw=1.3, **label)
        label = {"label": "recorded start"} if not window else {}
        panel.plot(time_[0], played.real.q[window, 0, joint], "ko", ms=4, zorder=3, **label)
    panel.legend(fontsize=7, loc="upper left")
    panel.grid(alpha=0.25)


def intervals(path: Path) -> None:
    """What was told and what was not: the wrist roll never moved."""
    robot = arm("shoulder_lift", "elbow_flex", "wrist_roll")
    clips = recorded(scaled(robot, kp=1.3, damping=0.7, frictionloss=3.0), 5, still=("wrist_roll",))
    names = [*DRIVES, "encoder_bias", "delay@all"]
    found = identify(clips, robot, names, settings=QUICK)
    told = sum(e.identifiable for e in found.estimates)
    print(f"intervals: {told} of {len(found.estimates)} parameters told")
    plot_calibration(found, path)


def valley(path: Path) -> None:
    """The cost over kd and damping of one joint: only their sum is told."""
    robot = arm("elbow_flex")
    clips = recorded(robot.with_joints(kd=0.3, damping=0.5), 2)
    world = MujocoWorld(robot, RATE, physics_step=PHYSICS_STEP)
    problem = problem_of(QUICK, clips, world, parameters_of(robot, ["kd", "damping"]))
    kd, damping = np.meshgrid(np.linspace(0.0, 0.8, 17), np.linspace(0.0, 1.0, 21))
    points = [
        problem.z_of(np.array(pair)) for pair in zip(kd.ravel(), damping.ravel(), strict=True)
    ]
    residuals = problem.residuals(np.array(points))
    error = np.array([1e3 * problem.rms(r) for r in residuals]).reshape(kd.shape)
    figure = new_figure(6.4, 4.6)
    panel = figure.subplots()
    levels = np.geomspace(error.min() * 1.05, error.max(), 14)
    drawn = panel.contourf(kd, damping, np.maximum(error, levels[0]), levels, cmap="viridis_r")
    bar = figure.colorbar(drawn, ax=panel, label="replay error over 1 s [mrad]", format="%.1f")
    bar.ax.tick_params(labelsize=8)
    panel.plot(kd[0], 0.8 - kd[0], "w--", lw=1, label="kd + damping = 0.8")
    panel.plot(0.3, 0.5, "r*", ms=13, label="truth")
    panel.set(xlabel="kd [N·m·s/rad]", ylabel="damping [N·m·s/rad]")
    panel.set_ylim(0, 1)
    panel.legend(fontsize=8, loc="upper right")
    save_figure(figure, path)
    along = error[np.isclose(kd + damping, 0.8)]
    print(
        f"valley: along the sum {along.min():.3f} to {along.max():.3f} mrad, "
        f"elsewhere up to {error.max():.1f} mrad"
    )


def two_stages(path: Path, units: int = 4) -> None:
    """The load that is found with a wrong base model, by one stage and by two."""
    robot, load = arm("shoulder_lift", "elbow_flex"), 0.2
    links = parameters_of(robot, ["mass/upper_arm", "mass/lower_arm"])
    base = [*DRIVES, *(p.name for p in links)]
    errors: dict[str, list[float]] = {"one-stage": [], "two-stage": []}
    for unit in range(units):
        rng = np.random.default_rng(unit)
        hidden = scaled(robot, kp=rng.uniform(0.8, 1.2), frictionloss=rng.uniform(1.5, 3.0))
        masses = [p.prior * rng.uniform(0.9, 1.1) for p in links]
        hidden, _ = apply(hidden, Effects(), links, masses)
        full = hidden.with_payloads({"gripper": Payload(load)})
        clips = recorded(hidden, 2, seed=unit) + recorded(full, 2, name="load", seed=unit + 50)
        for plan, found in errors.items():
            calibration = identify(
                Split.of(clips),
                robot,
                base,
                plan=plan,
                payload=["mass/gripper"],
                loaded=["load_*"],
                settings=QUICK,
            )
            found.append(1e3 * (loads(calibration.loaded or calibration)[0].mass - load))
    figure = new_figure(6.4, 3.4)
    panel = figure.subplots()
    for shift, (plan, found), colour in zip(
        (-0.2, 0.2), errors.items(), (BEFORE, AFTER), strict=True
    ):
        bars = panel.bar(np.arange(units) + shift, found, 0.38, label=plan, color=colour)
        panel.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
        print(f"two_stages: {plan} errs by {np.abs(found).mean():.1f} g of {1e3 * load:.0f} g")
    panel.axhline(0, color="black", lw=0.8)
    panel.set_xticks(range(units), [f"unit {i + 1}" for i in range(units)])
    panel.set_ylabel(f"error of a load of {1e3 * load:.0f} g [g]")
    panel.margins(y=0.15)
    panel.legend(fontsize=8)
    save_figure(figure, path)


def starts(path: Path, units: int = 3) -> None:
    """Errors with starts as read from noisy encoders, and with starts that may err."""
    robot, names = arm("shoulder_lift", "elbow_flex"), [*DRIVES, "armature"]
    truth = {"kp": 1.2, "damping": 0.8, "frictionloss": 2.0, "armature": 1.3}
    errors: dict[str, list[list[float]]] = {"read": [], "free": []}
    for unit in range(units):
        clips = recorded(scaled(robot, **truth), 3, noise=1e-3, seed=unit)
        for way, rows in errors.items():
            settings = replace(QUICK, starts=way, horizon=0.5, windows=18)
            found = identify(Split.of(clips), robot, names, settings=settings)
            for e in found.estimates:
                true = truth[e.parameter.kind] * e.nominal[0]
                rows.append([names.index(e.parameter.kind), 100 * (e.value / true - 1)])
    figure = new_figure(6.4, 3.6)
    panel = figure.subplots()
    for shift, (way, rows), colour in zip(
        (-0.14, 0.14), errors.items(), (BEFORE, AFTER), strict=True
    ):
        kind, error = np.array(rows).T
        panel.plot(kind + shift, error, "o", color=colour, alpha=0.6, ms=5, label=f"starts {way}")
        size = [np.sqrt(np.mean(error[kind == i] ** 2)) for i in range(len(names))]
        print(
            f"starts: {way}: "
            + ", ".join(f"{n} {s:.2f} %" for n, s in zip(names, size, strict=True))
        )
    panel.axhline(0, color="black", lw=0.8)
    panel.set_xticks(range(len(names)), names)
    panel.set_ylabel("error of the value [%]")
    panel.legend(fontsize=8)
    panel.grid(axis="y", alpha=0.25)
    save_figure(figure, path)


def fleet(path: Path) -> None:
    """Units' gains with their intervals, and the interval of the fleet."""
    robot = arm("shoulder_lift", "elbow_flex")
    factors = {"one": 0.96, "two": 0.98, "three": 1.0, "four": 1.05, "five": 1.02}
    clips = []
    for seed, (unit, factor) in enumerate(factors.items()):
        clips += recorded(scaled(robot, kp=factor), 2, noise=1e-3, seed=seed, unit=unit)
    found = identify(Split.of(clips), robot, ["kp", "damping"], plan="fleet", settings=QUICK)
    figure = new_figure(8.5, 3.2)
    for panel, joint in zip(figure.subplots(1, 2, sharey=True), robot.joints.names, strict=True):
        whole = found[f"kp/{joint}"]
        panel.axvspan(*whole.interval, color="#e6e6e6", lw=0, label="fleet, 95 % of units")
        panel.axvline(whole.value, color="#999999", label="fleet, mean")
        for row, (unit, factor) in enumerate(factors.items()):
            own = found.made_by["units"][unit][whole.name]
            bar = {"label": "unit, 95 % interval"} if not row else {}
            panel.errorbar(
                own["value"], row, xerr=1.96 * own["std"], fmt="o", capsize=3, color=RECORDED, **bar
            )
            star = {"label": "truth"} if not row else {}
            panel.plot(factor * whole.nominal[0], row, "r|", ms=18, mew=1.5, zorder=3, **star)
        panel.set_yticks(range(len(factors)), [f"unit {u}" for u in factors])
        panel.set_ylim(len(factors) - 0.5, -0.5)
        panel.set_xlabel("kp [N·m/rad]")
        panel.set_title(joint, fontsize=10)
        low, high = whole.interval
        print(f"fleet: kp of {joint} {whole.value:.2f}, 95 % of units {low:.2f} to {high:.2f}")
    panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save_figure(figure, path)


PICTURES: dict[str, Callable[[Path], None]] = {
    "windows": windows,
    "intervals": intervals,
    "valley": valley,
    "two_stages": two_stages,
    "starts": starts,
    "fleet": fleet,
}


def main() -> None:
    """Draw all, or some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pictures", nargs="*", help=f"some of {', '.join(PICTURES)}; all by default"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "identify")
    args = parser.parse_args()
    for name in args.pictures or PICTURES:
        began = time.perf_counter()
        PICTURES[name](args.out / f"{name}.png")
        size = (args.out / f"{name}.png").stat().st_size / 1e3
        print(f"{name}.png, {size:.0f} kB, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
