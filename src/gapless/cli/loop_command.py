"""`gapless loop`: train, record, close, fine-tune, evaluate, and again, in one command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.table import Table

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json

if TYPE_CHECKING:
    from gapless.tracking.policy_loop import LoopSettings

COLUMNS = {
    **{"survival": ("survival, %", 100.0), "success": ("success, %", 100.0)},
    **{"e_g_mpjpe": ("E_g-mpjpe, mm", 1.0), "e_mpjpe": ("E_mpjpe, mm", 1.0)},
    **{"e_vel": ("E_vel, mm/frame", 1.0), "e_acc": ("E_acc, mm/frame²", 1.0)},
}
"""Score -> its title and what it is multiplied by."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """Improve a tracker from recordings of its robot, from the motion to the tuned policy.

    Stopped or killed, the same command resumes.
    """

    motion: Annotated[Path, tyro.conf.Positional]
    """Motion file; see gapless motion."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    target: str
    """What stands for the robot: ENGINE:PRESET[:UNIT], e.g. physx:hard:2. Only its recordings are
    learned from."""
    out: Path
    """Folder of the loop."""
    policy: Path | None = None
    """A tracker to begin with; one is trained otherwise."""
    rounds: int = 1
    """Of recording, closing and tuning."""
    takes: int = 24
    """Recordings in each round."""
    samples: float = 4e6
    """Control steps of the first training."""
    tune_samples: float = 1.2e6
    """Control steps of each tuning."""
    environments: int = 512
    """At once."""
    seed: int = 0
    """Of everything drawn."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Loop, "loop", arguments)
    from gapless.motions import read_motions
    from gapless.policies import Policy
    from gapless.robots import Robot
    from gapless.tracking.policy_loop import PolicyLoop
    from gapless.worlds.named_worlds import world_of

    check_outputs(args.json)
    robot = Robot.load(args.robot, mount="free")
    motion, target = read_motions(args.motion, robot)[0], world_of(args.target, robot)
    begun = Policy.load(args.policy, robot) if args.policy else None
    try:
        with stoppable(), progress("loop") as show:
            loop = PolicyLoop(
                *(motion, robot, target, args.out, _settings(args)), begun=begun, watch=show
            )
            found = loop.run()
    except KeyboardInterrupt as stop:
        return stopped(stop, args.out.exists())
    console().print(_answer(found["policies"], args.target))
    console().print(_table(found["policies"], args.target))
    save_json(args.json, found)
    last = f"run_{args.rounds}"
    console(stderr=True).print(
        f"next: gapless report {args.out / last}; gapless view {args.out / last}"
    )
    return 0


def _settings(args: Loop) -> LoopSettings:
    from gapless.tracking import TrainSettings
    from gapless.tracking.policy_loop import LoopSettings
    from gapless.tracking.training import FINETUNED

    many = args.environments
    return LoopSettings(
        rounds=args.rounds,
        takes=args.takes,
        train=TrainSettings(environments=many).with_samples(args.samples),
        finetune=replace(FINETUNED, environments=many).with_samples(args.tune_samples),
        seed=args.seed,
    )


def _answer(policies: dict[str, Any], target: str) -> str:
    first, last = next(iter(policies.values())), list(policies.values())[-1]
    return (
        f"on {target} the policy was {first['e_g_mpjpe']:.0f} mm from the motion before, and is "
        f"{last['e_g_mpjpe']:.0f} mm now; it succeeded in {100 * first['success']:.0f} %, now in "
        f"{100 * last['success']:.0f} %"
    )


def _table(policies: dict[str, Any], target: str) -> Table:
    table = Table("policy", title=f"on {target}, without any correction")
    for title, _ in COLUMNS.values():
        table.add_column(title, justify="right")
    for name, scores in policies.items():
        table.add_row(name, *(f"{k * scores[s]:.3g}" for s, (_, k) in COLUMNS.items()))
    return table
