"""`gapless imitate`: several trackers become one student."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.cli.training_options import TrainingOptions, checkpoint_of
from gapless.errors import DataError

if TYPE_CHECKING:
    from gapless.imitation import ImitateSettings
    from gapless.motions import Motion
    from gapless.policies import Policy
    from gapless.robots import Robot
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Imitate(TrainingOptions):
    """Make one student of several trackers: behaviour cloning, then DAgger.

    The student is one network, and a contract (.toml) for each motion. An imitation that is stopped
    resumes when the same command is typed again.
    """

    teachers: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders, contracts or networks of trackers, ours or other people's."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    motions: tuple[Path, ...] = ()
    """What each teacher follows, in their order; the motions beside them by default."""
    world: str | None = None
    """Act in ENGINE[:PRESET[:UNIT]], e.g. physx:typical:2; the robot's simulator by default."""
    physics_step: float = 0.005
    """Longest physics step, s."""
    model: str = "mlp"
    """mlp, a plain network; or flow, from noise to the next few actions."""
    rounds: int = 8
    """Of DAgger after the cloning."""
    samples: float = 400_000
    """Control steps that are recorded in all."""
    updates: int = 20_000
    """Of the network, in all."""
    environments: int = 64
    """At once, of each teacher."""
    hidden: tuple[int, ...] = (512, 256, 128)
    """Sizes of the network's layers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Imitate, "imitate", arguments)
    from gapless.imitation import imitate
    from gapless.policies.policy_files import load_policy
    from gapless.robots import Robot

    check_outputs(args.out, args.json)
    robot = Robot.load(args.robot, lock=args.lock)
    policies = [load_policy(path, robot) for path in args.teachers]
    checkpoint = checkpoint_of(args.out)
    try:
        with stoppable(), progress("imitating") as watch:
            student = imitate(
                *(policies, _world(args, robot), args.out, _settings(args)),
                motions=[_motion(path, robot) for path in args.motions],
                seed=args.seed,
                checkpoint=checkpoint,
                restart=args.restart,
                overwrite=args.overwrite,
                watch=watch,
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, checkpoint.exists())
    _report(student, args.json)
    verb = ["evaluate"] if robot.mount == "free" else ["policy", "show"]
    where = ["--robot", args.robot] if robot.mount == "free" else []
    then = shlex.join(["gapless", *verb, str(student.source), *where])
    console(stderr=True).print(f"next: {then}", markup=False, soft_wrap=True)
    return 0


def _motion(path: Path, robot: Robot) -> Motion:
    from gapless.motions import read_motions

    return read_motions(path, robot)[0]


def _world(args: Imitate, robot: Robot) -> World:
    from gapless.tracking.training_worlds import nominal_world
    from gapless.worlds.named_worlds import world_of

    if args.world is None:
        return nominal_world(robot, args.physics_step)
    return world_of(args.world, robot, args.physics_step)


def _settings(args: Imitate) -> ImitateSettings:
    from gapless.imitation import ImitateSettings

    if not 1 <= args.samples < 1e9:
        raise DataError(f"samples is {args.samples}; expected control steps in all, such as 2e5")
    return ImitateSettings(
        model=args.model,
        rounds=args.rounds,
        samples=round(args.samples),
        updates=args.updates,
        environments=args.environments,
        hidden=args.hidden,
    )


def _report(student: Policy, json: Path | None) -> None:
    """Student and teachers, motion by motion, where the student learned."""
    from gapless.artifact import read_json

    training = read_json(student.source.parent / "training.json")
    table = Table("teacher", title="mean body distance over whole motions (mm)")
    for column in ("teacher's", "student's"):
        table.add_column(column, justify="right")
    for name, error in training["errors_m"].items():
        table.add_row(
            name, f"{1000 * training['teachers_errors_m'][name]:.0f}", f"{1000 * error:.0f}"
        )
    console().print(table)
    save_json(json, training)
