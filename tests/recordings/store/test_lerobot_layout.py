"""A gapless dataset is a LeRobot v3.0 dataset, judged without the code that wrote it.

The expectations are those of the LeRobotDataset v3.0 documentation and of what lerobot 0.6.1
itself writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gapless.recordings.dataset import Dataset
from gapless.recordings.recording import Recording

JOINTS = ("hip", "knee", "ankle")
FRAMES = (30, 12, 20)
RATE = 50
STATS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")


@pytest.fixture(scope="module")
def clips() -> list[Recording]:
    """Three episodes of two motions: with velocity, without target, with a base orientation."""
    rng = np.random.default_rng(0)
    extra = [{"dq": 3}, {}, {"base_quat_wxyz": 4, "torque": 3}]
    return [
        Recording(
            name=("walk", "wave", "walk")[i],
            joints=JOINTS,
            rate=RATE,
            q=rng.normal(size=(n, 3)).astype(np.float32),
            target=None if i == 1 else rng.normal(size=(n, 3)).astype(np.float32),
            mask=rng.random((n, 3)) > 0.1,
            channels={c: rng.normal(size=(n, w)) for c, w in extra[i].items()},
        )
        for i, n in enumerate(FRAMES)
    ]


@pytest.fixture(scope="module")
def root(clips: list[Recording], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recordings as a dataset folder."""
    path = tmp_path_factory.mktemp("lerobot") / "data"
    Dataset.from_recordings(clips, "biped").save(path)
    return path


def test_files(root: Path):
    """Exactly the documented files are there, one of facts, and one hidden marker."""
    files = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    assert files == {
        "meta/info.json",
        "meta/gapless.json",
        "meta/stats.json",
        "meta/tasks.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "data/chunk-000/file-000.parquet",
        ".gapless.json",
    }


def test_info(root: Path):
    """info.json has every documented key, with the documented types."""
    info = json.loads((root / "meta/info.json").read_text())
    features = info.pop("features")
    assert info == {
        "codebase_version": "v3.0",
        "robot_type": "biped",
        "total_episodes": 3,
        "total_frames": sum(FRAMES),
        "total_tasks": 2,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": RATE,
        "splits": {"train": "0:3"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": None,
    }
    assert type(info["fps"]) is int
    per_joint = {"dtype": "float32", "shape": [3], "names": list(JOINTS)}
    assert features == {
        "observation.state": per_joint,
        "action": per_joint,
        "observation.valid": per_joint | {"dtype": "bool"},
        "observation.velocity": per_joint,
        "observation.effort": per_joint,
        "observation.base_quat_wxyz": {
            "dtype": "float32",
            "shape": [4],
            "names": ["w", "x", "y", "z"],
        },
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
        **{
            key: {"dtype": "int64", "shape": [1], "names": None}
            for key in ("frame_index", "episode_index", "index", "task_index")
        },
    }


def test_facts(root: Path):
    """What LeRobot has no place for is in a file of its own."""
    facts = json.loads((root / "meta/gapless.json").read_text())
    assert (facts["robot"], facts["rate"], facts["joints"]) == ("biped", RATE, list(JOINTS))
    assert facts["units"]["observation.effort"] == "N·m"


def test_data_columns(root: Path, clips: list[Recording]):
    """Types, indices, clock and values of the data file."""
    table = pq.read_table(root / "data/chunk-000/file-000.parquet")
    vector, quaternion = pa.list_(pa.float32(), 3), pa.list_(pa.float32(), 4)
    types = {field.name: field.type for field in table.schema}
    assert types == {
        "observation.state": vector,
        "action": vector,
        "observation.valid": pa.list_(pa.bool_(), 3),
        "observation.velocity": vector,
        "observation.effort": vector,
        "observation.base_quat_wxyz": quaternion,
        "timestamp": pa.float32(),
        "frame_index": pa.int64(),
        "episode_index": pa.int64(),
        "index": pa.int64(),
        "task_index": pa.int64(),
    }
    frame = table.to_pandas()
    assert frame["index"].tolist() == list(range(sum(FRAMES)))
    assert frame["episode_index"].tolist() == list(np.repeat([0, 1, 2], FRAMES))
    assert frame["frame_index"].tolist() == [t for n in FRAMES for t in range(n)]
    assert frame["task_index"].tolist() == list(np.repeat([0, 1, 0], FRAMES))
    np.testing.assert_allclose(frame["timestamp"], frame["frame_index"] / RATE, atol=1e-6)
    np.testing.assert_array_equal(
        np.stack(frame["observation.state"].tolist()), np.concatenate([clip.q for clip in clips])
    )
    assert np.isnan(np.stack(frame["action"][frame["episode_index"] == 1].tolist())).all()
    assert table.num_rows == sum(FRAMES)


def test_one_row_group_an_episode(root: Path):
    """Episodes start row groups, so that one can be read alone."""
    metadata = pq.read_metadata(root / "data/chunk-000/file-000.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == list(FRAMES)


def test_tasks(root: Path):
    """tasks.parquet is a pandas frame indexed by the task, the way LeRobot looks tasks up."""
    pandas = pytest.importorskip("pandas")
    tasks = pandas.read_parquet(root / "meta/tasks.parquet")
    assert tasks.index.name == "task"
    assert tasks.columns.tolist() == ["task_index"]
    assert tasks.index.tolist() == ["walk", "wave"]
    assert tasks.iloc[1].name == "wave"
    assert tasks.loc["wave"].task_index == 1


def test_episodes(root: Path):
    """meta/episodes has the documented columns and types, and adjoining sample ranges."""
    table = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet")
    integers = {
        "episode_index": [0, 1, 2],
        "length": list(FRAMES),
        "data/chunk_index": [0, 0, 0],
        "data/file_index": [0, 0, 0],
        "dataset_from_index": [0, 30, 42],
        "dataset_to_index": [30, 42, 62],
        "meta/episodes/chunk_index": [0, 0, 0],
        "meta/episodes/file_index": [0, 0, 0],
    }
    for name, expected in integers.items():
        assert table.schema.field(name).type == pa.int64(), name
        assert table[name].to_pylist() == expected, name
    assert table.schema.field("tasks").type == pa.list_(pa.string())
    assert table["tasks"].to_pylist() == [["walk"], ["wave"], ["walk"]]
    features = json.loads((root / "meta/info.json").read_text())["features"]
    for key, feature in features.items():
        for stat in STATS:
            column = table[f"stats/{key}/{stat}"]
            assert column.type == pa.list_(pa.int64() if stat == "count" else pa.float64())
            width = 1 if stat == "count" else feature["shape"][0]
            assert all(len(value) == width for value in column.to_pylist())


def test_stats(root: Path, clips: list[Recording]):
    """stats.json holds the statistics of all samples, and valid JSON only."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    stats = json.loads((root / "meta/stats.json").read_text(), parse_constant=refuse)
    q = np.concatenate([clip.q for clip in clips]).astype(float)
    found = stats["observation.state"]
    assert set(found) == set(STATS)
    for name in ("min", "max", "mean", "std"):
        np.testing.assert_allclose(found[name], getattr(q, name)(axis=0), rtol=1e-9, atol=1e-12)
    assert found["count"] == [62]
    assert stats["action"]["count"] == [50]
    commanded = np.concatenate([clips[0].target, clips[2].target]).astype(float)  # type: ignore[list-item]
    np.testing.assert_allclose(stats["action"]["mean"], commanded.mean(axis=0), rtol=1e-9)
    assert all(a <= b for a, b in zip(found["q10"], found["q90"], strict=True))


def test_lerobot_opens_it(root: Path, clips: list[Recording]):
    """LeRobot's own reader gives the same samples, clock, task and neighbours in time."""
    module = pytest.importorskip(
        "lerobot.datasets.lerobot_dataset", reason="lerobot is not installed", exc_type=ImportError
    )
    data = module.LeRobotDataset("local/test", root=root)
    assert (len(data), data.num_episodes, data.fps) == (62, 3, RATE)
    for row, (episode, frame) in {0: (0, 0), 41: (1, 11), 42: (2, 0), 61: (2, 19)}.items():
        item = data[row]
        np.testing.assert_array_equal(item["observation.state"], clips[episode].q[frame])
        np.testing.assert_array_equal(item["observation.valid"], clips[episode].mask[frame])
        assert item["timestamp"].item() == pytest.approx(frame / RATE, abs=1e-6)
        assert item["task"] == clips[episode].name
    deltas = {"action": [0.0, 1 / RATE]}
    pair = module.LeRobotDataset("local/test", root=root, episodes=[2], delta_timestamps=deltas)[3]
    np.testing.assert_array_equal(pair["action"], clips[2].target[3:5])  # type: ignore[index]
