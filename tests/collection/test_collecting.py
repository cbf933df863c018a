"""Collecting: paired, resumable, the same bytes however often it was stopped."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pytest

from gapless.collection import Collection, CollectionPlan, card, collect, collection_job
from gapless.collection.repertoire import repertoire
from gapless.errors import ArtifactError, FormatError, SimulationError, TaskError
from gapless.progress import Progress, Watch
from gapless.recordings.checks import check_dataset
from gapless.recordings.store import parts as store
from gapless.robots import Robot
from gapless.scale import workers_on
from gapless.tasks import Failures, FileTask, InProcess
from gapless.worlds import MujocoWorld

PLAN: dict[str, Any] = {
    "robot": "so101",
    "mount": "fixed",
    "levels": ("whole_body",),
    "seconds": 1.5,
    "payloads": (0.0, 0.2),
    "payload_links": (Robot.load("so101").links[-1],),
    "rates": (50, 100),
    "units": (1, 2),
    "held_out": (3,),
    "repeats": 2,
    "only": ("strength", "coulomb", "encoder_noise"),
    "batch": 3,
}
"""24 sequences in ten parts: 2 payloads x 2 repeats x 3 units x 2 rates."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection that nothing interrupted."""
    return collect(CollectionPlan(**PLAN), tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than the small plans of these tests."""
    monkeypatch.setattr(card, "draw", lambda *_: None)


def content(root: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_everything_that_was_planned_is_stored_once(made: Collection):
    """A dataset for each split and rate; every sequence under its own conditions."""
    assert [d.name for d in made.datasets] == [
        "fit/50hz", "fit/100hz", "held_out/50hz", "held_out/100hz"
    ]  # fmt: skip
    plan = CollectionPlan(**PLAN)
    names = repertoire(plan).names
    for stored in made.datasets:
        data = made.dataset(stored.split, stored.rate)
        planned = {s.id: s for s in plan.sequences(stored.split, stored.rate, names)}
        found = {e.provenance["sequence"]: e.conditions for e in data.episodes}
        assert found.keys() == planned.keys() and len(data) == len(planned) == stored.sequences
        for name, sequence in planned.items():
            told = found[name]
            assert (told.unit, told.payload_mass) == (str(sequence.unit), sequence.payload)
            assert told.extra == {
                "repeat": sequence.repeat,
                "motor_temperature": sequence.temperature,
            }
        assert stored.frames == sum(e.frames for e in data.episodes)
    assert made.left_out == () and made.motions == {"whole_body": 1}


def test_pairs_share_commands_start_and_payload(made: Collection):
    """The replica is what the nominal robot does with the stored commands and payload."""
    data = made.dataset("fit", 50)
    world = MujocoWorld(CollectionPlan(**PLAN).load_robot(), 50)
    for i in (0, len(data) - 1):
        clip = data[i]
        assert clip.target is not None
        start = replace(world.home(), q=clip.channels["sim_q"][:1])
        again = world.rollout(start, clip.target[None], conditions=[clip.conditions])
        np.testing.assert_allclose(clip.channels["sim_q"], again.q[0, :-1], atol=1e-5)
        assert np.abs(np.diff(clip.channels["sim_q"][:4], axis=0)).max() < 2e-3  # it did not fall
    gap = np.abs(clip.q - clip.channels["sim_q"]).mean()
    assert 1e-4 < gap < 0.2


@pytest.mark.usefixtures("no_picture")
def test_motors_start_as_warm_as_was_drawn(tmp_path: Path):
    """The temperature of a sequence is in its conditions and in its channel."""
    few = {"payloads": (0.0,), "repeats": 1, "rates": (50,), "units": (1,), "held_out": ()}
    clip = collect(CollectionPlan(**PLAN | few | {"only": ("heat",)}), tmp_path / "out").dataset()[
        0
    ]
    drawn = clip.conditions.extra["motor_temperature"]
    np.testing.assert_allclose(clip.channels["temperature"][0], drawn, atol=0.1)


@pytest.mark.usefixtures("no_picture")
def test_no_effects_no_gap(tmp_path: Path):
    """A hidden robot with everything off is its own replica."""
    plan = CollectionPlan(**PLAN | {"hidden": "none", "only": None, "units": (1,), "held_out": ()})
    data = collect(plan, tmp_path / "out").dataset("fit", 50)
    for clip in data:
        np.testing.assert_array_equal(clip.q, clip.channels["sim_q"])


def test_every_dataset_is_clean(made: Collection):
    """The checks that imported logs must pass find no error."""
    robot = Robot.load("so101")
    for stored in made.datasets:
        report = check_dataset(made.dataset(stored.split, stored.rate), robot)
        assert report.ok, report.findings
        assert report.recordings == stored.sequences and not sum(report.masked.values())


def test_card(made: Collection):
    """README and picture say what is there."""
    text = (made.path / "README.md").read_text()
    for stored in made.datasets:
        assert f"| `{stored.name}` | {stored.sequences} |" in text
    assert "0, 0.2 kg" in text and "unit 3" in text and "whole_body | 1" in text
    assert (made.path / "card.png").read_bytes().startswith(b"\x89PNG")
    assert Collection.open(made.path) == made
    assert not [p for p in made.path.rglob(".*") if p.name != ".gapless.json"]


@pytest.mark.parametrize("at", [3, pytest.param(16, marks=pytest.mark.slow)])
def test_killed_and_resumed(made: Collection, tmp_path: Path, at: int):
    """kill -9 in the middle of a batch, then the same call: no loss, no repeats, equal bytes."""
    out = tmp_path / "out"
    script = f"""
        import os, signal
        from gapless.collection import CollectionPlan, collect

        def die(tally):
            if tally.done >= {at}:
                os.kill(os.getpid(), signal.SIGKILL)

        collect(CollectionPlan(**{PLAN!r}), {str(out)!r}, watch=die)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    assert done.returncode == -9
    with pytest.raises(FormatError, match=r"not finished; the same .* resumes"):
        Collection.open(out)
    seen: list[Progress] = []
    collect(CollectionPlan(**PLAN), out, watch=seen.append)
    last = seen[-1]
    assert (last.done, last.total) == (24, 24)
    assert at / 24 <= last.figures["earlier"] / last.figures["hours"] < 1
    assert content(out) == content(made.path)


def test_finished_is_left_alone(made: Collection):
    """The same call again simulates nothing; another plan is refused, and says what differs."""
    before = content(made.path)
    called: list[Progress] = []
    assert collect(CollectionPlan(**PLAN), made.path, watch=called.append) == made and not called
    with pytest.raises(ArtifactError, match=r"repeats was 2 and is now 1.*--restart"):
        collect(CollectionPlan(**PLAN | {"repeats": 1}), made.path)
    assert content(made.path) == before


@pytest.mark.usefixtures("no_picture")
def test_restart(tmp_path: Path):
    """What is there is replaced by the new plan's; a foreign folder is never touched."""
    one = PLAN | {"units": (1,), "held_out": (), "rates": (50,), "repeats": 1}
    collect(CollectionPlan(**one | {"held_out": (2,)}), tmp_path / "out")
    again = collect(CollectionPlan(**one), tmp_path / "out", restart=True)
    assert [d.name for d in again.datasets] == ["fit/50hz"]
    assert not (tmp_path / "out/held_out").exists()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/README.md").write_text("mine")
    with pytest.raises(ArtifactError, match="is no collection and not empty"):
        collect(CollectionPlan(**one), tmp_path / "notes", restart=True)
    assert content(tmp_path / "notes") == {"README.md": b"mine"}


def test_full_disk(made: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The error says so; with space again the same call completes it."""
    publish, calls = store._publish, Counter[str]()

    def full(path: Path, fill: Any) -> None:
        calls["all"] += 1
        if calls["all"] > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        publish(path, fill)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_publish", full)
        with pytest.raises(ArtifactError, match=r"disk is full.*2 whole parts are kept"):
            collect(CollectionPlan(**PLAN), tmp_path / "out")
    collect(CollectionPlan(**PLAN), tmp_path / "out")
    assert content(tmp_path / "out") == content(made.path)


class Falling:
    """A hidden robot that diverges in the last of every so many sequences of its life."""

    def __init__(self, inner: Any, every: int) -> None:
        self.inner, self.every, self.identity = inner, every, inner.identity

    def rollout(self, state: Any, targets: np.ndarray, **options: Any) -> Any:
        """Play, then declare one environment diverged half a second after its start."""
        played = self.inner.rollout(state, targets, **options)
        valid = played.valid.copy()
        valid[self.every - 1 :: self.every, 25:] = False
        return replace(played, valid=valid)


@pytest.mark.usefixtures("no_picture")
def test_diverged_sequences_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The rest is kept; the card and collection.json say which and when; too many are an error."""
    plan = CollectionPlan(
        **PLAN | {"repeats": 12, "units": (1,), "held_out": (), "rates": (50,), "batch": 24}
    )
    make = collection_job.target_world
    with monkeypatch.context() as patch:
        patch.setattr(collection_job, "target_world", lambda *a: Falling(make(*a), 24))
        found = collect(plan, tmp_path / "out")
        assert len(found.left_out) == 1 and found.datasets[0].sequences == 23
        entry = found.left_out[0]
        assert (entry["what"], entry["seconds"]) == ("robot diverged", 0.5)
        stored = {e.provenance["sequence"] for e in found.dataset().episodes}
        assert entry["sequence"] not in stored
        assert entry["sequence"] in (tmp_path / "out/README.md").read_text()
        assert json.loads((tmp_path / "out/collection.json").read_text())["left_out"] == [entry]
        patch.setattr(collection_job, "target_world", lambda *a: Falling(make(*a), 4))
        with pytest.raises(SimulationError, match=r"6 of 24 sequences did not end well.*at 0.5 s"):
            collect(plan, tmp_path / "bad")
    assert not Path(tmp_path / "bad/fit/50hz").exists()


def test_workers_make_the_same_bytes(made: Collection, tmp_path: Path):
    """A task for each unit, split and rate; a stop in between costs nothing that is whole."""
    plan, out = CollectionPlan(**PLAN), tmp_path / "out"

    class Stopped:
        """Workers of which one ends after two tasks."""

        def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
            """Only some of the work."""
            assert len(tasks) == 6
            InProcess().run(tasks[:2], watch)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(plan, out, workers=Stopped())
    told: list[Progress] = []
    found = collect(plan, out, workers=workers_on("local:2"), watch=told.append)
    assert content(out) == content(made.path) and found.left_out == ()
    assert [now.total for now in told if now.stage == "tasks"][-1] == 4


@pytest.mark.usefixtures("no_picture")
def test_what_workers_leave_out_is_told_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Which sequences, why and when; and files of another plan are refused."""
    plan = CollectionPlan(**PLAN | {"repeats": 12, "held_out": (), "rates": (50,), "batch": 24})
    make = collection_job.target_world
    monkeypatch.setattr(collection_job, "target_world", lambda *a: Falling(make(*a), 24))
    here = collect(plan, tmp_path / "here")
    there = collect(plan, tmp_path / "there", workers=InProcess())
    assert len(there.left_out) == 2 and content(there.path) == content(here.path)
    monkeypatch.setattr("gapless.collection.unit_tasks.figures_of", lambda _: {"a": str(time())})
    with pytest.raises(TaskError, match="expected the same robot, motions and policy"):
        collect(plan, tmp_path / "other", workers=InProcess())


def test_truth_is_written_only_when_asked_for(made: Collection, tmp_path: Path):
    """One file a unit, where the user says, and no figure of it in the collection."""
    assert "effects" not in (made.path / "collection.json").read_text()
    collect(CollectionPlan(**PLAN), made.path, truth=tmp_path / "truth.json")
    written = sorted(p.name for p in tmp_path.iterdir())
    assert written == [f"truth_unit{unit}.json" for unit in (1, 2, 3)]
    assert json.loads((tmp_path / "truth_unit3.json").read_text())["unit"] == 3
