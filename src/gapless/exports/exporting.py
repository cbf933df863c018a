"""export(): the simulator of a run, written for another tool."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from gapless.closing import Run
from gapless.errors import unknown
from gapless.exports.exported import Exported
from gapless.exports.simulator_parts import SimulatorParts

FORMATS = {
    "json": ("parameter_list", "every figure with unit, interval, prior and source"),
    "mjcf": ("mjcf_folder", "the calibrated robot as MuJoCo XML"),
    "urdf": ("urdf_folder", "the robot's own URDF, calibrated"),
    "mcap": ("mcap_replays", "the replays as ROS 2 messages"),
    "isaaclab": ("isaaclab_files", "configuration and correction for Isaac Lab"),
    "mjlab": ("mjlab_package", "a Python package with tasks for mjlab"),
}
"""Name -> module, and what it is; the function is export_NAME."""


def export(run: Run | str | Path, to: str, out: str | Path, **options: Any) -> Exported:
    """Write the simulator of a finished run for another tool, complete or not at all.

    Args:
        run: the run, or its folder.
        to: a key of `FORMATS`.
        out: file or folder to write.
        options: overwrite=True replaces an earlier export that is a folder; motion= (mjlab) is
            the file of a motion to track.

    Returns:
        What was written, and what of the simulator the format has no place for.
    """
    if to not in FORMATS:
        raise unknown("export format", to, FORMATS)
    write: Callable[..., Exported] = getattr(
        import_module(f"gapless.exports.{FORMATS[to][0]}"), f"export_{to}"
    )
    return write(SimulatorParts.of(run), Path(out), **options)
