"""A Correction, and what it did, as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.corrections.runtime.contract import Contract
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.usage import Usage
from gapless.printing import verdict_lines

OUTPUT_UNITS = {"action": "rad", "torque": "N·m", "state": "rad, rad/s, m, m/s"}


def correction_tables(correction: Correction, usage: Usage) -> Group:
    """What a correction did to replays, by joint, and whether it helped."""
    made = correction.made_by
    parts: list[Any] = [usage_table(usage, correction.contract)]
    parts += [*verdict_lines(correction.choose, correction.test), outside_line(usage)]
    parts += [Text(f"not corrected: {j}: {why}") for j, why in made.get("left_out", {}).items()]
    if "seconds" in made:
        parts.append(Text(f"trained in {made['seconds']} s", style="dim"))
    return Group(*parts)


def usage_table(usage: Usage, contract: Contract) -> Table:
    """Mean size, spread over the ensemble and largest value of every output."""
    figures, unit = usage.to_dict(), OUTPUT_UNITS[contract.head]
    title = f"{contract.model} correction of the {contract.head} ({unit}), mean over all steps"
    table = Table(title=title, title_justify="left", min_width=len(title) + 2)
    table.add_column("output", no_wrap=True)
    for column in ("mean |output|", "spread", "largest", "bound", "outside"):
        table.add_column(column, justify="right")
    for name, bound in zip(contract.outputs, contract.bound, strict=True):
        found = (figures[k][name] for k in ("mean_output", "mean_spread", "largest_output"))
        table.add_row(
            Text(name),
            *(f"{v:.4f}" for v in found),
            f"{bound:.3g}",
            f"{figures['outside_by_output'][name]:.0%}",
        )
    return table


def outside_line(usage: Usage) -> Text:
    """How often the envelope was left."""
    share = usage.share_outside
    text = (
        f"{share:.1%} of {usage.steps} steps (mean over the outputs) were outside its envelope, "
        "where it fades to nothing"
    )
    return Text(text, style="yellow" if share > 0.1 else "")
