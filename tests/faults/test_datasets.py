"""Faults of dataset folders: cases 7, 20, 24 and 44, and hostile or damaged metadata."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gapless.errors import DataError, FormatError
from gapless.recordings.dataset import Dataset, DatasetWriter
from gapless.recordings.recording import Recording

SHARD = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"


def make(name: str = "walk", frames: int = 50, joints: int = 3) -> Recording:
    """A recording of noise."""
    rng = np.random.default_rng(0)
    q, target = rng.normal(size=(2, frames, joints))
    names = tuple(f"joint_{i}" for i in range(joints))
    return Recording(name, names, 50.0, q, target, np.ones((frames, joints), bool))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A sound dataset of two recordings."""
    Dataset.from_recordings([make("a"), make("b")], "bot").save(tmp_path / "data")
    return tmp_path / "data"


def edit_info(root: Path, **changes: object) -> None:
    """Change top-level entries of info.json."""
    path = root / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_table(path: Path, **columns: list) -> None:
    """Replace columns of a parquet file; None deletes one."""
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.drop_columns(name)
        table = table if values is None else table.append_column(name, pa.array(values))
    pq.write_table(table, path)


def foreign(root: Path, names: object, scale: float = 1.0, width: int = 3) -> Path:
    """A minimal LeRobot dataset as another tool writes it: variable lists, one row group."""
    rows, fps = 20, 30
    values = (np.arange(rows * 3).reshape(rows, 3) / 60 * scale).tolist()
    index = {"frame_index": [*range(10)] * 2, "episode_index": [0] * 10 + [1] * 10}
    index |= {"index": [*range(rows)], "task_index": [0] * rows}
    clock = pa.array([t / fps for t in index["frame_index"]], pa.float32())
    data = {"observation.state": values, "action": values, "timestamp": clock, **index}
    features = {k: {"dtype": "int64", "shape": [1], "names": None} for k in index}
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    for key in ("observation.state", "action"):
        features[key] = {"dtype": "float32", "shape": [3], "names": names}
    features["action"] = features["action"] | {"shape": [width]}
    features["observation.image"] = {"dtype": "video", "shape": [9, 9, 3], "names": None}
    episodes = {
        "episode_index": [0, 1],
        "tasks": [["pick"], ["place"]],
        "length": [10, 10],
        "data/chunk_index": [0, 0],
        "data/file_index": [0, 0],
        "dataset_from_index": [0, 10],
        "dataset_to_index": [10, 20],
    }
    for name, columns in ((SHARD, data), (EPISODES, episodes)):
        (root / name).parent.mkdir(parents=True)
        pq.write_table(pa.table(columns), root / name)
    totals = {"total_episodes": 2, "total_frames": rows}
    info = {"codebase_version": "v3.0", "fps": fps, "features": features, **totals}
    (root / "meta/info.json").write_text(json.dumps(info))
    return root


def test_case_07_truncated_parquet(root: Path):
    """Data and episode files cut short are both named, with their sizes and a hint."""
    for name in (SHARD, EPISODES):
        content = (root / name).read_bytes()
        (root / name).write_bytes(content[: len(content) // 2])
        size = len(content) // 2
        with pytest.raises(FormatError, match=rf"{name} \({size} bytes\) is cut short.*copy it"):
            Dataset.open(root)
        (root / name).write_bytes(content)
    assert len(Dataset.open(root)) == 2


def test_want_of_memory_is_no_fault_of_a_file(root: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody is told to copy a sound file again."""
    found = Dataset.open(root)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("Failed to launch worker thread: Resource temporarily unavailable")

    for name in ("read", "read_row_groups"):
        monkeypatch.setattr(pq.ParquetFile, name, refuse)
    with pytest.raises(OSError, match="launch worker thread"):
        Dataset.open(root)
    with pytest.raises(OSError, match="launch worker thread"):
        found[0]


def test_case_07_flipped_bit(root: Path):
    """A flipped bit inside the samples is caught by the page checksum, not returned as data."""
    content = bytearray((root / SHARD).read_bytes())
    column = pq.read_metadata(root / SHARD).row_group(1).column(0)
    content[column.data_page_offset + column.total_compressed_size - 40] ^= 0x10
    (root / SHARD).write_bytes(content)
    data = Dataset.open(root)
    assert data[0].name == "a"
    with pytest.raises(FormatError, match=r"file-000\.parquet \(\d+ bytes\) is damaged"):
        data[1]


def test_case_20_memory_is_bounded(tmp_path: Path):
    """Writing and reading hold one recording at a time, however many there are."""
    clip = make(frames=20_000, joints=10)
    size = clip.q.nbytes * 2 + clip.mask.nbytes
    pool = pa.default_memory_pool()
    # What the first use loads (modules, buffers) is no part of what a dataset needs.
    Dataset.from_recordings([clip], "bot").save(tmp_path / "first")
    assert len(Dataset.open(tmp_path / "first")[0]) == len(clip)
    tracemalloc.start()
    before = pool.bytes_allocated()
    with DatasetWriter(tmp_path / "out", "bot", clip.joints, 50) as writer:
        for _ in range(20):
            writer.append(clip)
    frames = 0
    for stored in Dataset.open(tmp_path / "out"):
        frames += len(stored)
        assert pool.bytes_allocated() - before < 4 * size
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert frames == 20 * 20_000
    assert peak < 6 * size


def test_case_20_only_the_row_group_of_the_episode_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    """Asking for one recording reads its row group and no other."""
    read: list[int] = []
    original = pq.ParquetFile.read_row_groups

    def spy(self: pq.ParquetFile, groups: list[int], *args: object, **options: object) -> pa.Table:
        read.extend(groups)
        return original(self, groups, *args, **options)

    data = Dataset.open(root)
    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", spy)
    assert data[1].name == "b"
    assert read == [1]


def test_case_24_all_problems_at_once(root: Path):
    """A missing shard, a wrong version and a wrong fps are told in one error."""
    (root / SHARD).unlink()
    edit_info(root, codebase_version="v2.1", fps=30)
    with pytest.raises(FormatError) as caught:
        Dataset.open(root)
    message = str(caught.value)
    assert f"{SHARD} is missing (100 frames)" in message
    assert "codebase_version is 'v2.1', expected 'v3.0'" in message
    assert "convert_dataset_v21_to_v30" in message
    assert "fps is 30, but the recordings were stored at 50 Hz" in message
    assert message.count("\n  - ") == 3


def test_case_24_fps_against_the_clock(tmp_path: Path):
    """A wrong fps is seen from the timestamps where nothing else tells."""
    root = foreign(tmp_path / "x", ["a", "b", "c"])
    edit_info(root, fps=60)
    with pytest.raises(FormatError, match=r"frame 1 is at 0\.0333\d* s, fps 60 says 0\.0166"):
        Dataset.open(root)


def test_case_24_columns(root: Path):
    """Columns missing from a data file or the episode table are named."""
    edit_table(root / SHARD, action=None)
    edit_table(root / EPISODES, length=None, dataset_to_index=["x", "y"])
    with pytest.raises(FormatError, match=r"lacks usable columns \['length', 'dataset_to_index'\]"):
        Dataset.open(root)
    Dataset.from_recordings([make()]).save(root, overwrite=True)
    edit_table(root / SHARD, action=None)
    with pytest.raises(FormatError, match=r"file-000.parquet lacks columns \['action'\]"):
        Dataset.open(root)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"length": [50, 60]}, "episode 1 has length 60, but samples 50 to 100"),
        ({"episode_index": [0, 0]}, "episode 0 is listed twice"),
        ({"dataset_to_index": [50, 90], "length": [50, 40]}, "has 100 frames, expected 90"),
        ({"gapless": ["{", "{}"]}, "facts of episode 0 are damaged"),
        ({"length": [-1, 50]}, r"lacks usable columns \['length'\]"),
        ({"data/file_index": [0, 1]}, r"data/chunk-000/file-001.parquet is missing"),
    ],
)
def test_case_24_tables_that_disagree(root: Path, columns: dict, message: str):
    """An episode table that contradicts itself or the data is refused on opening."""
    edit_table(root / EPISODES, **columns)
    with pytest.raises(FormatError, match=message):
        Dataset.open(root)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": []}, "no table of features"),
        ({"features": {"action": 3}}, "no table of features"),
        ({"features": {}}, "feature 'observation.state' is missing; it has none"),
        ({"fps": "fast"}, "fps is 'fast', expected a positive number"),
        ({"total_episodes": 7}, "lists 2 episodes, meta/info.json says 7"),
        ({"total_frames": 7}, "have 100 frames, meta/info.json says 7"),
        ({"data_path": "../../{chunk_index:099999999d}"}, "data_path is"),
    ],
)
def test_case_24_damaged_info(root: Path, changes: dict, message: str):
    """Wrong or hostile entries of info.json are named; paths in it are never followed."""
    edit_info(root, **changes)
    with pytest.raises(FormatError, match=message):
        Dataset.open(root)


def test_case_24_swapped_rows(root: Path):
    """Rows that belong to another episode are not returned as this one."""
    table = pq.read_table(root / SHARD)
    pq.write_table(pa.concat_tables([table.slice(50), table.slice(0, 50)]), root / SHARD)
    with pytest.raises(FormatError, match=r"episode 0: its rows carry episode_index \[1\]"):
        Dataset.open(root)[0]


def test_no_dataset_says_what_is_there(tmp_path: Path):
    """A folder of logs, a file or nothing: the error says so and suggests the import."""
    (tmp_path / "run.csv").write_text("t,q\n")
    for path, found in (
        (tmp_path, "1 .csv"),
        (tmp_path / "run.csv", "a file"),
        ("no", "not exist"),
    ):
        with pytest.raises(FormatError, match=rf"{found}.*gapless import <format>"):
            Dataset.open(path)


def test_foreign_dataset_opens(tmp_path: Path):
    """A LeRobot dataset of another tool opens: joints by name, every sample usable."""
    data = Dataset.open(foreign(tmp_path / "x", {"motors": ["a.pos", "b.pos", "c.pos"]}))
    assert data.joints == ("a", "b", "c")
    assert [clip.name for clip in data] == ["pick", "place"]
    np.testing.assert_allclose(data[1].q[0], [0.5, 31 / 60, 32 / 60])
    assert data[1].mask.all()
    data.save(tmp_path / "copy")
    np.testing.assert_array_equal(Dataset.open(tmp_path / "copy")[1].q, np.float32(data[1].q))


def test_foreign_dataset_without_names_or_radians(tmp_path: Path):
    """Nameless joints, unequal shapes and degrees are refused, not guessed."""
    with pytest.raises(FormatError, match="expected 3 different joint names"):
        Dataset.open(foreign(tmp_path / "nameless", None))
    with pytest.raises(FormatError, match="must be the same joints"):
        Dataset.open(foreign(tmp_path / "shapes", ["a", "b", "c"], width=2))
    with pytest.raises(DataError, match=r"not in radians.*--angle-unit deg"):
        Dataset.open(foreign(tmp_path / "degrees", ["a", "b", "c"], scale=57.3))[1]


def test_case_44_full_disk_while_writing(tmp_path: Path):
    """When the system refuses to write on, the error says so and the old dataset stays."""
    Dataset.from_recordings([make("old")], "bot").save(tmp_path / "out")
    script = textwrap.dedent(
        f"""
        import resource, signal, sys
        import numpy as np
        from gapless.errors import ArtifactError
        from gapless.recordings.dataset import Dataset
        from gapless.recordings.recording import Recording
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        q = np.random.default_rng(0).normal(size=(9000, 3))
        clip = Recording("new", ("a", "b", "c"), 50, q, q, q > -9)
        try:
            Dataset.from_recordings([clip]).save({str(tmp_path / "out")!r}, overwrite=True)
        except ArtifactError as error:
            sys.exit("what was there is intact" not in str(error))
        sys.exit(2)
        """
    )
    assert hasattr(resource, "RLIMIT_FSIZE") and hasattr(signal, "SIGXFSZ")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert os.listdir(tmp_path) == ["out"]
    assert Dataset.open(tmp_path / "out").motions == ("old",)
