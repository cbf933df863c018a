"""What `gapless correct` says about a correction: tables, figures, pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.cli.terminal import console, save_json

if TYPE_CHECKING:
    from gapless.corrections import CorrectedWorld, Correction
    from gapless.recordings import Recording
    from gapless.recordings.split import Split
    from gapless.worlds.world import World

PICTURES = 6
"""Held-out recordings that are drawn."""


def report(
    correction: Correction, split: Split, world: World, horizon: float, json: Path | None
) -> None:
    """Print what a correction does to held-out replays (training ones where none is held out)."""
    from gapless.corrections import CorrectedWorld
    from gapless.corrections.correction_tables import correction_tables

    shown = list(split.test) or list(split.learn)
    corrected = CorrectedWorld(world, None, [correction])
    bare, slow = (_seconds(shown, w, horizon) for w in (world, corrected))
    usage = corrected.usage[0]
    console().print(correction_tables(correction, usage))
    console().print(f"replays take {slow / bare:.1f} times as long as without it")
    choose, test = correction.choose, correction.test
    figures: dict[str, Any] = {
        "choose": None if choose is None else choose.to_dict(),
        "test": None if test is None else test.to_dict(),
        "usage": usage.to_dict() | {"held_out": bool(split.test)},
        "slowdown": slow / bare,
        "contract": correction.contract.to_dict(),
        "made_by": correction.made_by,
    }
    save_json(json, figures)


def _seconds(recordings: list[Recording], world: World, horizon: float) -> float:
    """Wall time of replaying recordings."""
    from gapless.measurement.judge import replay_error

    began = time.perf_counter()
    replay_error(recordings, world, horizon)
    return time.perf_counter() - began


def draw(correction: Correction, split: Split, world: World, horizon: float, folder: Path) -> None:
    """Outputs by joint, and replays without and with the correction."""
    from gapless.corrections import CorrectedWorld
    from gapless.measurement.gap_plots import plot_recordings

    shown = list(split.test) or list(split.learn)
    corrected = CorrectedWorld(world, None, [correction])
    pictures = []
    for name, side in (("before", world), ("after", corrected)):
        drawn = plot_recordings(shown, side, folder / name, horizon=horizon, most=PICTURES)
        pictures += list(drawn)
    pictures.append(_draw_outputs(corrected, folder / "outputs.png"))
    console(stderr=True).print(f"{len(pictures)} pictures written to {folder}")


def _draw_outputs(corrected: CorrectedWorld, path: Path) -> Path:
    """Bars of the mean output of each joint, with the ensemble's spread."""
    from gapless.corrections.correction_tables import OUTPUT_UNITS
    from gapless.identification.calibration_plots import new_figure, save_figure

    contract, figures = corrected.corrections[0].contract, corrected.usage[0].to_dict()
    names = list(contract.outputs)[::-1]
    figure = new_figure(7.0, 0.3 * len(names) + 1.2)
    panel = figure.subplots()
    sizes, spreads = ([figures[k][n] for n in names] for k in ("mean_output", "mean_spread"))
    panel.barh(names, sizes, xerr=spreads, color="#1f77b4", ecolor="#999999")
    panel.set_xlabel(f"mean |output| ({OUTPUT_UNITS[contract.head]}), spread of the ensemble")
    panel.tick_params(labelsize=8)
    return save_figure(figure, path)
