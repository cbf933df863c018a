"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real recordings of other people's robots; they are not part of the project."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real recordings (../shared/data) are not on this machine")
    return SHARED_DATA
