"""Provenance of a policy loop: what was asked, and the software that played the episodes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gapless.tracking.loop_folder import LoopFolder


def data(loop: LoopFolder) -> dict[str, Any]:
    """Facts of the loop, and the identity of the world that stood for the robot."""
    played = loop.evaluation(list(loop.policies)[-1])
    nested = {k: v for k, v in loop.facts.items() if isinstance(v, dict)}
    tables = {
        "loop": {k: v for k, v in loop.facts.items() if k not in nested},
        **{f"settings: {name}": settings for name, settings in nested.items()},
        "episodes": asdict(played.scenario),
        "target": played.worlds[0].identity,
        "software": played.made_by,
    }
    return {
        "tables": {
            title: {k: v if isinstance(v, str) else json.dumps(v) for k, v in table.items()}
            for title, table in tables.items()
        }
    }
