"""What is beside the robots in the live viewer: choices, playback and curves of a joint."""

from __future__ import annotations

from string import punctuation
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.colours import COLOURS, written
from gapless.reports.ghosts import solid_of
from gapless.reports.robot_scene import colour_of

if TYPE_CHECKING:
    import viser

PLAIN, ERROR_OF = "plain", "error of "
SPEEDS = {"0.25x": 0.25, "0.5x": 0.5, "1x": 1.0, "2x": 2.0, "4x": 4.0}
MOST_POINTS = 1000
"""Samples of a curve that are sent to the browser; with many more, gaps would not be drawn."""


class Panel:
    """The controls; what they do is the viewer's affair.

    Attributes:
        recording, playing, time, speed: playback.
        tracks: a box for each robot.
        colours: what colours the real robot's links.
        joint: whose curves are drawn.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        recordings: tuple[str, ...],
        tracks: tuple[str, ...],
        joints: tuple[str, ...],
    ) -> None:
        gui = server.gui
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
        gui.set_panel_label("gapless")
        self._palette = {name: colour_of(name, dict.fromkeys(tracks)) for name in tracks}
        self.recording = gui.add_dropdown("Recording", recordings)
        self.playing = gui.add_button("Play")
        self.time = gui.add_slider("Time (s)", 0.0, 1.0, 0.01, 0.0)
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1x")
        self.tracks = {name: gui.add_checkbox(name, True) for name in tracks}
        errors = [f"{ERROR_OF}{name}" for name in tracks if name != REAL and REAL in tracks]
        self.colours = gui.add_dropdown("Link colours", (PLAIN, *errors))
        self.joint = gui.add_dropdown("Curves of", joints)
        self.note = gui.add_markdown("")
        self._curves: Any = None
        self._server = server

    @property
    def judged(self) -> str | None:
        """The simulator whose errors colour the links."""
        chosen = self.colours.value
        return None if chosen == PLAIN else chosen.removeprefix(ERROR_OF)

    def say(self, text: str) -> None:
        """Show a text below the controls, whatever it is made of."""
        self.note.content = plain(text)

    def begin(self, clip: SideBySide) -> None:
        """Suit the controls to another clip."""
        last = max((len(clip.target) - 1) / clip.rate, 1 / clip.rate)
        self.time.value = 0.0
        self.time.max = last
        self.time.step = round(1 / clip.rate, 4)
        for name, box in self.tracks.items():
            box.disabled = name not in clip.tracks
        self.colours.disabled = REAL not in clip.tracks

    def draw(self, clip: SideBySide, now: float) -> None:
        """Curves of the chosen joint, commanded and of every robot, and a line where we are."""
        if self.joint.value not in clip.joints:
            return
        column = clip.joints.index(self.joint.value)
        curves = {"command": clip.target} | {name: t.q for name, t in clip.tracks.items()}
        keep = slice(None, None, -(-len(clip.target) // MOST_POINTS))
        lines = {name: values[keep, column].astype(float) for name, values in curves.items()}
        span = span_of(list(lines.values()))
        data = with_now(clip.time[keep], list(lines.values()), now, span)
        series = ({"label": "s"}, *(self._line(name, clip) for name in lines), NOW)
        scales = {"x": {"time": False}, "y": {"range": span}}
        if self._curves and (self._curves.series, self._curves.scales) == (series, scales):
            self._curves.data = data
        else:
            self._redraw(data, series, scales)

    def _redraw(
        self, data: tuple[np.ndarray, ...], series: tuple[Any, ...], scales: dict[str, Any]
    ) -> None:
        if self._curves:
            self._curves.remove()
        self._curves = self._server.gui.add_uplot(
            data,
            series,
            scales=scales,
            axes=({"label": "s", "size": 30, "labelSize": 16}, {"label": "rad", "labelSize": 16}),
            legend={"show": True},
            aspect=1.5,
        )

    def _line(self, name: str, clip: SideBySide) -> dict[str, Any]:
        if name == "command":
            return {"label": name, "stroke": COLOURS[name], "width": 1, "dash": (4, 3)}
        stroke = COLOURS.get(name) or written(self._palette[name])
        width = 2 if name == solid_of(clip.tracks) else 1.5
        return {"label": name, "stroke": stroke, "width": width}


NOW = {"label": "now", "stroke": "#999999", "width": 1, "points": {"show": False}}


def span_of(lines: list[np.ndarray]) -> tuple[float, float]:
    """What an upright axis must hold; the browser's own finding stumbles over NaN."""
    known = np.concatenate(lines)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    margin = max(0.05 * (high - low), 0.005)
    return low - margin, high + margin


def with_now(
    time: np.ndarray, lines: list[np.ndarray], now: float, span: tuple[float, float]
) -> tuple[np.ndarray, ...]:
    """Curves on one clock with an upright line at a time, as a curve that is there only."""
    at = int(np.clip(np.searchsorted(time, now), 0, len(time) - 1))
    mark = np.full(len(time) + 1, np.nan)
    mark[at : at + 2] = span
    return (*(np.insert(line, at, line[at]) for line in (time, *lines)), mark)


def plain(text: str) -> str:
    """Markdown that shows a text as it is; a log's words make no markup."""
    return "".join(f"\\{c}" if c in punctuation else c for c in " ".join(text.split()))
