"""`gapless collect`: record motions on hidden robots, each paired with its simulated replica."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from gapless.cli.command_option import read_command
from gapless.cli.place_option import Placed, without_place
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import DataError
from gapless.progress import Progress, Watch

if TYPE_CHECKING:
    from gapless.collection import Collection, CollectionPlan


@dataclass(frozen=True, kw_only=True)
class Collect(Placed):
    """Play motions x payloads x rates x units x repeats, and store each with its replica.

    Stopped or killed, the same command resumes. With --on, each unit is a task of its own. Options
    that are not given are those of the preset, or the plain ones: one unit, one repeat, 50 Hz,
    nothing carried.
    """

    out: Path
    """Folder of the collection: a dataset for each split and rate, a card with a picture."""
    preset: str | None = None
    """Plan to start from: simlifter."""
    hours: float | None = None
    """Robot time to reach, with as many motions as that takes."""
    robot: str | None = None
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; the robot's usual mount by default."""
    lock: tuple[str, ...] | None = None
    """Joints or joint groups to weld at their default angle."""
    motions: tuple[str, ...] | None = None
    """Motions by name (multisine, chirp, ...) or files."""
    levels: tuple[str, ...] | None = None
    """SimLifter's levels: per_joint, upper_body, whole_body."""
    policy: Path | None = None
    """Policy (.onnx, policy.toml, deploy.yaml or folder) whose walks are recorded, not motions."""
    command: tuple[str, ...] = ()
    """Commands of its walks, e.g. 0.5,0,0; drawn from its trained range by default."""
    base: bool = True
    """Whether the log of a walk shows the base, as a tracker and an IMU would."""
    imu: bool = False
    """With --no-base: whether it shows what the IMU says, orientation and turning rate."""
    seconds: float | None = None
    """Length of each motion or walk that is drawn."""
    payloads: tuple[float, ...] | None = None
    """Loads on each of --payload-links, kg."""
    payload_links: tuple[str, ...] | None = None
    """Links, or groups of links, that carry the payload."""
    rates: tuple[int, ...] | None = None
    """Control steps per second."""
    units: tuple[int, ...] | None = None
    """Individual robots for fitting, numbered from 1."""
    held_out: tuple[int, ...] | None = None
    """Individual robots that are never used for fitting."""
    repeats: int | None = None
    """How often each sequence is recorded."""
    hidden: str | None = None
    """Size of the hidden effects: none, mild, typical, hard."""
    only: tuple[str, ...] | None = None
    """Effects to switch on, instead of all."""
    engine: str | None = None
    """Simulator of the hidden robots: mujoco, physx."""
    physics_step: float | None = None
    """Longest physics step, s."""
    seed: int | None = None
    """Of motions, hidden robots and temperatures."""
    truth: Path | None = None
    """File for the hidden robots' parameters, one a unit; they are written only when asked for."""
    restart: bool = False
    """Delete an earlier collection in --out, finished or not."""
    json: Path | None = None
    """File for the numbers."""


NOT_OF_THE_PLAN = ("out", "preset", "truth", "restart", "json", "on", "policy", "command")


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Collect, "collect", arguments)
    from gapless.collection import collect

    check_outputs(args.json, args.truth, args.out / "collection.json")
    plan, started = _plan(args), time.perf_counter()
    try:
        with stoppable(), progress("hidden robots") as show:
            speed = _Speed(show)
            collection = collect(
                plan,
                args.out,
                watch=speed.watch,
                restart=args.restart,
                truth=args.truth,
                command=shlex.join(["gapless", "collect", *without_place(arguments)]),
                workers=None if args.on == Placed.on else args.workers(),
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, args.out.exists())
    figures = _figures(collection, speed.hours, time.perf_counter() - started)
    console().print(_table(collection))
    console().print(_summary(collection, figures, args.out))
    save_json(args.json, figures)
    return 0


def _plan(args: Collect) -> CollectionPlan:
    from gapless.collection import CollectionPlan, preset

    given = {k: v for k, v in vars(args).items() if k not in NOT_OF_THE_PLAN and v is not None}
    if args.policy is not None:
        given["policy"] = str(args.policy)
    if args.command:
        given["commands"] = tuple(read_command(text) for text in args.command)
    if args.preset is not None:
        return replace(preset(args.preset), **given)
    if args.robot is None:
        raise DataError("what shall be collected? Give --preset simlifter, or --robot and --levels")
    return CollectionPlan(**given)


class _Speed:
    """Shows robot hours a minute, and remembers the robot hours of this run."""

    def __init__(self, show: Watch) -> None:
        self._show, self._began = show, time.perf_counter()
        self.hours = 0.0
        """Robot time of this run, without what an earlier one made."""

    def watch(self, now: Progress) -> None:
        """Show how far it is."""
        if now.stage != "collecting":  # workers simulate; what they do is counted when stored
            self._show(now)
            return
        self.hours = now.figures["hours"] - now.figures["earlier"]
        speed = 60 * self.hours / max(time.perf_counter() - self._began, 1e-9)
        self._show(replace(now, figures={"robot h": now.figures["hours"], "robot h/min": speed}))


def _figures(collection: Collection, hours: float, seconds: float) -> dict[str, Any]:
    """Totals, and how fast this run was; no speed where everything was there already."""
    from gapless.collection.plan_presets import SIMLIFTER_HOURS

    speed = 60 * hours / seconds if hours > 0 else None
    return {
        "datasets": {
            stored.name: {
                "sequences": stored.sequences,
                "hours": round(stored.hours, 4),
                "frames": stored.frames,
                "megabytes": round(stored.bytes / 1e6, 2),
            }
            for stored in collection.datasets
        },
        "left_out": list(collection.left_out),
        "hours": round(collection.hours, 4),
        "hours_in_this_run": round(hours, 4),
        "seconds": round(seconds, 2),
        "robot_hours_per_minute": None if speed is None else round(speed, 4),
        "minutes_for_simlifter": None if speed is None else round(SIMLIFTER_HOURS / speed, 1),
    }


def _table(collection: Collection) -> Table:
    table = Table(title="Collected", title_justify="left")
    table.add_column("dataset")
    for column in ("sequences", "hours", "frames", "MB"):
        table.add_column(column, justify="right")
    for stored in collection.datasets:
        numbers = f"{stored.hours:.3f}", str(stored.frames), f"{stored.bytes / 1e6:.1f}"
        table.add_row(stored.name, str(stored.sequences), *numbers)
    return table


def _summary(collection: Collection, figures: dict[str, Any], out: Path) -> str:
    from gapless.motions.catalogue import CATALOGUE
    from gapless.motions.levels import LEVELS

    lines = []
    asked = [*collection.plan["levels"], *collection.plan["motions"]]
    if unused := [
        name for name in asked if name in (*LEVELS, *CATALOGUE) and name not in collection.motions
    ]:
        lines.append(f"no motion of {', '.join(unused)}: --hours is too short for one of each")
    if collection.left_out:
        lost = len(collection.left_out)
        lines.append(f"{lost} sequences diverged or fell and were left out; see README")
    if figures["robot_hours_per_minute"] is None:
        lines.append(f"{figures['hours']:.2f} robot hours were there already")
    else:
        lines.append(
            f"{figures['hours_in_this_run']:.2f} robot hours in {figures['seconds']:.1f} s: "
            f"{figures['robot_hours_per_minute']:.2f} robot hours a minute"
            + _pace(collection, figures)
        )
    first = collection.datasets[0].name
    lines.append(f"collection in {out}; next: gapless check {out}, gapless measure {out / first}")
    return "\n".join(lines)


def _pace(collection: Collection, figures: dict[str, Any]) -> str:
    """How long the published dataset takes; walks are another thing."""
    from gapless.collection.plan_presets import SIMLIFTER_HOURS

    if collection.plan.get("policy"):
        return ""
    minutes = figures["minutes_for_simlifter"]
    return f"; SimLifter's {SIMLIFTER_HOURS} h take {minutes:.1f} minutes at this speed"
