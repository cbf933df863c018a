"""Two trackers of a pendulum, whose students are made in seconds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gapless.policies import Policy
from gapless.tracking import train
from pendulum import pendulum
from quick_students import nods
from quick_trackers import QUICK


@pytest.fixture(scope="package")
def teachers(swinger: Policy, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Policy]:
    """One swings, one nods."""
    folder = tmp_path_factory.mktemp("nodder")
    return swinger, train(nods(), pendulum(folder), folder / "nodder", QUICK)
