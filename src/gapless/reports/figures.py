"""Plotly figures as plain dictionaries; the page draws them and gives them its colours."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from gapless.reports.colours import COLOURS

CAUSES = ("#5b8ff9", "#f6bd16", "#5ad8a6", "#e8684a", "#9270ca", "#6dc8ec", "#ff9d4d", "#269a99")
REMAINS = "#a0a4ab"
Figure = dict[str, Any]


def shown(text: object) -> str:
    """Text for plotly, which would take some of a log's names for markup."""
    return html.escape(str(text))


def short(joint: str) -> str:
    """A joint's name without what every joint's name has."""
    return joint.removesuffix("_joint").replace("_", " ")


def rounded(values: Sequence[float | None] | Any, digits: int = 4) -> list[float | None]:
    """Numbers as JSON has them: NaN becomes null."""
    return [None if v is None or v != v else round(float(v), digits) for v in values]


def figure(data: list[dict[str, Any]], height: int = 340, **layout: Any) -> Figure:
    """A figure; axis titles as `x` and `y`."""
    for axis in ("x", "y"):
        if title := layout.pop(axis, ""):
            layout.setdefault(f"{axis}axis", {})["title"] = {"text": title}
    return {"data": data, "layout": {"height": height, **layout}}


def bars(
    series: Mapping[str, Mapping[str, float | None]], unit: str, *, height: int = 340
) -> Figure:
    """Grouped bars: series -> label -> value."""
    data = [
        {
            "type": "bar",
            "name": shown(name),
            "x": [shown(label) for label in values],
            "y": rounded(values.values(), 5),
            "marker": {"color": COLOURS.get(name)},
        }
        for name, values in series.items()
    ]
    return figure(data, height, y=unit, barmode="group", xaxis={"type": "category"})


def lying_bars(
    series: Mapping[str, Mapping[str, float | None]], unit: str, colours: Mapping[str, str]
) -> Figure:
    """Stacked bars from left to right: series -> label -> value."""
    labels = next(iter(series.values()), {})
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": shown(name),
            "y": [shown(short(label)) for label in values],
            "x": rounded(values.values()),
            "marker": {"color": colours.get(name)},
        }
        for name, values in series.items()
    ]
    height = 110 + 22 * len(labels)
    axis = {"autorange": "reversed", "type": "category"}
    return figure(data, height, x=unit, barmode="stack", yaxis=axis)


def lines(series: Mapping[str, Mapping[float, float | None]], x: str, y: str) -> Figure:
    """Curves with markers: series -> x -> y."""
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": shown(name),
            "x": list(values),
            "y": rounded(values.values(), 5),
            "line": {"color": COLOURS.get(name)},
        }
        for name, values in series.items()
    ]
    return figure(data, x=x, y=y, yaxis={"rangemode": "tozero"})


def over_time(
    time: Sequence[float | None], series: Mapping[str, Any], colours: Mapping[str, str], y: str
) -> Figure:
    """Curves on one clock, s; a curve ends where there is nothing more of it."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": shown(name),
            "x": list(time),
            "y": rounded(values, 2),
            "line": {"color": colours.get(name), "width": 1.8},
        }
        for name, values in series.items()
    ]
    return figure(data, 300, x="seconds", y=y, yaxis={"rangemode": "tozero"})


def intervals(
    names: Sequence[str],
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    nominal: Sequence[float],
    unit: str,
) -> Figure:
    """Values with their intervals, one a row, and the nominal value beside each."""
    rows = [shown(short(n)) for n in names]
    spread = {
        "type": "data",
        "symmetric": False,
        "array": rounded([h - v for v, h in zip(values, high, strict=True)], 6),
        "arrayminus": rounded([v - b for v, b in zip(values, low, strict=True)], 6),
    }
    dots: dict[str, Any] = {"type": "scatter", "mode": "markers", "y": rows}
    data = [
        dots
        | {"name": "nominal", "x": rounded(nominal, 6)}
        | {"marker": {"symbol": "line-ns-open", "size": 13, "color": COLOURS["raw"]}},
        dots
        | {"name": "identified, 95 %", "x": rounded(values, 6), "error_x": spread}
        | {"marker": {"size": 8, "color": COLOURS["identified"]}},
    ]
    axis = {"autorange": "reversed", "type": "category"}
    return figure(data, 110 + 24 * len(rows), x=unit, yaxis=axis)


def heat(names: Sequence[str], values: Any) -> Figure:
    """A square matrix from -1 to 1."""
    labels = [shown(n) for n in names]
    data = {
        "type": "heatmap",
        "x": labels,
        "y": labels,
        "z": [rounded(row, 2) for row in values],
        "zmin": -1,
        "zmax": 1,
        "colorscale": "RdBu",
        "hovertemplate": "%{y}<br>%{x}<br>%{z}<extra></extra>",
    }
    hidden = {"showticklabels": len(labels) <= 24, "type": "category", "constrain": "domain"}
    return figure([data], 520, xaxis=hidden, yaxis=hidden | {"autorange": "reversed"})
