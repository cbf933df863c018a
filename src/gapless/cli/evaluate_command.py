"""`gapless evaluate`: will this policy survive on this robot, and what fails first?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.command_option import read_command
from gapless.cli.correction_use import (
    correction_to_use,
    inverted,
    read_use,
    report_inversions,
)
from gapless.cli.load_option import read_load
from gapless.cli.place_option import Placed
from gapless.cli.prediction_report import report_prediction
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import DataError, GaplessError

if TYPE_CHECKING:
    from gapless.closing import Run
    from gapless.evaluation import Evaluation, Scenario
    from gapless.evaluation.inverted_policy import InvertedPolicy
    from gapless.evaluation.policy_episodes import Episodes
    from gapless.motions.motion import Motion
    from gapless.policies import Policy
    from gapless.recordings import Recording
    from gapless.robots import Robot
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Evaluate(Placed):
    """Run many episodes of a policy in the raw, the identified and the corrected simulator.

    With --run the result is kept in the run: its page shows it, and gapless view the worst episode.
    """

    policies: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Network (.onnx), contract (policy.toml, deploy.yaml) or folder of a policy; several are set
    side by side."""
    matrix: Path | None = None
    """Instead of a policy: a .toml that names policies, worlds and seeds. Cells that are done are
    kept; the same command resumes."""
    run: Path | None = None
    """Folder of gapless close: its robot, and its simulators."""
    calibration: Path | None = None
    """File of gapless identify: the robot as identified, with the load that was found, beside the
    raw one."""
    robot: str | None = None
    """Without a run: built-in robot or path of an .xml, .urdf or .toml; the policy's by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    world: tuple[str, ...] = ()
    """Worlds as ENGINE[:PRESET[:UNIT]], e.g. physx, or mujoco:hard:2 for a hidden robot; beside the
    simulators of a run, or instead of the robot's own."""
    episodes: int = 64
    """How many, at once."""
    seconds: float | None = None
    """Of each; 20, or as long as the recordings of --against; a tracker's end with its motion."""
    command: tuple[str, ...] = ()
    """Commands in turn, e.g. 0.5,0,0; those of --against, or a spread of the range by default."""
    change_every: float = 0.0
    """Seconds after which an episode goes on to the next command; 0 is never."""
    push: float = 0.0
    """Speed given to the base at once, in a random direction, m/s."""
    push_every: float = 4.0
    """Seconds between pushes."""
    payload: tuple[str, ...] = ()
    """Loads as LINK=KG, or LINK=KG@X,Y,Z for one that is elsewhere than the link's centre of mass,
    m in the link's frame."""
    floor_friction: float | None = None
    """Of the floor; the robot's own by default."""
    slope: float = 0.0
    """Of the floor, degrees, uphill in front."""
    step_height: float = 0.0
    """Of stairs in front, m."""
    motion: Annotated[tuple[Path, ...], tyro.conf.arg(aliases=["--motions"])] = ()
    """What a tracker follows, for its errors, one for all policies or one for each; the contract's
    motion.file by default."""
    correction_use: str | None = None
    """With a run: beside the policy the same one that undoes the run's correction, invert,
    invert:fixed-point or invert:gradient; on the robots of --world, or in the corrected simulator.
    """
    sensitivity: int = 0
    """With a run: move so many identified parameters within their intervals."""
    against: Path | None = None
    """Dataset of the robot under this very policy: what it did, and what is predicted of it."""
    record: Path | None = None
    """Folder for the last world's episodes as a dataset."""
    seed: int = 0
    """Of starts and pushes."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Evaluate, "evaluate", arguments)
    from gapless.evaluation.evaluating import judge_episodes, play_worlds
    from gapless.evaluation.kept_evaluations import keep_evaluation
    from gapless.policies.policy_files import load_policy

    check_outputs(args.json, args.record)
    if args.matrix is not None:
        return _matrix(args)
    if args.on != Placed.on:
        raise GaplessError("--on is of --matrix FILE; one policy is evaluated here")
    if not args.policies:
        raise GaplessError("which policy? gapless evaluate POLICY, or --matrix FILE")
    if len(args.motion) not in (0, 1, len(args.policies)):
        raise GaplessError(
            f"{len(args.motion)} motions for {len(args.policies)} policies; expected one for all, "
            "or one for each"
        )
    if args.calibration is not None and args.run is not None:
        raise GaplessError("--run has a calibration of its own; give one of --run, --calibration")
    if len(args.policies) > 1 or args.correction_use is not None:
        return _several(args)
    path = next(iter(args.policies))
    opened, robot = _robot(args)
    policy = load_policy(path, robot)
    robot = robot or _own_robot(policy, args)
    log, left_out = _log(args, opened, policy)
    worlds, scenario = _worlds(args, opened, robot), _scenario(args, policy, log)
    motion = _motion(args, policy, robot)
    with progress("evaluating") as show:
        played = play_worlds(policy, worlds, scenario, show, motion)
        found = judge_episodes(policy, worlds, played, scenario, motion)
        if args.sensitivity:
            found = _with_sensitivity(args, opened, policy, scenario, motion, found, show)
    console().print(found)
    figures = found.to_dict()
    if log:
        figures |= report_prediction(log, left_out, policy, scenario, played)
    save_json(args.json, figures)
    if opened is not None:
        keep_evaluation(opened.path, found, played, figures)
        console().print(f"next: gapless report {opened.path}; gapless view {opened.path}")
    if args.record is not None:
        _record(args.record, policy, scenario, played)
    return 0


def _several(args: Evaluate) -> int:
    """Policies side by side, a table for each world."""
    from gapless.evaluation.evaluating import evaluate
    from gapless.evaluation.policies_side_by_side import PoliciesSideBySide
    from gapless.policies.policy_files import load_policy

    alone = [k for k in ("sensitivity", "against", "record") if getattr(args, k)]
    if alone:
        why = "is not there with --correction-use" if args.correction_use else "is of one policy"
        raise GaplessError(f"--{alone[0]} {why}; {len(args.policies)} were given")
    opened, own = _robot(args)
    if args.correction_use is not None:
        read_use(args.correction_use)
        correction_to_use(opened)
    found: dict[str, Evaluation] = {}
    undoing: dict[str, InvertedPolicy] = {}
    with progress("evaluating") as show:
        for k, path in enumerate(args.policies):
            policy = load_policy(path, own)
            robot = own or _own_robot(policy, args)
            motion = _motion(args, policy, robot, k)
            worlds, asked = _worlds(args, opened, robot), _scenario(args, policy, [])
            found[str(path)] = evaluate(policy, worlds, asked, motion=motion, watch=show)
            if args.correction_use is not None:
                name = f"{path}, inverted"
                undoing[name] = inverted(policy, opened, robot, asked, args.correction_use)
                found[name] = evaluate(undoing[name], worlds, asked, motion=motion, watch=show)
    compared = PoliciesSideBySide(found)
    console().print(compared)
    counts = {"inversions": report_inversions(undoing)} if undoing else {}
    save_json(args.json, compared.to_dict() | counts)
    return 0


def _matrix(args: Evaluate) -> int:
    """Make what is missing, and print the tables."""
    from gapless.evaluation.evaluation_matrix import EvaluationMatrix

    assert args.matrix is not None
    matrix, workers = EvaluationMatrix.read(args.matrix), args.workers()
    try:
        with stoppable(), progress("evaluating") as show:
            matrix.run(show, workers)
    except KeyboardInterrupt as stop:
        return stopped(stop, any(cell.file.exists() for cell in matrix.cells()))
    console().print(matrix)
    save_json(args.json, matrix.to_dict())
    return 0


def _robot(args: Evaluate) -> tuple[Run | None, Robot | None]:
    from gapless.closing import Run
    from gapless.robots import Robot

    if args.run is None:
        loaded = Robot.load(args.robot, mount="free", lock=args.lock) if args.robot else None
        return None, loaded
    opened = Run.open(args.run)
    if opened.robot.mount != "free":
        raise DataError(
            f"{args.run} is a run of a {opened.robot.name} that was held ({opened.robot.mount}); a "
            "policy is evaluated on its feet: close recordings of the robot on the floor, or "
            "evaluate without --run"
        )
    return opened, opened.robot


def _own_robot(policy: Policy, args: Evaluate) -> Robot:
    from gapless.robots import Robot

    if not policy.contract.robot:
        raise GaplessError("the policy does not say which robot it is for; say it with --robot")
    return Robot.load(policy.contract.robot, mount="free", lock=args.lock)


def _worlds(args: Evaluate, opened: Run | None, robot: Robot) -> dict[str, World]:
    from gapless.worlds import MujocoWorld
    from gapless.worlds.named_worlds import world_of

    found: dict[str, World] = {} if opened is None else opened.worlds()
    if opened is not None and args.correction_use is not None:
        # What stands for the robot: a raw simulator makes nothing of commands that is undone.
        found = {} if args.world else {"corrected": opened.world()}
    if args.calibration is not None:
        found |= {"raw": MujocoWorld(robot), "identified": _identified(args.calibration, robot)}
    found |= {name: world_of(name, robot) for name in args.world}
    return found or {"raw": MujocoWorld(robot)}


def _identified(file: Path, robot: Robot) -> World:
    from gapless.identification import Calibration
    from gapless.tracking.training_worlds import calibrated_world

    return calibrated_world(Calibration.load(file), robot, physics_step=0.002)


def _log(
    args: Evaluate, opened: Run | None, policy: Policy
) -> tuple[list[Recording], tuple[str, ...]]:
    """What the robot did under held-out commands, and the commands that taught or chose."""
    from gapless.evaluation.walk_prediction import untaught
    from gapless.recordings import Dataset

    if args.against is None:
        return [], ()
    return untaught(Dataset.open(args.against), policy, opened.taught if opened else ())


def _scenario(args: Evaluate, policy: Policy, log: list[Recording]) -> Scenario:
    from gapless.evaluation import Scenario
    from gapless.evaluation.walk_prediction import says_commands, scenario_of

    asked = Scenario(
        episodes=args.episodes,
        seconds=20.0 if args.seconds is None else args.seconds,
        commands=tuple(read_command(text) for text in args.command),
        change_every=args.change_every,
        push=args.push,
        push_every=args.push_every,
        payloads=dict(read_load(text) for text in args.payload),
        floor_friction=args.floor_friction,
        slope=args.slope,
        step_height=args.step_height,
        seed=args.seed,
    )
    if args.command or not says_commands(log, policy):
        return asked
    logged = scenario_of(log, policy, args.episodes)
    return replace(
        asked,
        episodes=logged.episodes,
        commands=logged.commands,
        seconds=logged.seconds if args.seconds is None else args.seconds,
        payloads=asked.payloads or logged.payloads,
    )


def _motion(args: Evaluate, policy: Policy, robot: Robot, k: int = 0) -> Motion | None:
    """What the k-th policy follows, where a file of it is known."""
    from gapless.motions.references import read_motions

    given = args.motion
    file = given[k % len(given)] if given else None
    if file is None and policy.contract.reference:
        file = policy.source.parent / policy.contract.reference
    return read_motions(file, robot)[0] if file is not None else None


def _with_sensitivity(
    args: Evaluate,
    opened: Run | None,
    policy: Policy,
    scenario: Scenario,
    motion: Motion | None,
    found: Evaluation,
    show: object,
) -> Evaluation:
    from gapless.evaluation.sensitivity import find_sensitivity

    if opened is None or opened.calibration is None:
        raise DataError("--sensitivity needs a --run whose identified parameters were kept")
    costs = find_sensitivity(
        *(policy, opened.raw(), opened.world(), opened.calibration, scenario),
        most=args.sensitivity,
        motion=motion,
        watch=show,  # type: ignore[arg-type]
    )
    return found.with_sensitivity(costs)


def _record(path: Path, policy: Policy, scenario: Scenario, played: dict[str, Episodes]) -> None:
    from gapless.evaluation.episode_recordings import episode_recordings
    from gapless.recordings import Dataset

    name, own = list(played.items())[-1]
    clips = episode_recordings(own, policy.contract, scenario, unit=name)
    Dataset.from_recordings(clips, own.robot.name).save(path)
    console().print(f"{len(clips)} recordings of the {name} robot written to {path}")
