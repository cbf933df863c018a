"""deploy: policies on a robot, within signed limits, and what happened as recordings."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.deployment.adaptive_pilot import AdaptivePilot, adaptations_for
from gapless.deployment.control_loop import ControlLoop, LoopReport
from gapless.deployment.deployed import Deployed, beliefs_of
from gapless.deployment.dry_run_link import DryRunLink
from gapless.deployment.flight_board import FlightBoard
from gapless.deployment.flight_recorder import FlightRecorder
from gapless.deployment.flight_recovery import EmptyFlightError
from gapless.deployment.link_addresses import LinkOptions, open_link
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.operated_pilot import OperatedPilot
from gapless.deployment.operators import PlanOperator, StageOperator
from gapless.deployment.policy_stages import stages_of
from gapless.deployment.robot_link import RobotLink
from gapless.deployment.safety_file import read_safety, write_safety
from gapless.deployment.safety_filter import SafetyFilter
from gapless.deployment.safety_limits import SafetyCheck, SafetyLimits
from gapless.deployment.soft_realtime import soft_realtime
from gapless.deployment.stage_plan import read_plan
from gapless.errors import DataError, SafetyError

if TYPE_CHECKING:
    from gapless.policies import Policy
    from gapless.robots import Robot
    from gapless.robots.payload import Payload

Watcher = Callable[[FlightBoard], AbstractContextManager[object]]
LONGEST = 24 * 3600.0
"""s of a run that nobody ends."""


@dataclass(frozen=True)
class DeploySettings:
    """How a robot is flown.

    Attributes:
        link: world, udp://HOST:PORT, unitree or ros2.
        options: what the link needs besides.
        safety: the signed limits; a world needs none.
        arm: send commands to a robot; otherwise everything is done but that.
        plan: what is done, unattended; see `stage_plan.FORM`.
        seconds: after which the run ends at the latest.
        patience: s to wait for the robot's first sample.
        core: to stay on.
        unit: name of the individual robot, for the recordings.
        adapt: hands, or files of arms, whose load and whose joints' lacking torques are found while
            it flies, and made up for by moving their targets; not in a dry run.
        weighed: datasets of these arms without a load and with known ones, which say how strong
            their motors really are; see `arm_weighing`.
        payloads: link -> load that is known: recordings state it, and a world carries it. Empty
            says nothing about loads.
    """

    link: str = "world"
    options: LinkOptions = field(default_factory=LinkOptions)
    safety: Path | None = None
    arm: bool = False
    plan: str = ""
    seconds: float | None = None
    patience: float = 5.0
    core: int | None = None
    unit: str | None = None
    adapt: tuple[str, ...] = ()
    weighed: tuple[Path, ...] = ()
    payloads: Mapping[str, Payload] = field(default_factory=dict)


def deploy(
    policies: Sequence[Policy],
    robot: Robot,
    settings: DeploySettings | None = None,
    record: str | Path | None = None,
    *,
    beginning: dict[str, float] | None = None,
    operators: Sequence[StageOperator] = (),
    watch: Watcher | None = None,
) -> Deployed:
    """Run policies on a robot; it begins damped, and is damped at the end whatever happens.

    Args:
        policies: a walker, a tracker, or one of each.
        robot: at the other end of the link.
        settings: how it is flown.
        record: the dataset to make.
        beginning: joint -> rad, the first frame of the tracker's motion.
        operators: who asks for stages, besides the plan.
        watch: is given the board of the run, to show it.

    Raises:
        SafetyError: the robot was not started; every reason is told.
    """
    told = settings or DeploySettings()
    plan = [PlanOperator(read_plan(told.plan))] if told.plan else []
    if not plan and not operators and told.seconds is None:
        raise DataError("nobody would ask for anything: give a plan, seconds, or an operator")
    if not policies:
        raise DataError("which policy? give one that walks, one that follows a motion, or both")
    if told.weighed and not told.adapt:
        raise DataError("which arms were weighed? name their hands: adapt (--adapt HAND)")
    for name in told.payloads:
        robot.check_link(name)
    rate = policies[0].contract.rate
    with ExitStack() as stack:
        # First, so that the threads of the link, the recorder and the view are woken in time, too.
        granted = stack.enter_context(soft_realtime(told.core))
        link = stack.enter_context(closing(open_link(told.link, robot, rate, told.options)))
        if told.payloads and isinstance(link, WorldLink):
            link.carry(dict(told.payloads))
        limits = limits_for(link, robot, rate, told)
        armed = told.arm or not link.is_real
        own = limits.joints.in_order(link.joints)
        staged, velocity = stages_of(policies, robot, link.joints, own.damping, beginning)
        pilot = OperatedPilot(staged, [*plan, *operators], velocity)
        found = adaptations_for(told.adapt if armed else (), robot, own, rate, told.weighed)
        adaptive = AdaptivePilot(pilot, *found, targets=True) if found else None
        board = FlightBoard(pilot, adaptive=adaptive)
        recorder = _recorder(record, link, robot, policies, told)
        report, unrecorded = _fly(link, board, limits, told, recorder, watch)
    whole = recorder is not None and not unrecorded and recorder.out.exists()
    recorded = recorder.out if recorder is not None and whole else None
    if adaptive is not None and recorded is not None:
        adaptive.write_log(beliefs_of(recorded))
    return Deployed(
        robot=robot.name,
        link=told.link,
        seconds=(report.steps + report.skipped) / rate,
        stages=tuple(pilot.visited),
        refused=tuple(why for one in plan for why in one.skipped),
        report=report,
        granted=granted,
        armed=armed,
        recorded=recorded,
        lost=0 if recorder is None else recorder.lost,
        unrecorded=unrecorded,
        adapted={} if adaptive is None else adaptive.summary(),
    )


def limits_for(
    link: RobotLink, robot: Robot, rate: float, settings: DeploySettings
) -> SafetyLimits:
    """The limits of a run: a person's for a robot, the model's own for a world.

    Raises:
        SafetyError: a robot has no signed limits; a file to sign was written where none was.
    """
    file = settings.safety
    if file is not None and file.exists():
        limits = read_safety(file)
        if link.is_real and not limits.signed_by:
            raise SafetyError(
                f"nobody signed {file}: read every line with the robot in front of you, write "
                "your name into signed_by, and type the same command again"
            )
        return limits
    own = SafetyLimits.of_robot(robot, link.channels, rate)
    if not link.is_real and file is None:
        # A world waits for its commands: nothing happens to it while they are late.
        return replace(own, checks={**own.checks, "deadline": SafetyCheck(5.0, "off")})
    file = file or Path("safety.toml")
    if file.exists():
        raise SafetyError(f"a robot needs signed limits: say --safety {file} where it is theirs")
    write_safety(file, own)
    if not link.is_real:
        return own
    raise SafetyError(
        f"{file} was written from the figures of {robot.name}, and the robot was not started. Read "
        "every line with the robot in front of you, change what does not fit, write your name into "
        f"signed_by, and type the same command again with --safety {file}; then with --arm"
    )


def _recorder(
    record: str | Path | None,
    link: RobotLink,
    robot: Robot,
    policies: Sequence[Policy],
    settings: DeploySettings,
) -> FlightRecorder | None:
    """None for a dry run: what was not sent must not be learned from."""
    if record is None or (link.is_real and not settings.arm):
        return None
    from gapless.recordings.conditions import Conditions

    names = " + ".join(policy.name for policy in policies)
    carried = dict(settings.payloads) or None
    told = Conditions(unit=settings.unit, mount=robot.mount, policy=names, payloads=carried)
    facts: dict[str, object] = {"link": settings.link, "plan": settings.plan}
    facts |= {"adapt": list(settings.adapt)} if settings.adapt else {}
    motion = settings.plan or names
    rate = policies[0].contract.rate
    return FlightRecorder(
        *(record, robot.name, link.joints, rate, link.channels, motion), told, facts
    )


def _fly(
    link: RobotLink,
    board: FlightBoard,
    limits: SafetyLimits,
    settings: DeploySettings,
    recorder: FlightRecorder | None,
    watch: Watcher | None,
) -> tuple[LoopReport, str]:
    """What the run was like, and why there is no dataset of it, where one was asked for."""
    pilot = board.pilot
    used = link if settings.arm or not link.is_real else DryRunLink(link)
    board.loop = ControlLoop(
        *(used, board.adaptive or pilot, SafetyFilter(limits, link.joints), board),
        patience=settings.patience,
    )
    pilot.finish = board.loop.stop
    seconds = LONGEST if settings.seconds is None else settings.seconds
    try:
        with ExitStack() as stack:
            if recorder is not None:
                board.recorder = stack.enter_context(recorder)
            stack.enter_context(watch(board) if watch is not None else nullcontext())
            board.loop.run(round(seconds * pilot.rate))
    except EmptyFlightError as error:
        # A robot that was damped at once: this must not hide why, nor be in the way of another try.
        if recorder is not None:
            shutil.rmtree(recorder.folder, ignore_errors=True)
        return board.loop.report(), str(error)
    return board.loop.report(), ""
