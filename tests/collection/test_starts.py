"""Starts of sequences: at rest, or standing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.collection import Collection, CollectionPlan, card, collect
from gapless.collection.plan_worlds import replica_world
from gapless.collection.repertoire import repertoire
from gapless.collection.starts import Starts
from gapless.errors import ArtifactError, DataError, FormatError, SimulationError
from gapless.motions.levels import level_motions
from gapless.recordings import Dataset
from gapless.robots import Robot

FEW = {"rates": (50,), "units": (1,), "seconds": 1.5}


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than these small plans."""
    monkeypatch.setattr(card, "draw", lambda *_: None)


@pytest.mark.parametrize("name", ["g1", "so101"])
def test_a_sequence_starts_at_rest(name: str) -> None:
    """Holding the first target, the nominal robot hardly moves for a second."""
    plan = CollectionPlan(robot=name, mount="fixed", levels=("per_joint",), **FEW)
    chosen = repertoire(plan)
    world, targets = replica_world(plan, chosen.robot, 50), chosen.targets(50)
    batch = plan.sequences("fit", 50, chosen.names)
    start = Starts(plan, world).of(batch, targets)
    held = np.repeat(targets[batch[0].motion][:1], 50, axis=0)[None]
    moved = world.rollout(start, held, history=held[:, :1]).q - start.q[:, None]
    assert np.abs(moved).max() < 0.02


def test_a_free_robot_is_recorded_standing(tmp_path: Path) -> None:
    """The regulator commands, the replica plays that; a motion it cannot stand is named."""
    plan = CollectionPlan(robot="go2", mount="free", motions=("stand",), **FEW)
    clip = collect(plan, tmp_path / "out").dataset()[0]
    assert clip.channels["base_pos"][:, 2].min() > 0.2
    assert "sim_base_pos" in clip.channels
    assert clip.channels["torque"].shape == clip.q.shape
    deep = replace(plan, robot="g1", motions=(), levels=("whole_body",), seed=2)
    with pytest.raises(SimulationError, match=r"stiff g1 .* whole_body_0000"):
        collect(deep, tmp_path / "falls")


def test_a_free_robot_is_the_same_after_a_restart(tmp_path: Path) -> None:
    """Feedback and its noise depend on the sequence only."""
    plan = CollectionPlan(robot="go2", mount="free", motions=("stand",), **FEW)
    clips = [collect(plan, tmp_path / name).dataset()[0] for name in ("a", "b")]
    assert np.array_equal(clips[0].q, clips[1].q)


def test_two_motions_of_one_name_are_refused(tmp_path: Path, so101: Robot) -> None:
    """A file may not hide behind a drawn motion."""
    drawn = level_motions(so101, "per_joint", 1, 1.5, 50.0, seed=5)[0]
    drawn.save(tmp_path / "own.npz")
    plan = CollectionPlan(
        robot="so101",
        mount="fixed",
        motions=(str(tmp_path / "own.npz"),),
        levels=("per_joint",),
        **FEW,
    )
    with pytest.raises(DataError, match="two motions are named"):
        repertoire(plan)


def test_motions_of_the_catalogue_are_checked_with_the_load() -> None:
    """What `gapless motion` would refuse is not collected."""
    plan = CollectionPlan(
        robot="g1", mount="fixed", motions=("fourier",), **(FEW | {"seconds": 8.0})
    )
    with pytest.raises(DataError, match=r"fourier_0000.*leaves the limits"):
        repertoire(plan)


def test_a_finished_collection_that_lost_a_dataset_is_refused(tmp_path: Path) -> None:
    """It is not called finished; and a collection is not taken for a dataset."""
    plan = CollectionPlan(robot="so101", mount="fixed", levels=("per_joint",), **FEW)
    made = collect(plan, tmp_path / "out")
    with pytest.raises(FormatError, match=r"name one of them: .*fit/50hz"):
        Dataset.open(made.path)
    (made.path / "fit").rename(tmp_path / "elsewhere")
    with pytest.raises(ArtifactError, match="fit/50hz is missing"):
        collect(plan, tmp_path / "out")
    assert Collection.open(made.path).figures.keys() == {"robot_figures", "motion_samples"}
