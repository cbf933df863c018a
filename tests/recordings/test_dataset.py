"""Datasets: what is stored comes back, views and splits keep their promises."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gapless.errors import ArtifactError, DataError, NameMismatchError
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset, DatasetWriter
from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS, Recording
from gapless.recordings.store import lerobot
from gapless.recordings.store import writer as store
from gapless.robots.payload import Payload


def make(name="walk", frames=20, joints=3, rate=50.0, seed=0, target=True, channels=(), unit=None):
    """A random recording with one masked sample."""
    rng = np.random.default_rng(seed)
    mask = np.ones((frames, joints), bool)
    mask[-1:, 0] = False
    widths = dict.fromkeys(JOINT_CHANNELS, joints) | {
        c: w or 2 for c, (w, _) in BODY_CHANNELS.items()
    }
    return Recording(
        name=name,
        joints=tuple(f"joint_{i}" for i in range(joints)),
        rate=rate,
        q=rng.normal(size=(frames, joints)),
        target=rng.normal(size=(frames, joints)) if target else None,
        mask=mask,
        channels={c: rng.normal(size=(frames, widths[c])) for c in channels},
        conditions=Conditions(unit=unit),
        provenance={"source": f"{name}.csv"},
    )


def assert_same(stored: Recording, original: Recording) -> None:
    """Equal to the precision of float32, with the same names, mask and facts."""
    arrays = {"q": original.q, "target": original.target} | original.channels
    found = {"q": stored.q, "target": stored.target} | stored.channels
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        if array is None:
            assert found[key] is None
        else:
            np.testing.assert_array_equal(found[key], np.float32(array), err_msg=key)
    np.testing.assert_array_equal(stored.mask, original.mask)
    for fact in ("name", "joints", "rate", "conditions", "provenance"):
        assert getattr(stored, fact) == getattr(original, fact)


def write(path: Path, clips: list[Recording], **options) -> Dataset:
    """Write recordings one at a time and open the result."""
    with DatasetWriter(path, "bot", clips[0].joints, clips[0].rate, **options) as writer:
        for clip in clips:
            writer.append(clip)
    return Dataset.open(path)


def test_every_channel_comes_back(tmp_path: Path):
    """All channels, conditions and provenance survive the disk."""
    clip = make(channels=(*JOINT_CHANNELS, *BODY_CHANNELS))
    facts = Conditions("unit 7", "fixed", {"hand": Payload(1.5, (0, 0, 0.1)), "belt": Payload(2)})
    clip = Recording(**{**vars(clip), "conditions": facts})
    data = write(tmp_path / "out", [clip], provenance={"format": "csv"})
    assert_same(data[0], clip)
    assert (data.robot, data.joints, data.rate) == ("bot", clip.joints, 50.0)
    assert data.provenance["format"] == "csv"
    assert data.provenance["software"]["numpy"] == np.__version__


def test_masks_outlive_the_facts(tmp_path: Path):
    """A copy by a tool that drops meta/gapless.json still knows which samples may be used."""
    clip = make()
    write(tmp_path / "out", [clip])
    (tmp_path / "out/meta/gapless.json").unlink()
    np.testing.assert_array_equal(Dataset.open(tmp_path / "out")[0].mask, clip.mask)


def test_union_of_channels(tmp_path: Path):
    """Recordings with different channels share a dataset, and each gets back only its own."""
    clips = [
        make("a", 9, channels=["dq"]),
        make("b", 5, target=False),
        make("c", 7, channels=["torque", "base_quat_wxyz", "contact"]),
    ]
    data = write(tmp_path / "out", clips)
    for stored, original in zip(data, clips, strict=True):
        assert_same(stored, original)


def test_numpy_values_in_facts_become_plain(tmp_path: Path):
    """Provenance may hold NumPy numbers, NaN included; they come back as Python ones."""
    clip = Recording(
        **{**vars(make()), "provenance": {"n": np.int64(3), "x": np.array([0, np.nan])}}
    )
    assert write(tmp_path / "out", [clip])[0].provenance == {"n": 3, "x": [0, None]}


def test_episodes_are_known_without_samples(tmp_path: Path):
    """Names, lengths and mask counts are read without touching a data file."""
    data = write(tmp_path / "out", [make("a", 10, unit="u1"), make("b", 5)])
    shutil.rmtree(tmp_path / "out/data")
    assert [(e.name, e.frames, e.masked, e.conditions.unit) for e in data.episodes] == [
        ("a", 10, 1, "u1"),
        ("b", 5, 1, None),
    ]
    assert data.seconds == pytest.approx((9 + 4) / 50)
    assert "2 recordings" in repr(data)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    joints=st.integers(1, 5),
    frames=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    channels=st.sets(st.sampled_from([*JOINT_CHANNELS, *BODY_CHANNELS])),
    target=st.booleans(),
    rate=st.integers(1, 1000),
)
def test_any_shape_comes_back(tmp_path: Path, joints, frames, channels, target, rate):
    """One joint or many, one frame or many, any channels: memory and disk agree."""
    clips = [
        make(f"m{i}", n, joints, rate, i, target, sorted(channels)) for i, n in enumerate(frames)
    ]
    Dataset.from_recordings(clips, "bot").save(tmp_path / "out", overwrite=True)
    for stored, original in zip(Dataset.open(tmp_path / "out"), clips, strict=True):
        assert_same(stored, original)


def test_shards_and_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files are closed at the size limit, and an episode never shares a row group."""
    monkeypatch.setattr(lerobot, "FILE_MEGABYTES", 0.01)
    clips = [make(f"m{i}", 100, seed=i) for i in range(7)]
    data = write(tmp_path / "out", clips)
    files = sorted((tmp_path / "out/data/chunk-000").iterdir())
    assert len(files) > 2
    groups = [pq.ParquetFile(f).metadata.row_group(0).num_rows for f in files]
    assert set(groups) == {100}
    for i in (6, 0, 3, -1):
        assert_same(data[i], clips[i])


def test_more_episodes_than_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The episode table is written in batches, and none is lost between them."""
    monkeypatch.setattr(store, "EPISODES_PER_GROUP", 3)
    data = write(tmp_path / "out", [make(f"m{i}", 2) for i in range(10)])
    assert [episode.name for episode in data.episodes] == [f"m{i}" for i in range(10)]


def test_same_input_gives_the_same_bytes(tmp_path: Path):
    """Two writes of the same recordings are identical, file by file."""
    clips = [make("a", channels=["dq"]), make("b")]
    for name in ("one", "two"):
        write(tmp_path / name, clips)
    for path in (tmp_path / "one").rglob("*"):
        if path.is_file():
            twin = tmp_path / "two" / path.relative_to(tmp_path / "one")
            assert path.read_bytes() == twin.read_bytes(), path.name


def test_writer_exception_leaves_nothing(tmp_path: Path):
    """A failure between two recordings leaves no folder behind."""
    with (
        pytest.raises(RuntimeError),
        DatasetWriter(tmp_path / "out", "bot", make().joints, 50) as writer,
    ):
        writer.append(make())
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_no_recordings_is_an_error(tmp_path: Path):
    """An empty dataset is refused and not written."""
    empty = DatasetWriter(tmp_path / "out", "bot", ["a"], 50)
    with pytest.raises(DataError, match="no recordings were added"), empty:
        pass
    with pytest.raises(DataError, match="at least one recording"):
        Dataset.from_recordings([])
    assert os.listdir(tmp_path) == []


def test_overwrite(tmp_path: Path):
    """An existing dataset is refused, kept when the new one fails, and replaced when told to."""
    write(tmp_path / "out", [make("old")])
    with pytest.raises(ArtifactError, match="already exists"):
        write(tmp_path / "out", [make("new")])
    with pytest.raises(DataError):
        write(tmp_path / "out", [make("new"), make(frames=0)], overwrite=True)
    assert Dataset.open(tmp_path / "out").motions == ("old",)
    assert write(tmp_path / "out", [make("new")], overwrite=True).motions == ("new",)


@pytest.mark.parametrize(
    ("clip", "message"),
    [
        (make(rate=100.0), "its rate is 100 Hz, the dataset's 50 Hz"),
        (make(joints=2), r"missing \['joint_2'\], extra \[\]"),
        (
            Recording(**{**vars(make()), "joints": ("joint_1", "joint_0", "joint_2")}),
            "another order",
        ),
        (make(channels=["contact"]), "contact has 2 columns, earlier recordings have 4"),
        (Recording(**{**vars(make()), "q": np.full((20, 3), 1e39)}), "reaches 1e[+]39"),
        (
            Recording(**{**vars(make()), "conditions": Conditions(extra={"x": float("nan")})}),
            "plain JSON values",
        ),
    ],
)
def test_recordings_that_do_not_fit_are_refused(tmp_path: Path, clip, message):
    """A recording with other joints, rate or columns is refused with both values."""
    first = make()
    first.channels["contact"] = np.zeros((20, 4))
    with (
        pytest.raises(DataError, match=message),
        DatasetWriter(tmp_path / "out", "bot", first.joints, 50) as writer,
    ):
        writer.append(first)
        writer.append(clip)
    assert os.listdir(tmp_path) == []


def test_a_refused_recording_leaves_no_trace(tmp_path: Path):
    """A caller may go on after a refusal: the refused one's channels are not in the dataset."""
    bad = Recording(**{**vars(make(channels=["torque"])), "q": np.full((20, 3), 1e39)})
    with DatasetWriter(tmp_path / "out", "bot", bad.joints, 50) as writer:
        writer.append(make())
        with pytest.raises(DataError):
            writer.append(bad)
    names = pq.read_schema(tmp_path / "out/data/chunk-000/file-000.parquet").names
    assert "observation.effort" not in names
    assert len(Dataset.open(tmp_path / "out")) == 1


def test_rate_must_be_whole(tmp_path: Path):
    """LeRobot counts whole frames per second; anything else is refused with what to type."""
    with pytest.raises(DataError, match=r"not 33\.3; resample, for example with --rate 33"):
        DatasetWriter(tmp_path / "out", "bot", ["a"], 33.3)


def test_memory_and_disk_have_one_interface(tmp_path: Path):
    """A dataset in memory equals its saved copy."""
    memory = Dataset.from_recordings([make("a"), make("b")], "bot")
    memory.save(tmp_path / "out")
    disk = Dataset.open(tmp_path / "out")
    assert memory.episodes == disk.episodes
    assert (memory.robot, memory.joints, memory.rate) == (disk.robot, disk.joints, disk.rate)
    with pytest.raises(DataError, match="must be equal within a dataset"):
        Dataset.from_recordings([make(), make(joints=2)])


def test_select(tmp_path: Path):
    """A view keeps order and positions, and a view of a view works."""
    data = write(tmp_path / "out", [make(name) for name in "abca"])
    view = data.select(lambda episode: episode.name != "b")
    assert [clip.name for clip in view] == ["a", "c", "a"]
    assert view.select([2, 0]).episodes == (data.episodes[3], data.episodes[0])
    with pytest.raises(DataError, match="recording 3 does not exist; this dataset has 0 to 2"):
        view.select([3])
    with pytest.raises(IndexError):
        view[3]


@given(
    names=st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=20).filter(
        lambda names: len(set(names)) > 1
    ),
    test=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
    by=st.sampled_from(["motion", "unit"]),
)
@settings(deadline=None)
def test_case_38_a_split_never_leaks(names, test, seed, by):
    """No motion (or unit) is learned from and tested on, nothing is lost, and the seed decides."""
    clips = [make("m" if by == "unit" else n, 20, 1, seed=i, unit=n) for i, n in enumerate(names)]
    data = Dataset.from_recordings(clips)
    split = data.split(by=by, test=test, seed=seed)
    parts = (split.learn, split.choose, split.test)
    learn, choose, tested = ({r.conditions.unit for r in part} for part in parts)
    assert learn and tested and not (learn | choose) & tested
    named = [{r.name for r in part} for part in parts]
    assert not named[0] & named[1]
    assert sum(len(r) for part in parts for r in part) == sum(map(len, clips))
    assert data.split(by=by, test=test, seed=seed).motions == split.motions


def test_case_38_what_cannot_be_split_is_refused():
    """One unit, a wrong word or share: each is refused with a reason; one motion is cut in time."""
    data = Dataset.from_recordings([make("a", unit="u1"), make("a", unit="u1")])
    assert "one motion only (a)" in data.split().notes[0]
    with pytest.raises(DataError, match=r"one motion or unit only \(u1\)"):
        data.split(by="unit")
    with pytest.raises(DataError, match=r"a share of the motions is 1\.5"):
        data.split(test=1.5)
    with pytest.raises(DataError, match=r"a share of the motions is -0\.1"):
        data.split(choose=-0.1)
    with pytest.raises(NameMismatchError, match="Did you mean 'motion'"):
        data.split(by="motions")  # type: ignore[arg-type]
