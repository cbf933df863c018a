"""`gapless view`: recordings and replays in the browser, in 3D."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.terminal import check_outputs, console, parse, spinner
from gapless.errors import FormatError
from gapless.recordings import Dataset, robot_of
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.closing import Run
    from gapless.reports.viewer_sources import Source


@dataclass(frozen=True)
class View:
    """Show the recorded robot and its simulators in the browser: play, pause, scrub, compare."""

    folder: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset (gapless import, gapless collect), of a run (gapless close) or of a
    policy loop (gapless loop); or a motion file, with --robot."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the folder's own by default."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; as the recordings say by default."""
    host: str = "127.0.0.1"
    """Address to serve on; 127.0.0.1 is this machine only, 0.0.0.0 everyone who can reach it."""
    port: int = 8080
    """Port to serve on."""
    no_browser: bool = False
    """Only say the address."""
    rerun: Path | None = None
    """Write all of it to this .rrd file, which rerun opens, and serve nothing."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(View, "view", arguments)
    if args.rerun is not None:
        return _written(args, args.rerun)
    from gapless.reports.serving import require_viser
    from gapless.reports.viewer import Viewer

    require_viser()
    with spinner("opening"):
        viewer = Viewer(source_of(args.folder, args.robot, args.mount), args.host, args.port)
    with viewer:
        told = "" if args.no_browser or _opened(viewer.url) else " (found no browser to open it)"
        console().print(f"{viewer.url}{told}; Ctrl-C ends it")
        try:
            viewer.wait()
        except KeyboardInterrupt:
            console(stderr=True).print("ended")
    return 0


def _written(args: View, file: Path) -> int:
    """Write what would be shown to a file of rerun."""
    from gapless.reports.rerun_file import write_rerun

    check_outputs(file)
    with spinner("writing"):
        write_rerun(source_of(args.folder, args.robot, args.mount), file)
    console().print(f"rerun {file}", markup=False)
    return 0


def source_of(folder: Path, robot: str | None, mount: str | None) -> Source:
    """What a folder holds: the replays of a run, the policies of a loop, or recordings."""
    from gapless.closing import Run
    from gapless.reports.viewer_sources import DatasetSource, LoopSource, RunSource
    from gapless.tracking.loop_folder import LoopFolder

    if folder.is_file():
        return _motions(folder, robot, mount)
    if LoopFolder.is_at(folder):
        loop = LoopFolder.open(folder)
        return LoopSource(loop, _other(loop.first_run, robot, mount) if robot or mount else None)
    if (folder / "run.json").is_file():
        opened = Run.open(folder)
        return RunSource(opened, _other(opened, robot, mount) if robot or mount else None)
    if (folder / "meta").is_dir():
        dataset = Dataset.open(folder)
        return DatasetSource(dataset, robot_of(dataset, robot, mount))
    raise FormatError(
        f"{folder} is neither a dataset (gapless import, gapless collect) nor a run (gapless "
        "close) nor a loop (gapless loop); give the folder of one, or a motion file"
    )


def _motions(file: Path, robot: str | None, mount: str | None) -> Source:
    """The motions of a file; it does not say whose they are."""
    from gapless.motions import read_motions
    from gapless.reports.motion_source import MotionSource

    if robot is None:
        raise FormatError(f"{file} does not say its robot: gapless view {file} --robot g1")
    loaded = Robot.load(robot, mount=mount)
    return MotionSource(read_motions(file, loaded), loaded)


def _other(opened: Run, robot: str | None, mount: str | None) -> Robot:
    """The run's robot from another place or held otherwise, with the same joints locked."""
    told = opened.facts["robot"]
    loaded = Robot.load(robot or told["source"], mount=mount or told["mount"])
    return loaded.lock([joint for joint in told["lock"] if joint in loaded.joints.names])


def _opened(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
