"""Pictures: command, real and simulated curves of every joint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gapless.artifact import file_name
from gapless.errors import MissingExtraError
from gapless.measure.replay import FULL, Horizon, Replay, replay
from gapless.recordings.recording import Recordings
from gapless.worlds.world import World

COLOURS = {"command": "#999999", "real": "#1f77b4", "simulated": "#d62728"}


def plot_recordings(
    recordings: Recordings,
    world: World,
    folder: str | Path,
    *,
    horizon: Horizon = FULL,
    most: int = 20,
) -> Iterator[Path]:
    """Write one PNG a recording, for at most `most` recordings; yields the paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(min(most, len(recordings))):
        for played in replay([recordings[index]], world, horizon):
            yield plot_replay(
                played, world, folder / f"{index:03d}_{file_name(played.recording.name)}.png"
            )


def plot_replay(played: Replay, world: World, path: Path) -> Path:
    """Draw a replay: one panel for each joint that was logged."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plots", "drawing pictures") from None
    shown = np.flatnonzero(played.usable.any(axis=(0, 1)))
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(5.2 * columns, 1.9 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for panel, joint in zip(panels, shown, strict=False):
        _draw(panel, played, int(joint))
        error = np.nanmean(np.abs(played.error[:, 1:, joint]))
        panel.set_title(f"{world.robot.joints.names[joint]}   {error:.4f} rad", fontsize=9)
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    panels[0].legend(fontsize=7, loc="upper right")
    figure.supxlabel("time [s]", fontsize=9)
    figure.supylabel("joint position [rad]", fontsize=9)
    figure.suptitle(f"{played.recording.name}: mean |simulated - real| by joint", fontsize=11)
    figure.savefig(path, dpi=110)
    return path


def _draw(panel: object, played: Replay, joint: int) -> None:
    """Windows one after the other, on the recording's own clock."""
    curves = {"command": played.target, "real": played.real.q, "simulated": played.sim.q}
    for window, start in enumerate(played.starts):
        usable = played.usable[window, :, joint]
        time = (start + np.arange(len(usable))) / played.rate
        for name, values in curves.items():
            shape = values[window, :, joint]
            shape = np.where(usable[: len(shape)], shape, np.nan)
            panel.plot(  # type: ignore[attr-defined]
                time[: len(shape)],
                shape,
                color=COLOURS[name],
                lw=0.8 if name == "command" else 1.2,
                ls="--" if name == "command" else "-",
                label=name if window == 0 else None,
            )
    panel.tick_params(labelsize=7)  # type: ignore[attr-defined]
    panel.grid(alpha=0.25)  # type: ignore[attr-defined]
