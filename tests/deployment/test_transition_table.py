"""The table of transitions in the docs is the one in the code."""

from __future__ import annotations

from pathlib import Path

from gapless.deployment.transition_table import transition_table

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"


def test_the_page_has_the_table_of_the_code() -> None:
    """Word by word."""
    assert transition_table() in PAGE.read_text(encoding="utf-8")
