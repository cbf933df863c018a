"""Fixtures of the tests of the pages."""

from __future__ import annotations

import pytest
from doc_inputs import Inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Small inputs, each made when it is first asked for."""
    return Inputs(tmp_path_factory.mktemp("inputs"))
