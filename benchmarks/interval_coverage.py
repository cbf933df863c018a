"""How often the 95 % intervals hold the truth, with effects that the fit does not know.

Hidden arms (shoulder and elbow of an SO-101) have other gains, friction and rotor inertia, which
are fitted, and one effect of their drives, which is not. Prints, for three groups of seeds, how
many intervals hold, and how wide they are: the median half width of a kind over the least that
would have held 95 % of its truths. In the last row the model is right.

    python benchmarks/interval_coverage.py --arms 6
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from unmodelled_arms import EFFECTS, Held, intervals_of, widths

GROUPS = (1000, 2000, 3000)
"""First seed of each group."""


def main() -> None:
    """Identify all arms and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, default=6, help="hidden arms of each effect and group")
    parser.add_argument("--starts", default="free", choices=("free", "read"))
    asked = parser.parse_args()
    console, unknown = Console(), []
    table = Table(title=f"95 % intervals that hold the truth, starts {asked.starts}")
    for column in ("effect", *(f"seeds from {first}" for first in GROUPS), "held", "half width"):
        table.add_column(column)
    for effect in (*EFFECTS, None):
        groups = [
            [
                h
                for seed in range(first, first + asked.arms)
                for h in intervals_of(seed, effect, asked.starts)
            ]
            for first in GROUPS
        ]
        rows = [h for group in groups for h in group]
        unknown += rows if effect else []
        table.add_row(effect or "none", *map(_held, groups), _share(rows), _widths(rows))
        console.print(effect or "none", _share(rows), _widths(rows))
    console.print(table)
    console.print(f"with an effect that the fit does not know: {_held(unknown)}, {_share(unknown)}")


def _held(rows: list[Held]) -> str:
    return f"{sum(h.inside for h in rows)} of {len(rows)}"


def _share(rows: list[Held]) -> str:
    return f"{100 * np.mean([h.inside for h in rows]):.0f} %"


def _widths(rows: list[Held]) -> str:
    found = widths(rows)
    each = ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in found.items())
    return f"{np.median(list(found.values())):.2f} ({each})"


if __name__ == "__main__":
    main()
