"""Tables of corrections and comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.console import Console

from gapless.comparison.comparison import Comparison, Row, Score
from gapless.corrections import CorrectedWorld
from gapless.corrections.correction_tables import correction_tables
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.verdict import Verdict


def text(shown: Any) -> str:
    """What is printed, in one line."""
    console = Console(width=160, no_color=True)
    with console.capture() as caught:
        console.print(shown)
    return " ".join(caught.get().split())


def score(seed: int, error: float, **more: Any) -> Score:
    """A score of one horizon and two payloads."""
    loads = {"0 kg": {"1.0": error}, "3 kg": {"1.0": 2 * error}}
    return Score(seed, 10.0 + seed, {"replay_error": {"1.0": error}}, loads, **more)


def test_a_comparison_shows_means_deviations_and_reductions() -> None:
    """± over seeds, the share against raw, times, payloads, what failed or is no better."""
    rows = (
        Row("raw", (score(0, 0.02),)),
        Row("ours", (score(0, 0.004), score(1, 0.006))),
        Row("asap", (score(0, 0.03, diverged=4), Score(1, 0.0, failed="no torch"))),
        Row("gaponet", (Score(0, 0.0, failed="no torch"),)),
    )
    there = Comparison(rows[:2], ("replay_error",), ("1.0",), title="motions of there")
    shown = text(Comparison(rows, ("replay_error",), ("1.0",), others=(there,)))
    assert "0.005 ±0.0014 (-75 %)" in shown and "10.5 ±0.7" in shown
    assert "1 of 2 seeds failed, no improvement, 4 windows diverged" in shown
    assert "gaponet │ - │ - │ failed" in shown and "gaponet failed: no torch" in shown
    assert "replay error (rad) on held-out motions by payload, 1.0 s" in shown
    assert "0.01 ±0.0028 (-75 %)" in shown
    assert "replay error (rad) on motions of there, ± std over seeds" in shown
    assert shown.count("gaponet failed") == 1


def test_a_correction_shows_its_outputs_and_whether_it_helped(task: Task, made: Any) -> None:
    """Mean, spread and bound of each joint; error without and with it; envelope."""
    found: Correction = made("mlp", members=2)
    world = CorrectedWorld(task.world, None, [found])
    world.rollout(world.world.home(3), task.learn[0].target[None, :20].repeat(3, axis=0))  # type: ignore[index,attr-defined]
    judged = replace(
        found,
        choose=Verdict(0.03, 0.006, 1.0, ("c",)),
        test=Verdict(0.02, 0.01, 1.0, ("a", "b")),
        made_by={"seconds": 3.5},
    )
    shown = text(correction_tables(judged, world.usage[0]))
    assert "elbow_flex" in shown and "of 60 steps" in shown
    assert f"{found.contract.bound[0]:.3g} │" in shown
    assert "held-out motions: replay error 0.02000 -> 0.01000 rad (50% less; 1 s, 2 m" in shown
    assert "choosing motions: replay error 0.03000 -> 0.00600 rad (80% less; 1 s, 1 m" in shown
    assert "trained in 3.5 s" in shown
    unjudged = text(correction_tables(found, world.usage[0]))
    assert "choosing motions: none" in unjudged and "held-out motions: none" in unjudged
