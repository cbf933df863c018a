"""What a run hands out runs as it is: its program, and the Python of the page about runs."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from closed_arm import ARM, QUICK
from gapless.closing import Run, close
from gapless.errors import DataError
from gapless.robots import Payload, Robot
from hidden_pair import recorded

PAGE = Path(__file__).parents[2] / "docs" / "close.md"
SNIPPETS = [
    text
    for text in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if "Run.open" in text
]
LONGEST = 600.0
"""Seconds after which a program is stuck."""


@pytest.fixture(scope="module", params=[pytest.param("unloaded", marks=pytest.mark.slow), "loaded"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose correction was kept; in one of them it looks at what is carried."""
    folder = tmp_path_factory.mktemp(request.param)
    file = folder / "arm.xml"
    file.write_text(ARM.format("shoulder"))
    arm = Robot.load(str(file))
    soft = arm.with_joints(kp=0.65 * arm.joints.kp)
    full = soft.with_payloads({"lower": Payload(0.2)}) if request.param == "loaded" else soft
    clips = recorded(soft, ["a", "b", "c"], noise=0.0)
    clips += recorded(full, ["d", "e", "f"], noise=0.0, first=3)
    # The motors' gain is left to the correction, so that there is something to learn.
    enough = {**(QUICK.trainer_settings or {}), "iterations": 60, "samples": 600}
    how = replace(QUICK, parameters=("frictionloss",), trainer_settings=enough)
    return close(clips, arm, folder / "run", settings=how)


def ran(arguments: list[str], folder: Path) -> str:
    """What a program says that ends well."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_of_a_run_runs(run: Run) -> None:
    """As it was written, from anywhere."""
    assert run.correction is not None
    assert "50 steps a second; {'shoulder'" in ran([str(run.path / "use.py")], run.path.parent)


def test_the_snippets_of_the_page_run(run: Run) -> None:
    """Beside a folder of that name."""
    assert SNIPPETS
    for text in SNIPPETS:
        ran(["-c", text], run.path.parent)


def test_what_is_carried_must_be_said_only_where_it_is_looked_at(run: Run) -> None:
    """A reset without conditions will do where no recording was loaded."""
    assert run.correction is not None
    world = run.world()
    world.reset(world.home())
    if "payload" not in run.correction.contract.signals:
        world.step(world.home().q)
        return
    with pytest.raises(DataError, match="looks at the payload"):
        world.step(world.home().q)
