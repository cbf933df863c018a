"""Data: what was recorded, what is wrong with it, what was masked."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run

EXAMPLES = 3


def data(run: Run) -> dict[str, Any] | None:
    """Findings gathered by kind, since a dataset may repeat one a thousand times."""
    found = run.read("check")
    if not found:
        return None
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in found["findings"]:
        kinds.setdefault((finding["severity"], finding["code"]), []).append(finding)
    rows = [
        {
            "severity": severity,
            "code": code,
            "count": len(same),
            "examples": [_said(f) for f in same[:EXAMPLES]],
        }
        for (severity, code), same in kinds.items()
    ]
    return {**found, "rows": rows, "facts": run.facts["data"]}


def _said(finding: dict[str, Any]) -> str:
    where = [part for part in (finding["recording"], finding["joint"]) if part]
    return f"{', '.join(where)}: {finding['message']}" if where else finding["message"]
