"""Summary of a policy loop: the answer, then every policy on the robot by ASAP's columns."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gapless.reports.sections.loop_colours import loop_colours
from gapless.tracking.loop_folder import COLUMNS, LoopFolder, shown_score


def data(loop: LoopFolder) -> dict[str, Any]:
    """A sentence and a table; nothing in it was chosen by these numbers."""
    colours = loop_colours(loop)
    rows = [
        {
            "name": policy,
            "called": loop.called[policy],
            "colour": colours[loop.called[policy]],
            "cells": [shown_score(scores, column) for column in COLUMNS],
        }
        for policy, scores in loop.policies.items()
    ]
    return {
        "sentence": loop.answer.replace("->", "→"),
        "columns": [title for title, _ in COLUMNS.values()],
        "rows": rows,
        "motion": loop.motion,
        "target": loop.target,
        "episodes": loop.facts.get("episodes"),
        "same": [b for a, b in pairwise(loop.policies) if loop.policies[a] == loop.policies[b]],
        "fell": any((scores["survival"] or 0) < 1 for scores in loop.policies.values()),
    }
