"""`gapless loop`: train, record, close, fine-tune, evaluate, report, and again, in one command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import MissingExtraError

if TYPE_CHECKING:
    from gapless.tracking.loop_folder import LoopFolder
    from gapless.tracking.policy_loop import LoopSettings


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
    restart: bool = False
    """Delete what an earlier loop made in --out, and begin again."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Loop, "loop", arguments)
    from gapless.motions import read_motions
    from gapless.policies import Policy
    from gapless.robots import Robot
    from gapless.tracking.loop_folder import LoopFolder
    from gapless.tracking.policy_loop import PolicyLoop
    from gapless.worlds.named_worlds import world_of

    check_outputs(args.json)
    robot = Robot.load(args.robot, mount="free")
    motion, target = read_motions(args.motion, robot)[0], world_of(args.target, robot)
    begun = Policy.load(args.policy, robot) if args.policy else None
    try:
        with stoppable(), progress("loop") as show:
            asked = motion, robot, target, args.out, _settings(args)
            loop = PolicyLoop(*asked, begun=begun, called=args.target, watch=show)
            if args.restart:
                loop.forget()
            loop.run()
    except KeyboardInterrupt as stop:
        return stopped(stop, args.out.exists())
    found = LoopFolder.open(args.out)
    console().print(found.answer, markup=False)
    console().print(_table(found))
    save_json(args.json, found.summary)
    _report(found)
    console(stderr=True).print(f"next: gapless view {args.out}", markup=False)
    return 0


def _settings(args: Loop) -> LoopSettings:
    from gapless.tracking import TrainSettings
    from gapless.tracking.policy_loop import LoopSettings
    from gapless.tracking.training import FINETUNED

    many = args.environments
    tuning = replace(FINETUNED, environments=many, vary=min(FINETUNED.vary, many))
    return LoopSettings(
        rounds=args.rounds,
        takes=args.takes,
        train=TrainSettings(environments=many).with_samples(args.samples),
        finetune=tuning.with_samples(args.tune_samples),
        seed=args.seed,
    )


def _table(found: LoopFolder) -> Table:
    from gapless.tracking.loop_folder import COLUMNS, shown_score

    table = Table("policy", title=f"on {found.target}, without any correction")
    for title, _ in COLUMNS.values():
        table.add_column(title, justify="right")
    for name, scores in found.policies.items():
        table.add_row(name, *(shown_score(scores, column) for column in COLUMNS))
    return table


def _report(found: LoopFolder) -> None:
    """Write the pages of the loop and its runs, or say what they need: all else is there."""
    from gapless.reports import report
    from gapless.reports.page import FILE

    try:
        with progress("report") as show:
            for run in (r for r in found.runs if not (r.path / FILE).exists()):
                report(run, watch=lambda now, run=run: show(now.within(run.path.name)))
            path = report(found, watch=show)
    except MissingExtraError as error:
        console(stderr=True).print(f"note: no report was written; {error}", markup=False)
    else:
        console().print(f"report {path}", markup=False)
