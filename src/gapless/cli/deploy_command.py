"""`gapless deploy`: a policy on a robot, within limits that somebody signed, and recorded."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.load_option import read_load
from gapless.cli.terminal import check_outputs, console, parse, save_json
from gapless.errors import GaplessError

if TYPE_CHECKING:
    from gapless.deployment.operators import StageOperator
    from gapless.policies import Policy
    from gapless.robots import Robot


@dataclass(frozen=True)
class Deploy:
    """Run policies on a robot, or be a simulated one. It begins damped; requests move it on."""

    policies: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Network, contract or folder of a policy that walks, of one that follows a motion, or both."""
    simulate: str | None = None
    """Instead of a policy: be this robot, behind Unitree's DDS or a UDP port (--link)."""
    link: str | None = None
    """world, udp://HOST:PORT, unitree, or ros2; world by default, unitree with --simulate."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the first policy's by default."""
    record: Path | None = None
    """Dataset to make of the run; what was not finished is found in RECORD.flight."""
    safety: Path | None = None
    """Limits that a person signed. A robot is not started without; a world has its model's own."""
    arm: bool = False
    """Send commands to a robot. Without it, everything is done but that."""
    plan: str = ""
    """Unattended: STAGE [SECONDS [VX VY WZ]], ...; e.g. "stand 3, walk 5 0.5 0 0, track, damp"."""
    remote: str | None = None
    """udp://HOST:PORT to listen on for JSON such as {"stage": "walk", "velocity": [0.5, 0, 0]}."""
    adapt: tuple[str, ...] = ()
    """Hands (links), or files of arms, whose load is found and made up for in flight."""
    weighed: tuple[Path, ...] = ()
    """Datasets of those arms without a load and with known ones: how strong their motors are."""
    payload: tuple[str, ...] = ()
    """LINK=KG that is known to be carried, or LINK=KG@X,Y,Z: recordings say so, a world does so."""
    motion: Path | None = None
    """What the tracker follows: it is entered only near the first frame."""
    seconds: float | None = None
    """After which the run ends at the latest."""
    world: str = "mujoco"
    """Of link world, or of a simulated robot: ENGINE[:PRESET[:UNIT]]."""
    hang: float | None = None
    """Seconds that a simulated robot hangs on its gantry from its first driving command on."""
    patience: float | None = None
    """Seconds without a command after which a simulated robot damps (0.1); seconds to wait for a
    robot's first sample (5)."""
    domain: int | None = None
    """Of DDS; 0 on robots, 1 with --simulate."""
    interface: str = ""
    """Network interface of DDS, such as eth0; lo is this computer alone, as with --simulate."""
    core: int | None = None
    """Core to stay on."""
    unit: str | None = None
    """Name of the individual robot, for its recordings."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Deploy, "deploy", arguments)
    check_outputs(args.json, args.record)
    if args.simulate is not None:
        return _simulate(args)
    if not args.policies:
        raise GaplessError("which policy? gapless deploy POLICY, or --simulate ROBOT")
    return _deploy(args)


def _deploy(args: Deploy) -> int:
    from gapless.cli.deploy_view import shown_flight
    from gapless.deployment.deploying import deploy
    from gapless.deployment.operators import keyboard

    policies, robot = _loaded(args)
    settings = _settings(args)
    with ExitStack() as stack:
        operators: list[StageOperator] = [*stack.enter_context(keyboard()), *_remote(args, stack)]
        flown = deploy(
            *(policies, robot, settings, args.record),
            beginning=_beginning(args, robot),
            operators=operators,
            watch=shown_flight,
        )
    out = console()
    for line in flown.lines():
        out.print(line, markup=False)
    out.print(flown.table())
    save_json(args.json, flown.to_dict())
    if flown.recorded is not None:
        out.print(f"next: gapless close {flown.recorded}", markup=False)
    return 0 if flown.ok else 1


def _loaded(args: Deploy) -> tuple[list[Policy], Robot]:
    from gapless.policies.policy_files import load_policy
    from gapless.robots import Robot

    named = Robot.load(args.robot, mount="free") if args.robot else None
    policies = [load_policy(path, named) for path in args.policies]
    if named is None and not policies[0].contract.robot:
        raise GaplessError("the policy does not say which robot it is for; say it with --robot")
    return policies, named or Robot.load(policies[0].contract.robot, mount="free")


def _settings(args: Deploy):  # noqa: ANN202 (loaded late)
    from gapless.deployment.deploying import DeploySettings
    from gapless.deployment.link_addresses import HUNG, LinkOptions

    hang = HUNG if args.hang is None else args.hang
    return DeploySettings(
        link=args.link or "world",
        options=LinkOptions(args.world, hang, args.domain or 0, args.interface),
        safety=args.safety,
        arm=args.arm,
        plan=args.plan,
        seconds=args.seconds,
        patience=5.0 if args.patience is None else args.patience,
        core=args.core,
        unit=args.unit,
        adapt=args.adapt,
        weighed=args.weighed,
        payloads=dict(read_load(text) for text in args.payload),
    )


def _remote(args: Deploy, stack: ExitStack) -> list[StageOperator]:
    if args.remote is None:
        return []
    from gapless.deployment.link_addresses import address_of
    from gapless.deployment.operators import RemoteOperator

    return [stack.enter_context(closing(RemoteOperator(address_of(args.remote))))]


def _beginning(args: Deploy, robot: Robot) -> dict[str, float] | None:
    """The first frame of a motion, by joint."""
    if args.motion is None:
        return None
    from gapless.motions.references import read_motions

    motion = read_motions(args.motion, robot)[0]
    return dict(zip(motion.joints, motion.q[0].tolist(), strict=True))


def _simulate(args: Deploy) -> int:
    from gapless.deployment.simulating import SimulatedSettings, simulate, simulated_robot
    from gapless.deployment.soft_realtime import soft_realtime
    from gapless.deployment.stop_signals import stopping_on_signals

    if args.policies or args.arm or args.record or args.adapt or args.weighed or args.payload:
        raise GaplessError("--simulate is the robot: policies are deployed by another process")
    given = {"hang": args.hang, "patience": args.patience, "domain": args.domain}
    given |= {"interface": args.interface or None, "link": args.link}
    told = SimulatedSettings(args.world, **{k: v for k, v in given.items() if v is not None})
    out, asked = console(stderr=True), []
    with stopping_on_signals(asked.append), soft_realtime(args.core):
        robot = simulated_robot(args.simulate or "", told)
        out.print(f"{args.simulate} ({args.world}) hangs, damped, on {told.link}; Ctrl-C ends it")

        def over() -> bool:
            lived = args.seconds is not None and robot.body.link.read().stamp >= args.seconds
            return bool(asked) or lived

        found = simulate(robot, over, lambda text: out.print(f"robot: {text}"))
    save_json(args.json, found)
    return 0
