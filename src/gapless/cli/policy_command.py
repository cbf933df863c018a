"""`gapless policy`: what a policy sees and commands, and whether that is right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from gapless.cli.terminal import console, parse, progress, save_json
from gapless.errors import GaplessError


@dataclass(frozen=True)
class PolicyOptions:
    """Show the contract of a policy, or check it against a robot and in the simulator."""

    action: Annotated[Literal["show", "check"], tyro.conf.Positional]
    """show, or check."""
    policy: Annotated[Path, tyro.conf.Positional]
    """Network (.onnx), contract (policy.toml, deploy.yaml) or folder of a policy."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the policy's own by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    no_simulation: bool = False
    """Check names and numbers only."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(PolicyOptions, "policy", arguments)
    from gapless.policies.contract_tables import contract_tables
    from gapless.policies.policy_files import load_policy
    from gapless.robots import Robot

    robot = Robot.load(args.robot, mount="free", lock=args.lock) if args.robot else None
    policy = load_policy(args.policy, robot)
    if args.action == "show":
        console().print(contract_tables(policy))
        save_json(args.json, policy.contract.to_dict())
        return 0
    if robot is None and not policy.contract.robot:
        raise GaplessError("the policy does not say which robot it is for; say it with --robot")
    robot = robot or Robot.load(policy.contract.robot, mount="free", lock=args.lock)
    from gapless.evaluation.policy_check import check_policy

    with progress("checking") as show:
        report = check_policy(policy, robot, simulate=not args.no_simulation, watch=show)
    console().print(report)
    save_json(args.json, report.to_dict())
    if report.ok:
        console().print(
            f"next: gapless evaluate {args.policy} --robot {robot.source or robot.name}"
        )
    return 0 if report.ok else 1
