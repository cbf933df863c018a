"""A run to report on."""

from __future__ import annotations

import pytest

from closed_arm import closed_arm
from gapless.closing import Run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run with hostile names."""
    return closed_arm(tmp_path_factory.mktemp("closed"))
