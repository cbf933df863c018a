"""Pictures of a calibration: complete PNGs that say what the tables say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import DataError, MissingExtraError
from gapless.identification import Calibration, IdentifySettings, calibration_plots, identify
from gapless.measurement import gap_plots as measure_plots
from gapless.recordings import Recording, Split
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from hidden_pair import STEP

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def found(pair: Robot, waves: list[Recording]) -> Calibration:
    """Gains and damping, one of each flag."""
    quick = IdentifySettings(physics_step=STEP, windows=8)
    found = identify(Split.of(waves[:2]), pair, ["kp", "damping"], settings=quick)
    first, second, *rest = found.estimates
    flagged = (replace(first, identifiable=False), replace(second, at_bound=True), *rest)
    return replace(found, estimates=flagged)


def drawn(monkeypatch: pytest.MonkeyPatch) -> list:
    """The figures that are saved from now on."""
    figures, save = [], calibration_plots.save_figure
    monkeypatch.setattr(
        calibration_plots, "save_figure", lambda f, p: [figures.append(f), save(f, p)][1]
    )
    return figures


def test_intervals_are_named_and_flags_are_said(
    found: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every parameter has a row; what was not told, or stopped at a bound, says so."""
    figures = drawn(monkeypatch)
    path = calibration_plots.plot_calibration(found, tmp_path / "new" / "cal.png")
    assert path.read_bytes().startswith(PNG)
    intervals, correlation = figures[0].axes[:2]
    assert [t.get_text() for t in intervals.get_yticklabels()] == list(found.values)
    words = [t.get_text() for t in intervals.texts]
    assert words[0].startswith("as prior") and words[1].endswith("at bound")
    assert words[2] == calibration_plots.in_words(found.estimates[2])
    shown = correlation.images[0].get_array()
    np.testing.assert_allclose(shown, found.correlation)


def test_a_row_is_an_interval_in_spreads(found: Calibration, tmp_path: Path) -> None:
    """Prior and spread give the axis; the value is inside its interval."""
    figure = calibration_plots.new_figure(4, 4)
    panel, estimate = figure.subplots(), found.estimates[2]
    reach = calibration_plots._draw_row(panel, 0, estimate)
    (low, high), (middle,) = (line.get_xdata() for line in panel.lines)
    assert low < middle < high
    assert middle == pytest.approx(estimate.parameter.z_of(estimate.value))
    assert reach == max(abs(low), abs(high))


def test_a_load_is_drawn_below_its_robot(
    found: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A two-stage calibration has two rows of panels."""
    figures = drawn(monkeypatch)
    calibration_plots.plot_calibration(replace(found, loaded=found), tmp_path / "cal.png")
    titles = [panel.get_title() for panel in figures[0].axes]
    assert sum("95 % intervals" in title for title in titles) == 2
    assert any("load" in title for title in titles)


def test_a_large_calibration_has_no_matrix_and_far_values_a_logarithmic_axis(
    found: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both would be unreadable otherwise."""
    figures = drawn(monkeypatch)
    far = replace(found.estimates[2], value=found.estimates[2].parameter.upper)
    count = calibration_plots.MOST_CORRELATED + 1
    calibration_plots.plot_calibration(
        replace(found, estimates=(far,) * count), tmp_path / "cal.png"
    )
    (panel,) = figures[0].axes
    assert panel.get_xscale() == "symlog"


def test_replays_show_the_worst_joint_first(
    pair: Robot, waves: list[Recording], found: Calibration, tmp_path: Path, monkeypatch
) -> None:
    """Recorded, nominal and calibrated curves; the title has both errors."""
    figures = drawn(monkeypatch)
    before = MujocoWorld(pair, 100, physics_step=STEP)
    after = found.world(pair, physics_step=STEP)
    path = calibration_plots.plot_replays(waves[:2], before, after, tmp_path / "replays.png", 1.0)
    assert path.read_bytes().startswith(PNG)
    first, second = figures[0].axes
    nominal, calibrated = (
        [float(word) for word in panel.get_title().replace(",", "").split() if word[0] == "0"]
        for panel in (first, second)
    )
    assert nominal[0] >= calibrated[0]
    assert nominal[1] < nominal[0] and calibrated[1] < calibrated[0]
    assert [t.get_text() for t in first.get_legend().get_texts()] == list(calibration_plots.STYLES)


def test_replays_need_a_stretch(
    pair: Robot, waves: list[Recording], found: Calibration, tmp_path: Path
) -> None:
    """Recordings shorter than the horizon are refused, and no file is left."""
    world = MujocoWorld(pair, physics_step=STEP)
    with pytest.raises(DataError, match="unbroken stretch of 100 s"):
        calibration_plots.plot_replays(waves[:1], world, world, tmp_path / "replays.png", 100)
    with pytest.raises(DataError, match="no recording"):
        calibration_plots.plot_replays([], world, world, tmp_path / "replays.png")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_extra_is_named(
    found: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install."""
    monkeypatch.setattr(measure_plots, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[plots\]"):
        calibration_plots.plot_calibration(found, tmp_path / "cal.png")
