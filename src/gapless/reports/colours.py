"""The same thing has the same colour in every picture."""

from __future__ import annotations

Colour = tuple[int, int, int]

COLOURS = {
    "command": "#8a8f98",
    "real": "#3b82f6",
    "raw": "#e5484d",
    "identified": "#f5a524",
    "corrected": "#30a46c",
    "reference": "#3b82f6",
    "before": "#e5484d",
    "after": "#30a46c",
}
"""Of curves and bars; robots in 3D have them too, but for the real one, whose body is grey."""


def rgb(colour: str) -> Colour:
    """Red, green and blue of #rrggbb."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def written(colour: Colour) -> str:
    """The inverse of `rgb`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
