"""Datasets written in parts: what was whole survives, and the result does not depend on kills."""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from gapless.errors import ArtifactError, DataError
from gapless.recordings import Conditions, Dataset, Recording
from gapless.recordings.store import parts as store
from gapless.recordings.store.part_files import is_finished, read_notes
from gapless.recordings.store.parts import PartsWriter

JOINTS = ("a", "b", "c")
PLAN = {"motion": "sines", "seed": 0}


def make(i: int, frames: int = 40, **channels: int) -> Recording:
    """A recording that depends only on its number."""
    rng = np.random.default_rng(i)
    widths = {"dq": 3, "sim_q": 3, "sim_base_quat_wxyz": 4} | channels
    q = rng.normal(size=(frames + i, 3))
    return Recording(
        name=f"motion_{i % 3}",
        joints=JOINTS,
        rate=50,
        q=q,
        target=rng.normal(size=q.shape),
        mask=rng.random(q.shape) > 0.05,
        channels={c: rng.normal(size=(len(q), w)) for c, w in widths.items()},
        conditions=Conditions(unit=str(i)),
    )


def part(n: int) -> list[Recording]:
    """Three recordings; every part differs."""
    return [make(i) for i in range(3 * n, 3 * n + 3)]


def writer(path: Path, plan: dict | None = None) -> PartsWriter:
    """A writer of the test's dataset."""
    return PartsWriter(path, "bot", JOINTS, 50, plan or PLAN)


def write_all(path: Path, parts: int = 4) -> None:
    """Write what is not there yet, and publish."""
    with writer(path) as out:
        for n in range(out.parts_done, parts):
            out.write(part(n), notes=[{"part": n}])
        out.finish()


def content(root: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_reads_back_as_a_dataset(tmp_path: Path):
    """Samples, conditions and the replica's channels come back; the files are LeRobot's."""
    write_all(tmp_path / "set")
    data = Dataset.open(tmp_path / "set")
    assert len(data) == 12 and data.motions == ("motion_0", "motion_1", "motion_2")
    for i in (0, 5, 11):
        expected, found = make(i), data[i]
        assert found.name == expected.name and found.conditions == expected.conditions
        np.testing.assert_allclose(found.q, expected.q, atol=1e-6)
        np.testing.assert_array_equal(found.mask, expected.mask)
        for channel, values in expected.channels.items():
            np.testing.assert_allclose(found.channels[channel], values, atol=1e-6)
    names = {f"chunk-000/file-{n:03d}.parquet" for n in range(4)}
    expected_files = {f"data/{n}" for n in names} | {f"meta/episodes/{n}" for n in names}
    expected_files |= {f"meta/{n}.json" for n in ("info", "gapless", "stats", "parts")}
    assert set(content(tmp_path / "set")) == {
        *expected_files, "meta/tasks.parquet", ".gapless.json"
    }  # fmt: skip
    assert os.listdir(tmp_path) == ["set"]


def test_index_columns_run_through_all_parts(tmp_path: Path):
    """Frame and episode numbers do not restart with a part, as LeRobot's readers expect."""
    write_all(tmp_path / "set")
    frames = sum(40 + i for i in range(12))
    index, tasks = [], []
    for path in sorted((tmp_path / "set/data").rglob("*.parquet")):
        table = pq.read_table(path)
        index += table["index"].to_pylist()
        tasks += table["task_index"].unique().to_pylist()
    assert index == list(range(frames)) and tasks == [0, 1, 2] * 4
    rows = []
    for n, path in enumerate(sorted((tmp_path / "set/meta/episodes").rglob("*.parquet"))):
        table = pq.read_table(path)
        assert set(table["data/file_index"].to_pylist()) == {n}
        assert set(table["meta/episodes/file_index"].to_pylist()) == {n}
        rows += zip(*(table[f"dataset_{k}_index"].to_pylist() for k in ("from", "to")), strict=True)
    assert rows[0][0] == 0 and rows[-1][1] == frames
    assert all(a[1] == b[0] for a, b in itertools.pairwise(rows))


def test_statistics_are_those_of_all_samples(tmp_path: Path):
    """stats.json merges the parts to what one pass over all samples gives."""
    write_all(tmp_path / "set")
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())["observation.state"]
    q = np.concatenate([make(i).q for i in range(12)]).astype(np.float32).astype(float)
    for name in ("min", "max", "mean", "std"):
        np.testing.assert_allclose(stats[name], getattr(q, name)(axis=0), rtol=1e-9)
    assert stats["count"] == [len(q)]


def test_stopped_and_resumed_gives_the_same_bytes(tmp_path: Path):
    """Whole parts are kept, what was half written is deleted, nothing is lost or repeated."""
    write_all(tmp_path / "one")
    with pytest.raises(KeyboardInterrupt), writer(tmp_path / "two") as out:
        out.write(part(0), notes=[{"part": 0}])
        out.write(part(1), notes=[{"part": 1}])
        raise KeyboardInterrupt
    assert not (tmp_path / "two").exists()
    (tmp_path / ".two.partial/data/chunk-000/file-002.part").write_bytes(b"half a file")
    (tmp_path / ".two.partial/data/chunk-000/file-002.parquet").write_bytes(b"samples, no episodes")
    with writer(tmp_path / "two") as out:
        assert out.parts_done == 2 and out.notes == [{"part": 0}, {"part": 1}]
    write_all(tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert read_notes(tmp_path / "two") == [{"part": n} for n in range(4)]


def test_killed_while_finishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A kill before the rename publishes nothing; opening again only publishes."""
    write_all(tmp_path / "one")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store.artifact, "sync_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            write_all(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    write_all(tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_another_plan_is_not_continued(tmp_path: Path):
    """The error says what differs, and what to type."""
    with writer(tmp_path / "set") as out:
        out.write(part(0))
    with (
        pytest.raises(ArtifactError, match=r"seed was 0 and is now 1.*--restart"),
        writer(tmp_path / "set", PLAN | {"seed": 1}),
    ):
        pass


def test_finished_or_not(tmp_path: Path):
    """A published dataset of the plan is recognised; one of another plan is refused."""
    assert not is_finished(tmp_path / "set", PLAN)
    write_all(tmp_path / "set")
    assert is_finished(tmp_path / "set", PLAN)
    with pytest.raises(ArtifactError, match="seed was 0 and is now 2"):
        is_finished(tmp_path / "set", PLAN | {"seed": 2})
    with pytest.raises(ArtifactError, match="already exists"), writer(tmp_path / "set"):
        pass


def test_two_writers_are_refused(tmp_path: Path):
    """A second process is told who writes; a dead one's lock is no obstacle."""
    script = f"""
        from pathlib import Path
        from gapless.errors import ArtifactError
        from gapless.recordings.store.parts import PartsWriter
        try:
            with PartsWriter({str(tmp_path / "set")!r}, "bot", {JOINTS!r}, 50, {PLAN!r}):
                pass
        except ArtifactError as error:
            print(error)
    """
    with writer(tmp_path / "set"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
        )
        assert f"process {os.getpid()}" in done.stdout
    (tmp_path / ".set.lock").write_text("999999\n")
    write_all(tmp_path / "set")


@pytest.mark.parametrize("broken", ["data", "episodes"])
def test_full_disk_keeps_whole_parts(tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch):
    """A full disk is an error that says so; afterwards the writer goes on."""
    write_all(tmp_path / "one")
    publish = store._publish

    def full(path: Path, fill: object) -> None:
        if broken in path.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        publish(path, fill)  # type: ignore[arg-type]

    with writer(tmp_path / "two") as out:
        out.write(part(0), notes=[{"part": 0}])
        with monkeypatch.context() as patch:
            patch.setattr(store, "_publish", full)
            with pytest.raises(ArtifactError, match=r"disk is full.*1 whole parts are kept"):
                out.write(part(1))
    write_all(tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_refusing_file_system(tmp_path: Path):
    """When the system refuses a real write half way, no half file stays."""
    resource_limit = f"""
        import resource, signal, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from gapless.errors import ArtifactError
        from test_parts import make, writer
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        with writer(Path({str(tmp_path / "set")!r})) as out:
            out.write([make(0)])
            try:
                out.write([make(i, 9000) for i in range(3)])
            except ArtifactError as error:
                sys.exit("1 whole parts are kept" not in str(error))
        sys.exit(2)
    """
    assert hasattr(resource, "RLIMIT_FSIZE")
    code = [sys.executable, "-c", textwrap.dedent(resource_limit)]
    assert subprocess.run(code, check=False).returncode == 0
    kept = [p.name for p in (tmp_path / ".set.partial").rglob("*") if p.is_file()]
    assert sorted(kept) == ["file-000.parquet", "file-000.parquet", "parts.json"]


def test_a_part_may_lose_all_its_recordings(tmp_path: Path):
    """An empty part is whole, too: its notes say why."""
    with writer(tmp_path / "set") as out:
        out.write([], notes=["nothing came back"])
        out.write(part(0))
        out.finish()
    assert len(Dataset.open(tmp_path / "set")) == 3
    assert read_notes(tmp_path / "set") == ["nothing came back"]


def test_recordings_must_be_alike(tmp_path: Path):
    """Other joints or channels are refused by name; the part is not kept."""
    with writer(tmp_path / "set") as out:
        out.write(part(0))
        with pytest.raises(DataError, match="must be alike"):
            out.write([make(0, torque=3)])
        with pytest.raises(DataError, match="does not fit"):
            out.write([make(0).clip(0, 0)])
        assert out.parts_done == 1
        out.finish()
    with pytest.raises(DataError, match="no recordings"), writer(tmp_path / "empty") as out:
        out.finish()
