"""The table of the fault suite says what the tests are."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "faults"))

from fault_cases import CASES, ELSEWHERE, shown_cases, table  # noqa: E402


def test_every_case_has_a_test_or_says_why_not() -> None:
    """All 53; and no test is of a case that the table does not know."""
    shown = shown_cases()
    assert sorted(CASES) == list(range(1, 54))
    assert set(shown) | set(ELSEWHERE) == set(CASES)
    assert not set(shown) & set(ELSEWHERE)


def test_the_page_has_the_table() -> None:
    """`python tests/faults/fault_cases.py` prints it."""
    assert table() in (ROOT / "docs" / "reliability.md").read_text()
