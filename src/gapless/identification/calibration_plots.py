"""Pictures of a calibration: what is known now, and what it does to replays."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gapless.artifact import write_bytes_atomic
from gapless.errors import DataError
from gapless.identification.calibration import Calibration
from gapless.identification.estimate import INTERVAL, Estimate
from gapless.measurement.gap_plots import require_matplotlib
from gapless.measurement.replay import Replay, replay
from gapless.measurement.spans import Horizon
from gapless.recordings.recording import Recordings
from gapless.worlds.world import World

MOST_CORRELATED = 60
"""Parameters up to which the matrix of correlations can still be read."""

FAR = 6.0
"""A value this many prior std from its prior squeezes the others; the axis then is logarithmic."""

JOINTS, SECONDS = 6, 8.0
"""Joints whose replays are drawn, and how much of each recording."""

FOUND, UNTOLD, EDGE = "#1f77b4", "#999999", "#d62728"
STYLES: dict[str, dict[str, Any]] = {
    "recorded": {"color": "#1f77b4", "lw": 3.0, "alpha": 0.5},
    "nominal": {"color": "#d62728", "lw": 1.1},
    "calibrated": {"color": "#2ca02c", "lw": 1.1},
}


def plot_calibration(calibration: Calibration, path: str | Path) -> Path:
    """Draw every parameter's interval beside what was known before, and how errors go together.

    Args:
        calibration: whose load, where it has one, is drawn below it.
        path: of the PNG; complete or absent.
    """
    parts = [c for c in (calibration, calibration.loaded) if c is not None]
    sizes = [len(part.estimates) for part in parts]
    matrix = max(sizes) <= MOST_CORRELATED
    width = 8.0 + (0.16 * max(sizes) + 2.0) * matrix
    figure = new_figure(width, 0.22 * sum(sizes) + 2.2 * len(parts))
    panels = figure.subplots(
        len(parts),
        1 + matrix,
        squeeze=False,
        width_ratios=[1.0, 0.6][: 1 + matrix],
        height_ratios=sizes,
    )
    for part, row, title in zip(parts, panels, ("", ", its load"), strict=False):
        _draw_intervals(row[0], part, calibration.robot + title)
        if matrix:
            _draw_correlation(row[1], part)
    return save_figure(figure, path)


def _draw_intervals(panel: Any, calibration: Calibration, title: str) -> None:
    """One row a parameter, in prior std from its prior."""
    panel.axvspan(-INTERVAL, INTERVAL, color="#e6e6e6", lw=0)
    panel.axvline(0, color="#bbbbbb", lw=0.8)
    farthest = max(_draw_row(panel, row, e) for row, e in enumerate(calibration.estimates))
    if farthest > FAR:
        panel.set_xscale("symlog", linthresh=2.0, linscale=1.5, subs=range(2, 10))
    names = [e.name for e in calibration.estimates]
    panel.set_yticks(range(len(names)), names, fontsize=8)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.tick_params(axis="x", labelsize=8)
    panel.set_xlabel("prior std from the prior; grey: 95 % of what was expected before", fontsize=8)
    panel.set_title(f"{title}: 95 % intervals", fontsize=10)
    panel.grid(axis="x", alpha=0.25)


def _draw_row(panel: Any, row: int, estimate: Estimate) -> float:
    """Draw one interval and its figure in words; returns how far it reaches."""
    colour, face = (FOUND, FOUND) if estimate.identifiable else (UNTOLD, "white")
    low, middle, high = (
        estimate.parameter.z_of(v)
        for v in (estimate.interval[0], estimate.value, estimate.interval[1])
    )
    colour = EDGE if estimate.at_bound else colour
    if estimate.identifiable:
        panel.plot([low, high], [row, row], color=colour, lw=2.4, solid_capstyle="butt")
    marker = "D" if estimate.at_bound else "o"
    panel.plot(middle, row, marker, ms=4.5, color=colour, mfc=EDGE if estimate.at_bound else face)
    panel.text(
        *(1.01, row, in_words(estimate)),
        transform=panel.get_yaxis_transform(),
        color=colour if estimate.at_bound or not estimate.identifiable else "black",
        fontsize=7.5,
        va="center",
    )
    return max(abs(low), abs(high)) if estimate.identifiable else 0.0


def in_words(estimate: Estimate) -> str:
    """The value with its interval and unit, or that the data did not tell it."""
    unit = "" if estimate.parameter.unit == "1" else f" {estimate.parameter.unit}"
    if not estimate.identifiable:
        return f"as prior: {estimate.value:.3g}{unit}"
    reach = INTERVAL * estimate.std
    digits = int(np.clip(1 - np.floor(np.log10(max(reach, 1e-9))), 0, 8))
    bound = ", at bound" if estimate.at_bound else ""
    return f"{estimate.value:.{digits}f} ± {reach:.{digits}f}{unit}{bound}"


def _draw_correlation(panel: Any, calibration: Calibration) -> None:
    """Errors that go together, in the rows of the intervals."""
    names = [e.name for e in calibration.estimates]
    image = panel.imshow(calibration.correlation, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    panel.set_yticks([])
    panel.set_xticks(range(len(names)), names, fontsize=7, rotation=90)
    panel.set_title("correlation of the errors", fontsize=10)
    panel.figure.colorbar(image, ax=panel, shrink=0.8).ax.tick_params(labelsize=7)


def plot_replays(
    recordings: Recordings,
    before: World,
    after: World,
    path: str | Path,
    horizon: Horizon = 1.0,
) -> Path:
    """Draw the joints that were farthest off, as recorded and in two worlds.

    Args:
        recordings: best those that no fit saw.
        before: the nominal robot.
        after: the calibrated one.
        path: of the PNG; complete or absent.
        horizon: seconds of each replay from a recorded state.
    """
    require_matplotlib()
    if not len(recordings):
        raise DataError("there is no recording to draw; expected at least one that no fit saw")
    rate = recordings[0].rate
    before, after = before.at_rate(rate), after.at_rate(rate)
    worst = _worst(recordings, before, horizon)
    columns = min(2, len(worst))
    rows = -(-len(worst) // columns)
    figure = new_figure(6.0 * columns, 2.1 * rows + 0.7)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, place in zip(panels, worst, strict=False):
        clip = [recordings[place.recording]]
        nominal, calibrated = (replay(clip, world, horizon)[0] for world in (before, after))
        _draw_replays(panel, nominal, calibrated, place.joint)
        panel.set_title(
            f"{before.robot.joints.names[place.joint]} in {clip[0].name}: "
            f"{_rmse(nominal)[place.joint]:.4f} rad nominal, "
            f"{_rmse(calibrated)[place.joint]:.4f} calibrated",
            fontsize=9,
        )
    for panel in panels[len(worst) :]:
        panel.set_visible(False)
    panels[0].legend(fontsize=7, loc="upper right")
    figure.supxlabel("time [s]; every replay starts in a recorded state", fontsize=9)
    figure.supylabel("joint position [rad]", fontsize=9)
    return save_figure(figure, path)


class _Place(NamedTuple):
    """A joint, and the recording in which it was farthest off."""

    joint: int
    recording: int
    error: float


def _worst(recordings: Recordings, world: World, horizon: Horizon) -> list[_Place]:
    """Joints by their largest error in any recording, the worst first."""
    found: dict[int, _Place] = {}
    for i in range(len(recordings)):
        for played in replay([recordings[i]], world, horizon):
            for joint, error in enumerate(_rmse(played)):
                if np.isfinite(error) and (joint not in found or error > found[joint].error):
                    found[joint] = _Place(joint, i, float(error))
    if not found:
        raise DataError(f"no recording has an unbroken stretch of {horizon} s; nothing to draw")
    return sorted(found.values(), key=lambda place: -place.error)[:JOINTS]


def _rmse(played: Replay) -> np.ndarray:
    """(J,) of the samples after the start; NaN where a joint has none."""
    error = played.error[:, 1:]
    count = np.isfinite(error).sum(axis=(0, 1))
    return np.sqrt(np.nansum(error**2, axis=(0, 1)) / np.where(count, count, np.nan))


def _draw_replays(panel: Any, nominal: Replay, calibrated: Replay, joint: int) -> None:
    """The windows around the worst one, on the recording's own clock."""
    recorded = nominal.usable | ~nominal.sim.valid[..., None]  # a diverged replay hides nothing
    curves = {
        "recorded": np.where(recorded, nominal.real.q, np.nan),
        "nominal": np.where(nominal.usable, nominal.sim.q, np.nan),
        "calibrated": np.where(calibrated.usable, calibrated.sim.q, np.nan),
    }
    for i, window in enumerate(_shown(nominal, joint)):
        time = (nominal.starts[window] + np.arange(recorded.shape[1])) / nominal.rate
        for name, q in curves.items():
            label = {} if i else {"label": name}
            panel.plot(time, q[window, :, joint], **STYLES[name], **label)
    panel.tick_params(labelsize=7)
    panel.grid(alpha=0.25)


def _shown(played: Replay, joint: int) -> np.ndarray:
    """Windows that begin near the worst one."""
    size = np.nan_to_num(played.error[..., joint]) ** 2
    worst = played.starts[size.sum(axis=1).argmax()]
    near = np.abs(played.starts - worst) < SECONDS / 2 * played.rate
    return np.flatnonzero(near)


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches; refused where matplotlib is not installed."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a PNG, whole or not at all."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, format="png")
    write_bytes_atomic(Path(path), buffer.getvalue())
    return Path(path)
