"""What was found about a policy, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gapless.evaluation.policy_check import PolicyReport

SIMULATED = "in the simulator"
"""What the check is called that runs the policy."""
STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def policy_check_table(report: PolicyReport) -> Group:
    """The answer, then every check."""
    failed = [check.what for check in report.checks if check.outcome == "failed"]
    tried = any(check.what == SIMULATED for check in report.checks)
    fits = "fits, and works in the nominal simulator" if tried else "fits; it was not simulated"
    answer = f"fails: {', '.join(failed)}" if failed else fits
    table = Table(title=Text(f"policy {report.policy} on {report.robot}"), title_justify="left")
    for column in ("check", "", "what was found"):
        table.add_column(column)
    for check in report.checks:
        table.add_row(check.what, Text(check.outcome, STYLES[check.outcome]), Text(check.said))
    return Group(Text(answer, STYLES["failed" if failed else "ok"]), table)
