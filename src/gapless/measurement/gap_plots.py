"""Pictures: command, real and simulated curves of every joint."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.artifact import file_name
from gapless.errors import MissingExtraError
from gapless.measurement.replay import Replay, replay
from gapless.measurement.spans import FULL, Horizon
from gapless.recordings.recording import Recordings
from gapless.worlds.world import World

if TYPE_CHECKING:
    from gapless.measurement.gap import Gap

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
    shown = np.flatnonzero(played.usable.any(axis=(0, 1)))
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure = _figure(5.2 * columns, 1.9 * rows + 0.6)
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
    return _save(figure, path)


def _draw(panel: Any, played: Replay, joint: int) -> None:
    """Windows one after the other, on the recording's own clock."""
    curves = {"command": played.target, "real": played.real.q, "simulated": played.sim.q}
    for window, start in enumerate(played.starts):
        usable = played.usable[window, :, joint]
        time = (start + np.arange(len(usable))) / played.rate
        for name, values in curves.items():
            shape = values[window, :, joint]
            shape = np.where(usable[: len(shape)], shape, np.nan)
            panel.plot(
                time[: len(shape)],
                shape,
                color=COLOURS[name],
                lw=0.8 if name == "command" else 1.2,
                ls="--" if name == "command" else "-",
                label=name if window == 0 else None,
            )
    panel.tick_params(labelsize=7)
    panel.grid(alpha=0.25)


def plot_gap(gap: Gap, path: Path) -> Path:
    """Bars of the replay error by joint and horizon, and beside them what explains it."""
    worst = gap.horizons[-1]
    known = [j for j in range(len(gap.joints)) if np.isfinite(gap.joint("replay_error", worst)[j])]
    order = sorted(known, key=lambda j: gap.joint("replay_error", worst)[j])
    figure = _figure(13.0, 0.34 * len(order) + 1.6)
    left, right = figure.subplots(1, 2, sharey=True)
    height = 0.8 / len(gap.horizons)
    rows = np.arange(len(order))
    for i, horizon in enumerate(gap.horizons):
        label = horizon if isinstance(horizon, str) else f"{horizon:g} s"
        values = gap.joint("replay_error", horizon)[order]
        left.barh(rows + i * height, values, height, label=label, color=f"C{i}")
    left.set_yticks(rows + 0.4 - height / 2, [gap.joints[j] for j in order], fontsize=8)
    left.set_xlabel("replay error (rad)")
    left.legend(fontsize=8)
    left.set_title("gap by joint and horizon", fontsize=10)
    _draw_causes(right, gap, order)
    return _save(figure, path)


def _draw_causes(panel: Any, gap: Gap, order: list[int]) -> None:
    found = gap.attribution
    if found is None:
        panel.set_visible(False)
        return
    rows, filled = np.arange(len(order)) + 0.3, np.zeros(len(order))
    for c in [found.causes.index(name) for name in found.ranking]:
        share = np.nan_to_num(found.share[order, c])
        if share.max(initial=0.0) > 0.01:
            panel.barh(rows, share, 0.6, left=filled, label=found.causes[c])
            filled += share
    panel.barh(rows, 1 - filled, 0.6, left=filled, label="unexplained", color="#dddddd")
    panel.set_xlabel("share of the squared error")
    panel.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    panel.set_title(f"likely causes over {found.horizon:g} s", fontsize=10)


def require_matplotlib() -> None:
    """Refuse before the work starts where pictures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plots", "drawing pictures")


def _figure(width: float, height: float) -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> Path:
    """Write beside the target and rename: a picture is complete or absent."""
    partial = path.with_suffix(".partial")
    figure.savefig(partial, dpi=110, format="png")
    partial.replace(path)
    return path
