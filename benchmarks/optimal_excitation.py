"""What a D-optimal motion tells about a robot, against the best chirp of equal length and limits.

Prints, for each parameter, the predicted 1-sigma and the error of a least-squares fit to noisy
recordings of hidden robots, as shares of the nominal figure.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from gapless.motions.information import fisher, log_det, positions, predicted_errors, sensitivities
from gapless.motions.motion import Motion
from gapless.motions.optimal import OFF, optimal, unknowns
from gapless.motions.pieces import clear_range, fit
from gapless.motions.waves import chirp
from gapless.parameters import Parameter, changed
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld

BANDS = ((0.1, 1.0), (0.1, 2.0), (0.5, 3.0), (1.0, 4.0), (2.0, 4.0))
NOISE = 1e-3
"""Encoder noise, rad."""


ABOUT = ("kp", "kd", "frictionloss", "armature")
HIDDEN = ("strength", "coulomb", "armature")
"""Effects of the hidden robots: what these parameters can express, and nothing else."""


def hidden(robot: Robot, unit: int) -> tuple[HiddenWorld, np.ndarray]:
    """A hidden unit and its offsets, in the order of ABOUT; only the score sees them."""
    world, joints = HiddenWorld(robot, "typical", unit, only=HIDDEN), robot.joints
    with tempfile.TemporaryDirectory() as folder:
        world.write_truth(Path(folder, "truth.json"))
        effects = json.loads(Path(folder, "truth.json").read_text())["effects"]
    weak, dry, rotor = (
        np.array([effects[name]["values"][j][0] for j in joints.names]) for name in HIDDEN
    )
    offsets = -weak * joints.kp, -weak * joints.kd, dry * joints.effort, rotor * joints.armature
    return world, np.concatenate(offsets)


def identified(
    world: MujocoWorld,
    parameters: Sequence[Parameter],
    motion: Motion,
    readings: np.ndarray,
) -> np.ndarray:
    """(P,) offsets from nominal that explain the readings best.

    Args:
        world: the nominal robot.
        parameters: what is unknown.
        motion: what was played.
        readings: (T, J) noisy positions.
    """
    scales, half = np.array([p.prior_std for p in parameters]), readings.size / 2

    def residuals(x: np.ndarray) -> np.ndarray:
        guess = changed(world, parameters, x * scales)
        return ((positions(guess, motion.q[None], world.home())[0] - readings) / NOISE).ravel()

    def slopes(x: np.ndarray) -> np.ndarray:
        guess = changed(world, parameters, x * scales)
        columns = sensitivities(guess, motion.q, parameters, central=False)
        return columns.reshape(-1, len(scales)) * scales / NOISE

    dry = np.array([p.kind == "frictionloss" for p in parameters])
    starts = [np.where(dry, offset, 0.0) for offset in (0.0, -1.0, 1.0)]
    fits = []
    for start in starts:
        # Figures below zero are clipped by the world; a trust region with bounds stops too early.
        fits.append(least_squares(residuals, start, slopes, method="lm", xtol=1e-4, ftol=1e-5))
        # Dry friction bends the cost into side valleys: readings that are not explained to
        # within their noise call for another start.
        if fits[-1].cost < half + np.sqrt(half):
            break
    return min(fits, key=lambda found: found.cost).x * scales


def prediction(
    world: MujocoWorld, parameters: Sequence[Parameter], motion: Motion
) -> tuple[np.ndarray, float]:
    """(P,) predicted 1-sigma of each parameter, and the D-criterion."""
    information = fisher(sensitivities(world, motion.q, parameters), NOISE)
    return predicted_errors(information), log_det(information, parameters)


def actual_errors(
    world: MujocoWorld, parameters: Sequence[Parameter], motion: Motion, units: int
) -> np.ndarray:
    """(P,) RMS error of the fit over hidden units, each recorded once."""
    errors = []
    for unit in range(1, units + 1):
        robot, truth = hidden(world.robot, unit)
        clean = robot.rollout(robot.home(), motion.q[None]).q[0, 1:]
        readings = clean + np.random.default_rng(unit).normal(0, NOISE, clean.shape)
        errors.append(identified(world, parameters, motion, readings) - truth)
    return np.sqrt(np.mean(np.square(errors), axis=0))


def fair_chirps(world: MujocoWorld, seconds: float) -> list[Motion]:
    """Chirps of all joints at once, each as wide as the limits of the optimal motion allow."""
    home, reach = world.robot.joints.default, clear_range(world.robot, np.random.default_rng(0))
    chirps = []
    for band in BANDS:
        motion = chirp(world.robot, seconds, amplitude=1.0, band=band, together=True)
        factor, _ = fit(world, (motion.q - home)[None], reach)
        q = home + factor[0] * (motion.q - home)
        chirps.append(replace(motion, name=f"chirp {band[0]:g}-{band[1]:g} Hz", q=q))
    return chirps


def geometric_mean(values: np.ndarray) -> float:
    """The mean that weighs a factor alike for small and large numbers."""
    return float(np.exp(np.log(values).mean()))


def compare(
    name: str, robot: Robot, seconds: float, candidates: int, units: int
) -> dict[str, object]:
    """Print the table of a robot and return its summary."""
    world, parameters = MujocoWorld(robot), unknowns(robot, ABOUT)
    began = time.perf_counter()
    best = optimal(robot, seconds, about=ABOUT, noise=NOISE, candidates=candidates)
    took = time.perf_counter() - began
    share = np.array([p.prior_std for p in parameters]) / OFF
    rivals = [(prediction(world, parameters, m)[0] / share, m) for m in fair_chirps(world, seconds)]
    sigma_chirp, rival = min(rivals, key=lambda pair: geometric_mean(pair[0]))
    sigma_best, criterion = prediction(world, parameters, best)
    sigma_best = sigma_best / share
    real_chirp, real_best = (
        actual_errors(world, parameters, m, units) / share for m in (rival, best)
    )
    print(f"\n{name}, {seconds:g} s, {len(parameters)} parameters, designed in {took:.0f} s")
    print(f"errors in % of nominal    predicted: {rival.name}, optimal    actual: chirp, optimal")
    rows = (sigma_chirp, sigma_best, real_chirp, real_best)
    for parameter, *values in zip(parameters, *rows, strict=True):
        print(f"{parameter.name:44s}" + "".join(f"{100 * v:10.3f}" for v in values))
    means = [geometric_mean(row) for row in rows]
    print(f"{'geometric mean':44s}" + "".join(f"{100 * v:10.3f}" for v in means))
    for predicted, motion in rivals:
        print(f"  {motion.name}: predicted {100 * geometric_mean(predicted):.3f} %")
    keys = ("predicted_chirp", "predicted_optimal", "actual_chirp", "actual_optimal")
    return {"robot": name, "log_det": criterion, **dict(zip(keys, means, strict=True))}


def so101_pair() -> Robot:
    """Two joints of an SO-101 that gravity couples: small enough to be quick."""
    locked = ["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"]
    return Robot.load("so101", mount="fixed", lock=locked)


def h1_2_arms() -> Robot:
    """The ten arm joints SimLifter moves."""
    robot = Robot.load("h1_2", mount="fixed")
    arms = robot.joint_groups["gaponet"]
    return robot.lock([joint for joint in robot.joints.names if joint not in arms])


ROBOTS = {
    "so101_pair": so101_pair,
    "so101": lambda: Robot.load("so101", mount="fixed"),
    "h1_2_arms": h1_2_arms,
}


def main() -> None:
    """Print one table a robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--candidates", type=int, default=48)
    parser.add_argument("--units", type=int, default=6, help="hidden robots that are identified")
    parser.add_argument("--robot", choices=tuple(ROBOTS), help="one of them; all by default")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    rows = [
        compare(name, ROBOTS[name](), args.seconds, args.candidates, args.units)
        for name in ([args.robot] if args.robot else ROBOTS)
    ]
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
