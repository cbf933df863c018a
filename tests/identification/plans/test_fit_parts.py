"""Parts of an identification as tasks: the same calibration, wherever they are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gapless.cli.main import main
from gapless.errors import GaplessError
from gapless.identification import IdentifySettings, identify
from gapless.progress import Watch
from gapless.recordings import Dataset
from gapless.robots import Robot
from gapless.tasks import Failures, FileTask, InProcess
from hidden_pair import LOCKED, STEP, nominal_pair, recorded

QUICK = IdentifySettings(horizon=0.5, windows=4, physics_step=STEP)
OPTIONS = ["--horizon", "0.5", "--windows", "4", "--physics-step", str(STEP), "--set", "kp"]


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two units and three motions: so few that each chooses in turn."""
    pair, clips = nominal_pair(), []
    for unit, gain in {"u1": 0.6, "u2": 0.9}.items():
        soft = pair.with_joints(kp=gain * pair.joints.kp)
        clips += recorded(soft, list("abc"), seconds=1.5, unit=unit)
    path = tmp_path_factory.mktemp("units") / "data"
    Dataset.from_recordings(clips, "so101").save(path)
    return path


class Counted(InProcess):
    """Workers that remember what they were asked."""

    def __init__(self) -> None:
        object.__setattr__(self, "asked", [])

    def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
        """Do all tasks."""
        self.asked.append([task.name for task in tasks])  # type: ignore[attr-defined]
        return super().run([FileTask.from_dict(task.to_dict()) for task in tasks], watch)


def timeless(values: dict[str, Any]) -> dict[str, Any]:
    """A calibration without what the clock decides."""
    folds = [timeless(fold) for fold in values.get("folds", [])]
    made = {k: v for k, v in values["made_by"].items() if k not in ("seconds", "time")}
    return {**values, "folds": folds, "made_by": made}


@pytest.mark.parametrize("plan", ["per-joint", "fleet"])
def test_parts_are_the_whole(units: Path, tmp_path: Path, plan: str) -> None:
    """Units of a fleet, and what each motion chooses by, are tasks; nothing is fitted twice."""
    pair, workers = nominal_pair(), Counted()
    asked: dict[str, Any] = {"plan": plan, "settings": QUICK, "keep_anyway": True}
    here = identify(Dataset.open(units), pair, ["kp"], **asked)
    there = identify(
        Dataset.open(units), pair, ["kp"], **asked, workers=workers, checkpoint=tmp_path / "kept"
    )
    assert timeless(there.to_dict()) == timeless(here.to_dict())
    first, *later = workers.asked  # type: ignore[attr-defined]
    assert len(here.folds) == 2 and len(first) == (2 if plan == "fleet" else 3)
    assert later == ([[f"all motions, {u} {s}" for u in ("u1", "u2")] for s in STAGES]
                     if plan == "fleet" else [])  # fmt: skip


STAGES = ("alone", "of the fleet")


def test_a_part_that_is_kept_is_not_made_again(
    units: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What workers left is found by a process that simulates nothing but the judging."""
    pair, asked = nominal_pair(), {"settings": QUICK, "keep_anyway": True}
    first = identify(
        Dataset.open(units), pair, ["kp"], **asked, workers=InProcess(), checkpoint=tmp_path
    )
    monkeypatch.setattr(
        "gapless.identification.plans.fitting.minimise", lambda *_, **__: pytest.fail("fitted")
    )
    again = identify(Dataset.open(units), pair, ["kp"], **asked, checkpoint=tmp_path)
    assert timeless(again.to_dict()) == timeless(first.to_dict())


def test_the_command_gives_the_same_file(units: Path, tmp_path: Path) -> None:
    """With --on, in processes of their own; and nothing is left behind."""
    found = []
    for place in ("local", "local:2"):
        out = tmp_path / f"{place.replace(':', '')}.json"
        words = ["identify", str(units), "--lock", *LOCKED, *OPTIONS, "--out", str(out)]
        assert main([*words, "--on", place, "--keep-anyway"]) == 0
        found.append(timeless(json.loads(out.read_text())))
    assert found[0] == found[1] and len(list(tmp_path.iterdir())) == 2


def test_what_cannot_be_parted_is_refused(units: Path, tmp_path: Path) -> None:
    """A ladder, and workers without a place; before anything is made."""
    pair: Robot = nominal_pair()
    with pytest.raises(GaplessError, match="checkpoint=FOLDER"):
        identify(Dataset.open(units), pair, ["kp"], workers=InProcess())
    with pytest.raises(GaplessError, match="each rung waits"):
        identify(Dataset.open(units), pair, "auto", workers=InProcess(), checkpoint=tmp_path)
    assert list(tmp_path.iterdir()) == []
