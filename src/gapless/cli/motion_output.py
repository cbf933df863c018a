"""Files that `gapless motion` writes: the motions themselves, and pictures of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import file_name, staged, write_bytes_atomic
from gapless.cli.terminal import console
from gapless.motions import Motion
from gapless.motions.limits import MotionReport
from gapless.motions.motion_files import suffix
from gapless.robots import Robot


def check_suffix(out: Path | None, count: int) -> None:
    """Refuse a file that cannot hold a motion before the work starts; several need a folder."""
    if out is not None and count == 1:
        suffix(out)


def save(motions: Sequence[Motion], out: Path | None, overwrite: bool) -> None:
    """Write one motion to a file, or several into a new folder."""
    if out is None:
        return
    if len(motions) == 1:
        motions[0].save(out)
    else:
        with staged(out, overwrite) as folder:
            for motion in motions:
                motion.save(folder / f"{file_name(motion.name)}.npz")
    console(stderr=True).print(f"{len(motions)} motions written to {out}", markup=False)


def draw(checked: Sequence[tuple[Motion, MotionReport]], robot: Robot, path: Path | None) -> None:
    """Draw one motion into a PNG, or several into a folder of them."""
    if path is None:
        return
    for motion, report in checked:
        target = path if len(checked) == 1 else path / f"{file_name(motion.name)}.png"
        write_bytes_atomic(target, _picture(motion, report, robot))
    console(stderr=True).print(f"{len(checked)} pictures written to {path}", markup=False)


def _picture(motion: Motion, report: MotionReport, robot: Robot) -> bytes:
    from gapless.measurement.gap_plots import require_matplotlib

    require_matplotlib()
    from matplotlib.figure import Figure

    q = motion.targets(robot)
    moving = np.flatnonzero(np.ptp(q, axis=0) > 1e-9)
    shown = moving if len(moving) else np.arange(1)
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(4.6 * columns, 1.7 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for panel, joint in zip(panels, shown, strict=False):
        _draw(panel, motion.rate, q[:, joint], robot, int(joint))
        at = [v.time for v in report.violations if v.joint == robot.joints.names[joint]]
        panel.plot(at, np.interp(at, np.arange(len(q)) / motion.rate, q[:, joint]), "rx")
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    figure.supxlabel("time [s]", fontsize=9)
    figure.supylabel("joint position [rad]", fontsize=9)
    found = f", {len(report.violations)} violations" if report.violations else ""
    figure.suptitle(f"{motion.name}{found}", fontsize=11)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, format="png")
    return buffer.getvalue()


def _draw(panel: Any, rate: float, q: np.ndarray, robot: Robot, joint: int) -> None:
    panel.plot(np.arange(len(q)) / rate, q, lw=1)
    for limit in (robot.joints.lower[joint], robot.joints.upper[joint]):
        if np.isfinite(limit):
            panel.axhline(limit, color="#cc3311", lw=0.8, ls="--")
    panel.set_title(robot.joints.names[joint], fontsize=9)
