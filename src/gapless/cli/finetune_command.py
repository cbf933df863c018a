"""`gapless finetune`: a tracker is trained on in a simulator that behaves like the robot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.terminal import parse
from gapless.cli.training_options import TrainingOptions, evaluated, trained
from gapless.errors import GaplessError, unknown

if TYPE_CHECKING:
    from gapless.motions import Motion
    from gapless.policies import Policy
    from gapless.robots import Robot
    from gapless.tracking import TrainSettings
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Finetune(TrainingOptions):
    """Tune a tracker in the corrected simulator of a run; it runs without the correction.

    A training that is stopped resumes when the same command is typed again.
    """

    policy: Annotated[Path, tyro.conf.Positional]
    """Folder, contract or network of the policy; ours, or other people's."""
    run: Path | None = None
    """Folder of gapless close: its corrected simulator."""
    stage: str = "corrected"
    """Which simulator of the run: raw, identified or corrected; the last that was kept where it
    has none of this name."""
    calibration: Path | None = None
    """Instead of a run: file of gapless identify. The robot as identified, with the load that the
    two-stage plan found."""
    world: str | None = None
    """Instead of a run: ENGINE[:PRESET[:UNIT]], e.g. physx:hard:2."""
    robot: str | None = None
    """Without a run: built-in robot or path of an .xml, .urdf or .toml; the policy's by default."""
    motion: Path | None = None
    """What it follows; the motion beside the policy by default."""
    takes: Path | None = None
    """Recordings of this very policy on the robot, with its base: what the simulator misses of
    their path is made up for. The dataset that the run was closed with, where it was recorded so.
    """
    noise: float = 0.0
    """Added to targets at every step, rad, uniform: ASAP's baseline of action noise."""
    vary: int | None = None
    """Simulators at once that differ: 8 by default, 0 is the one alone. A hidden robot is one."""
    ranges: str | None = None
    """How they differ: narrow (around a model that is believed), asap (Table VI), wide (loads
    included), or intervals (of what a run identified). By default narrow, and where --vary is given
    the intervals of a run, asap of --world."""
    sensor_noise: float | None = None
    """Share of ASAP's noise of what the policy sees; 1 by default."""
    push: float | None = None
    """Speed given to the base at once, now and then, m/s; 0.3 by default of a robot on a floor."""
    samples: float = 1.2e6
    """Control steps in all."""
    trim: int = 0
    """Rounds of least squares on gains and offsets of its actions before PPO."""
    exploration: float = 0.2
    """Standard deviation of actions to begin with."""
    physics_step: float = 0.005
    """Longest physics step, s; a run has its own."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Finetune, "finetune", arguments)
    from gapless.policies import Policy
    from gapless.recordings import Dataset
    from gapless.tracking import finetune

    policy = Policy.load(args.policy)
    world = _world(args, policy)
    how = _settings(args, world)
    motion = _motion(args, world.robot)
    takes = () if args.takes is None else Dataset.open(args.takes)
    training = partial(finetune, policy, world, args.out, how, motion=motion, takes=takes)
    where = next((f"--{k}", str(v)) for k, v in _places(args).items() if v is not None)
    return trained(args, training, evaluated(args, world.robot, *where))


def _settings(args: Finetune, world: World) -> TrainSettings:
    """Those that suit the world, but for what was said."""
    from gapless.tracking.training import finetuned_in

    usual = finetuned_in(world, args.environments)
    said = {k: getattr(args, k) for k in ("vary", "ranges", "sensor_noise", "push")}
    told = {name: value for name, value in said.items() if value is not None}
    if "vary" in told:
        told.setdefault("ranges", "")
    how = replace(
        usual,
        action_noise=args.noise,
        noise=args.exploration,
        trim=args.trim,
        **told,
    )
    return how.with_samples(args.samples)


def _world(args: Finetune, policy: Policy) -> World:
    from gapless.closing import Run
    from gapless.closing.stage import STAGES
    from gapless.worlds.named_worlds import world_of

    if sum(place is not None for place in _places(args).values()) != 1:
        raise GaplessError(
            "where shall it be tuned? give --run RUN, --calibration FILE, or --world physx:hard:2"
        )
    if args.calibration is not None:
        return _identified(args, policy)
    if args.run is None:
        return world_of(args.world or "", _robot(args, policy), args.physics_step)
    if args.stage not in STAGES:
        raise unknown("stage", args.stage, STAGES)
    worlds = Run.open(args.run).worlds()
    found = worlds.get(args.stage, list(worlds.values())[-1])
    drawn = args.ranges == "intervals" or ((args.vary or 0) > 0 and not args.ranges)
    if drawn and getattr(found, "calibration", None) is None:
        raise GaplessError(
            f"--vary draws from the intervals of identified parameters, and {args.run} has none "
            "here: expected a run that kept them, and --stage identified or corrected. The nominal "
            "simulator varies with --world mujoco"
        )
    return found


def _places(args: Finetune) -> dict[str, object]:
    """Where it may be tuned, by option."""
    return {name: getattr(args, name) for name in ("run", "calibration", "world")}


def _identified(args: Finetune, policy: Policy) -> World:
    from gapless.identification import Calibration
    from gapless.tracking.training_worlds import calibrated_world

    assert args.calibration is not None
    calibration = Calibration.load(args.calibration)
    return calibrated_world(calibration, _robot(args, policy), args.physics_step)


def _robot(args: Finetune, policy: Policy) -> Robot:
    """On its feet where the policy sees its base, else as it is usually held."""
    from gapless.policies.terms import KINDS
    from gapless.robots import Robot

    name = args.robot or policy.contract.robot
    if not name:
        raise GaplessError("the policy does not say which robot it is for; say it with --robot")
    based = any(KINDS[term.kind].needs for term in policy.contract.terms.values())
    return Robot.load(name, mount="free" if based else None, lock=args.lock)


def _motion(args: Finetune, robot: Robot) -> Motion | None:
    from gapless.motions import read_motions

    return None if args.motion is None else read_motions(args.motion, robot)[0]
