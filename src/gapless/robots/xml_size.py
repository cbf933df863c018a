"""How large an MJCF would become: a few letters can ask a compiler for gigabytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from gapless.errors import ModelError

MOST_ELEMENTS = 50_000
"""Bodies, joints, shapes and all else, after copies are made; humanoids have hundreds."""
MOST_CELLS = 16_000_000
"""Of a height field, or pixels of a texture: 4000 x 4000."""
COPIED = ("replicate", "composite", "flexcomp")
"""Elements that make `count` copies; the latter two in up to three directions."""
SIDES = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
"""Element -> attributes that span a field of cells."""


def refuse_huge(
    root: ElementTree.Element, includes: Mapping[str, bytes], assets: Mapping[str, bytes]
) -> None:
    """Refuse a model that would not fit, before it is compiled.

    Raises:
        ModelError: it has too many elements, or a field of too many cells.
    """
    trees = {name: ElementTree.fromstring(data) for name, data in includes.items()}
    total = 0
    for element, copies in _copied(root, trees):
        total += copies
        if total > MOST_ELEMENTS:
            raise ModelError(
                f"the model has more than {MOST_ELEMENTS} elements once <{'>, <'.join(COPIED)}> "
                "are expanded; it is no robot, or name only the robot's own file"
            )
        cells = math.prod(_number(element.get(side)) for side in SIDES.get(element.tag, ("",)))
        _refuse_field(cells, f"<{element.tag} name={element.get('name', '')!r}>")
    for name, data in assets.items():
        if name.lower().endswith((".bin", ".hf")) and len(data) >= 8:
            rows, columns = struct.unpack("<ii", data[:8])  # MuJoCo's own height fields
            _refuse_field(max(rows, 1) * max(columns, 1), name)


def _copied(
    root: ElementTree.Element, trees: Mapping[str, ElementTree.Element]
) -> Iterator[tuple[ElementTree.Element, int]]:
    """Every element, included ones too, and how often it will be there."""
    waiting = [(root, 1)]
    while waiting:
        element, copies = waiting.pop()
        yield element, copies
        count = element.get("count", "1") if element.tag in COPIED else "1"
        inner = copies * math.prod(_number(part) for part in count.split()[:3])
        if element.tag == "include":
            included = trees.get(element.get("file", ""))
            waiting += [(child, copies) for child in included] if included is not None else []
        elif inner > MOST_ELEMENTS and element.tag != "replicate":
            yield element, inner  # what these make is not written out
        waiting += [(child, min(inner, 2 * MOST_ELEMENTS)) for child in element]


def _number(text: str | None) -> int:
    """A size; what is none is left to MuJoCo to name."""
    try:
        return max(1, int(float(text or 1)))
    except (ValueError, OverflowError):
        return 1


def _refuse_field(cells: int, what: str) -> None:
    if cells > MOST_CELLS:
        raise ModelError(f"{what} has {cells} cells; at most {MOST_CELLS} are taken")
