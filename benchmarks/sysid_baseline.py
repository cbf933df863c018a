"""gapless identify against mujoco.sysid, used as its documentation shows, on a hidden SO-101.

The gain, armature, viscous and Coulomb friction of six joints differ from the nominal robot by up
to 30 %; four noisy clips are given, a fifth is held out. Prints seconds, evaluations and accuracy.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import mujoco
import numpy as np
from mujoco import sysid
from rich.console import Console
from rich.table import Table

from gapless.identification.plans.fitting import fit
from gapless.identification.problem import problem as identify_problem
from gapless.measurement.replay import replay
from gapless.measurement.spans import FULL
from gapless.measurement.windows import windows_of
from gapless.motions import make
from gapless.parameters import parameters_of
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

FIELDS = ("kp", "armature", "damping", "frictionloss")
TRUTH_SPREAD, BOUND = 0.3, 0.5
"""Shares of the nominal value: how far the truth may lie from it, and how far a fit may go."""
NOISE = 1e-3
"""Encoder noise, rad."""
TOLD = 0.05
"""An unknown whose best possible 1-sigma is below this share is told by the recordings."""
PHYSICS_STEP = 0.002
FAST = {"band": (0.2, 2.0)}
TOGETHER = {"together": True}
MOTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("multisine", FAST),
    ("chirp", TOGETHER),
    ("steps", TOGETHER),
    ("fourier", {}),
)
"""What the clips play, in turn; the held-out clip is a multisine of another seed."""

Observe = Literal["state", "sensor"]
"""What is compared with the recorded positions: MuJoCo's qpos, or jointpos sensors."""


@dataclass(frozen=True)
class Problem:
    """Recordings of a robot that differs from its nominal model in known ways.

    Attributes:
        robot: the nominal robot.
        truth: true values by name, "kp/<joint>".
        recordings: noisy clips to fit; dq is differentiated from the noisy q.
        held_out: a clip without noise, only for the score.
        sigma: smallest possible 1-sigma of each unknown as a share of it, only for the score.
    """

    robot: Robot
    truth: dict[str, float]
    recordings: tuple[Recording, ...]
    held_out: Recording
    sigma: dict[str, float]

    @property
    def nominal(self) -> dict[str, float]:
        """Nominal values by name, in the order of `truth`."""
        return {name: nominal_value(self.robot, name) for name in self.truth}


@dataclass(frozen=True)
class Solved:
    """What a method found.

    Attributes:
        values: by name.
        seconds: wall time of the whole solution, set-up and compilation included.
        cpu_seconds: of all threads; what neighbours on the machine change less.
        evaluations: parameter vectors for which all clips were simulated.
        iterations: accepted steps.
    """

    values: dict[str, float]
    seconds: float
    cpu_seconds: float
    evaluations: int
    iterations: int


@dataclass(frozen=True)
class Accuracy:
    """How right some values are.

    Attributes:
        relative_error: RMS over the unknowns of (value - truth) / truth.
        told_error: the same over the unknowns that the recordings tell.
        held_out_rmse: of replayed positions over the whole held-out clip, rad.
    """

    relative_error: float
    told_error: float
    held_out_rmse: float


def nominal_value(robot: Robot, name: str) -> float:
    """Value of "field/joint" in a robot."""
    field, joint = name.split("/")
    return float(getattr(robot.joints, field)[robot.joints.index(joint)])


def with_values(robot: Robot, values: dict[str, float]) -> Robot:
    """The robot with other values of "field/joint"."""
    fields: dict[str, dict[str, float]] = {}
    for name, value in values.items():
        field, joint = name.split("/")
        fields.setdefault(field, {})[joint] = value
    return robot.with_joints(**fields)


def make_problem(seed: int = 0, seconds: float = 10.0, clips: int = 4) -> Problem:
    """A hidden SO-101 and what it recorded."""
    robot = Robot.load("so101", mount="fixed")
    rng = np.random.default_rng(seed)
    names = [f"{field}/{joint}" for field in FIELDS for joint in robot.joints.names]
    shares = 1 + rng.uniform(-TRUTH_SPREAD, TRUTH_SPREAD, len(names))
    truth = {n: nominal_value(robot, n) * s for n, s in zip(names, shares, strict=True)}
    world = MujocoWorld(with_values(robot, truth), physics_step=PHYSICS_STEP)

    def clip(index: int) -> Recording:
        name, options = MOTIONS[index % len(MOTIONS)]
        motion = make(name, robot, seconds, seed=1000 * seed + index, **options)
        return record(world, motion.q, f"{name}_{index}", start=world.home())

    played = [clip(i) for i in range(clips)]
    # The next multisine, so that the kind does not depend on the number of clips.
    held_out = clip(-(-clips // len(MOTIONS)) * len(MOTIONS))
    measured = tuple(as_measured(recording, rng) for recording in played)
    return Problem(robot, truth, measured, held_out, smallest_errors(robot, truth, played))


def smallest_errors(
    robot: Robot, truth: dict[str, float], clips: Sequence[Recording], step: float = 1e-3
) -> dict[str, float]:
    """Cramér-Rao 1-sigma of each unknown as a share of it, from the true robot's sensitivities."""
    targets = np.stack([np.asarray(clip.target) for clip in clips])

    def positions(values: dict[str, float]) -> np.ndarray:
        world = MujocoWorld(with_values(robot, values), physics_step=PHYSICS_STEP)
        return world.rollout(world.home(len(clips)), targets).q[:, 1:-1].ravel()

    base = positions(truth)
    moved = [positions(truth | {n: truth[n] * (1 + step)}) - base for n in truth]
    slopes = np.stack(moved, axis=1) / (step * NOISE)
    sigma = np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
    return dict(zip(truth, sigma.tolist(), strict=True))


def as_measured(clean: Recording, rng: np.random.Generator) -> Recording:
    """Noisy positions, and velocities differentiated from them; nothing else is logged."""
    q = clean.q + rng.normal(0, NOISE, clean.q.shape)
    return replace(clean, q=q, channels={"dq": np.gradient(q, axis=0) * clean.rate})


def solve_with_mujoco_sysid(problem: Problem, threads: int, observe: Observe = "state") -> Solved:
    """Fit the unknowns with mujoco.sysid's default optimiser.

    Args:
        problem: what is fitted.
        threads: of its rollouts; its default is all cores.
        observe: "sensor" is the way of its tutorial. A rollout's sensors are a physics step older
            than their time stamps, so recorded positions should be compared with the "state".
    """
    began, worked = time.perf_counter(), time.process_time()
    spec = problem.robot.spec()
    add_position_sensors(spec, problem.robot.joints.names)
    spec.option.timestep = PHYSICS_STEP
    model = spec.compile()
    data = [series(r, model, observe) for r in problem.recordings]
    sequences = sysid.ModelSequences(
        name=problem.robot.name,
        spec=spec,
        sequence_name=[r.name for r in problem.recordings],
        initial_state=[
            sysid.create_initial_state(model, r.q[0], r.channels["dq"][0])
            for r in problem.recordings
        ],
        control=[control for control, _ in data],
        sensordata=[measured for _, measured in data],
    )
    residual = Counted(sysid.build_residual_fn(models_sequences=[sequences], n_threads=threads))
    # The optimiser prints its iterations even under optimize(verbose=False).
    found, result = sysid.optimize(
        parameters(problem), residual, optimizer="mujoco", output=io.StringIO()
    )
    return Solved(
        values={name: float(found[name].value[0]) for name in problem.truth},
        seconds=time.perf_counter() - began,
        cpu_seconds=time.process_time() - worked,
        evaluations=residual.evaluations,
        iterations=len(result.extras["objective"]) - 1,
    )


def add_position_sensors(spec: mujoco.MjSpec, joints: Iterable[str]) -> None:
    """One jointpos sensor a joint, in the robot's order."""
    for joint in joints:
        spec.add_sensor(
            name=f"{joint}_pos",
            type=mujoco.mjtSensor.mjSENS_JOINTPOS,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=joint,
        )


def parameters(problem: Problem) -> sysid.ParameterDict:
    """The unknowns, started at nominal and bounded around it."""
    found = sysid.ParameterDict()
    for name, value in problem.nominal.items():
        low, high = value * (1 - BOUND), value * (1 + BOUND)
        modifier = partial(set_value, name=name)
        found.add(sysid.Parameter(name, value, low, high, modifier=modifier))
    return found


def set_value(spec: mujoco.MjSpec, parameter: sysid.Parameter, name: str) -> None:
    """Write an unknown into a spec."""
    field, joint = name.split("/")
    value = float(parameter.value[0])
    if field == "kp":
        sysid.apply_pgain(spec, joint, value)
    elif field == "damping":
        spec.joint(joint).damping[0] = value
    else:
        setattr(spec.joint(joint), field, value)


def series(
    recording: Recording, model: mujoco.MjModel, observe: Observe
) -> tuple[sysid.TimeSeries, sysid.TimeSeries]:
    """Commands at the physics step, each held for its control step, and measured positions."""
    substeps = round(1 / (recording.rate * model.opt.timestep))
    target = np.asarray(recording.target)
    # Its own resampling is linear, which would let commands act before they were sent.
    held = np.concatenate([target[:-1].repeat(substeps, axis=0), target[-1:]])
    control = sysid.TimeSeries.from_control_names(
        np.arange(len(held)) * model.opt.timestep, held, model
    )
    kind = sysid.SignalType.MjStateQPos if observe == "state" else sysid.SignalType.MjSensor
    suffix = "qpos" if observe == "state" else "pos"
    names = [(f"{joint}_{suffix}", kind) for joint in recording.joints]
    return control, sysid.TimeSeries.from_names(recording.time, recording.q, model, names)


def solve_with_gapless(problem: Problem, threads: int) -> Solved:
    """gapless's own Gauss-Newton on the same clips, bounds and threads; intervals included."""
    began, cpu = time.perf_counter(), time.process_time()
    robot = problem.robot
    world = MujocoWorld(robot, physics_step=PHYSICS_STEP, threads=threads)
    bounds = {n: ((1 - BOUND) * v, (1 + BOUND) * v) for n, v in problem.nominal.items()}
    asked = identify_problem.Problem(
        world,
        parameters_of(robot, list(problem.truth), bounds=bounds),
        windows_of(problem.recordings, robot, FULL),
        loss="squared",
    )
    found = fit(asked)
    values = dict(zip(problem.truth, found.values.tolist(), strict=True))
    seconds, busy = time.perf_counter() - began, time.process_time() - cpu
    clips = sum(len(r) - 1 for r in problem.recordings) / problem.recordings[0].rate
    return Solved(values, seconds, busy, round(found.simulated_seconds / clips), found.iterations)


class Counted:
    """A residual function that counts the parameter vectors it was asked for."""

    def __init__(self, residual: Callable[..., Any]) -> None:
        self._residual = residual
        self.evaluations = 0

    def __call__(self, x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
        """Residuals of one vector (n,) or of many, (n, m)."""
        self.evaluations += 1 if x.ndim == 1 else x.shape[1]
        return self._residual(x, *args, **kwargs)


def accuracy(problem: Problem, values: dict[str, float]) -> Accuracy:
    """Errors of values against the truth, and of the robot they give on the held-out clip."""
    errors = {name: values[name] / true - 1 for name, true in problem.truth.items()}
    world = MujocoWorld(with_values(problem.robot, values), physics_step=PHYSICS_STEP)
    (played,) = replay([problem.held_out], world, FULL)
    return Accuracy(
        relative_error=rms(errors.values()),
        told_error=rms(errors[name] for name in told(problem)),
        held_out_rmse=rms(played.error[played.usable]),
    )


def told(problem: Problem) -> list[str]:
    """The unknowns that the recordings tell."""
    return [name for name, sigma in problem.sigma.items() if sigma < TOLD]


def rms(values: Iterable[float]) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(list(values)))))


def table(problem: Problem, rows: dict[str, dict[str, Any]]) -> Table:
    """The methods side by side, between the nominal robot and what the noise allows."""
    clips, unknowns = len(problem.recordings), len(problem.truth)
    title = f"{unknowns} unknowns of an SO-101, {clips} clips, {len(told(problem))} told by them"
    columns = ("", "s", "CPU s", "steps", "rollouts", "error", "of told", "held out, mrad")
    result = Table(*columns, title=title)
    for name, row in rows.items():
        work = [f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}", str(row["iterations"])]
        work = [*work, str(clips * row["evaluations"])] if row["evaluations"] else [""] * 4
        errors = [f"{row['relative_error']:.2%}", f"{row['told_error']:.2%}"]
        result.add_row(name, *work, *errors, f"{1000 * row['held_out_rmse']:.3f}")
    limit = [rms(problem.sigma.values()), rms(problem.sigma[name] for name in told(problem))]
    result.add_row("least possible", *[""] * 4, *(f"{value:.2%}" for value in limit), "")
    return result


def main() -> None:
    """Solve one problem, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a clip")
    parser.add_argument("--clips", type=int, default=4)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--observe", choices=("state", "sensor"), default="state")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    problem = make_problem(args.seed, args.seconds, args.clips)
    solutions = {
        "nominal": Solved(problem.nominal, 0.0, 0.0, 0, 0),
        "gapless": solve_with_gapless(problem, args.threads),
        "mujoco.sysid": solve_with_mujoco_sysid(problem, args.threads, args.observe),
    }
    rows = {
        name: asdict(solved) | asdict(accuracy(problem, solved.values))
        for name, solved in solutions.items()
    }
    Console(width=100).print(table(problem, rows))
    if args.json:
        with open(args.json, "w") as file:
            facts = {"options": vars(args), "mujoco": mujoco.__version__, "truth": problem.truth}
            json.dump(facts | {"sigma": problem.sigma, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
