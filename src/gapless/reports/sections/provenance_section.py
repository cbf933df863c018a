"""Provenance: the robot, the data, every choice, the split and the software."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gapless.closing import Run


def data(run: Run) -> dict[str, Any]:
    """Facts of the run, and the identity of the simulator its numbers belong to."""
    raw = run.stages.get("raw")
    identity = asdict(raw.gap.identity) if raw is not None and raw.gap is not None else {}
    tables = {
        "robot": run.facts["robot"],
        "recordings": run.facts["data"],
        "settings": run.facts["settings"],
        "simulator": identity,
        "software": run.facts["made_by"],
    }
    return {
        "tables": {
            title: {k: v if isinstance(v, str) else json.dumps(v) for k, v in table.items()}
            for title, table in tables.items()
            if table
        },
        "split": run.facts["split"],
    }
