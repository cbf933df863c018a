"""Damaged, hostile and absurd files: each is refused with a reason, or recovered and counted."""

from __future__ import annotations

import os
import pickle
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import log_writers as writers
from gapless.errors import FormatError
from gapless.recordings import importers
from gapless.recordings.importers import ReadOptions, size_limits
from gapless.recordings.importers.cells import read_csv
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.pace import load_pt
from gapless.recordings.importers.safe_pickle import MAX_STEPS, read_pickle

SOURCES = Path(importers.__file__).parent


class Bomb:
    """Makes a folder when unpickled by something that runs code."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def read(format: str, source: Path, **options):
    """Read a whole source."""
    return list(importers.read(format, source, ReadOptions(**options)))


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_case_01_malicious_reduce_is_refused_and_not_run(tmp_path, protocol):
    """A pickle that would call a function is refused, naming the function."""
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"m": Bomb(tmp_path / "pwned")}, protocol))
    with pytest.raises(FormatError, match=r"would run code: .*mkdir"):
        read("asap", tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_case_01_state_setting_and_calls_on_data_are_refused(tmp_path):
    """BUILD on a plain dict and REDUCE on a text are no way around the table of stand-ins."""
    for program in (b"\x80\x04}}b.", b"\x80\x04\x8c\x01a)R.", b"\x80\x04\x8c\x01a)\x81."):
        (tmp_path / "a.pkl").write_bytes(program)
        with pytest.raises(FormatError, match="refused"):
            read_pickle(tmp_path / "a.pkl")


def test_case_02_joblib_object_array_is_refused(tmp_path):
    """An object array hides a second pickle behind its wrapper; its type alone refuses it."""
    array = np.array([Bomb(tmp_path / "pwned")], object)
    (tmp_path / "a.pkl").write_bytes(writers.joblib_bytes({"m": {"dof": array}}))
    with pytest.raises(FormatError, match="objects could run code"):
        read("asap", tmp_path)
    (tmp_path / "b.pkl").write_bytes(pickle.dumps(np.array([1, "a"], object)))
    with pytest.raises(FormatError, match="Python objects"):
        read_pickle(tmp_path / "b.pkl")
    assert not (tmp_path / "pwned").exists()


def test_case_03_npz_object_array_is_refused_by_name(tmp_path):
    """The key that holds objects is named."""
    objects = np.array([np.zeros(3), np.zeros(4)], object)
    np.savez(tmp_path / "a.npz", real_dof_positions=objects)
    with pytest.raises(FormatError, match="'real_dof_positions' holds Python objects"):
        read("gaponet", tmp_path)


def test_case_04_pt_that_needs_full_unpickling_is_refused(tmp_path):
    """A .pt with a foreign global is refused, never loaded another way."""
    hostile = pickle.dumps({"time": Bomb(tmp_path / "pwned")}, 2)
    writers.write_pt(tmp_path / "a.pt", {}, pickled=hostile)
    with pytest.raises(FormatError, match="would run code"):
        read("pace", tmp_path, joint_order=("a",))
    assert not (tmp_path / "pwned").exists()


def test_case_05_truncated_mcap_is_recovered_and_counted(tmp_path):
    """A recording cut by a power failure keeps its complete chunks, and says how many."""
    path = writers.write_mcap(tmp_path / "a.mcap", writers.joint_states("/joint_states", 200))
    data = path.read_bytes()
    path.write_bytes(data[: int(0.6 * len(data))])
    (log,) = read("mcap", path)
    count = len(log.streams["q"].time)
    assert 50 < count < 150
    np.testing.assert_array_equal(log.streams["q"].values[:, 0], np.arange(count))
    assert any(f"{count} messages were recovered, the last at" in note for note in log.notes)


@pytest.mark.parametrize("compressed", [False, True])
def test_case_06_bit_flip_in_mcap_is_refused(tmp_path, compressed):
    """One flipped bit in a chunk is caught by its checksum."""
    from mcap.writer import CompressionType

    kind = CompressionType.ZSTD if compressed else CompressionType.NONE
    messages = writers.joint_states("/joint_states", 200)
    path = writers.write_mcap(tmp_path / "a.mcap", messages, 1 << 20, kind)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x10
    path.write_bytes(bytes(data))
    with pytest.raises(FormatError, match=r"checksum|not a readable MCAP"):
        read("mcap", path)


def _truncatable(folder: Path) -> dict[str, tuple[Path, str]]:
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = np.random.default_rng(0).normal(size=(500, 2))
    np.savez(folder / "a.npz", q=values, t=np.arange(500.0))
    pq.write_table(pa.table({"t": np.arange(500.0), "q": list(values)}), folder / "a.parquet")
    with h5py.File(folder / "a.h5", "w") as file:
        file["q"], file["t"] = values, np.arange(500.0)
    writers.write_pt(folder / "a.pt", {"time": np.arange(500), "dof_pos": values})
    motion = {"m": {"dof": values, "fps": 30}}
    (folder / "a.pkl").write_bytes(writers.joblib_bytes(motion))
    (folder / "b.pkl").write_bytes(zlib.compress(writers.joblib_bytes(motion, padded=False)))
    generic = dict.fromkeys(("a.npz", "a.parquet", "a.h5"), "generic")
    return generic | {"a.pt": "pace", "a.pkl": "asap", "b.pkl": "asap"}


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.h5", "a.pt", "a.pkl", "b.pkl"])
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_case_07_truncated_files_are_refused_with_file_and_hint(tmp_path, name, kept):
    """The message names the file and says what to do; nothing half-read comes out."""
    format = _truncatable(tmp_path)[name]
    mapping = tmp_path / "m.toml"
    mapping.write_text('time = "t"\njoints = ["a", "b"]\nq = "q"\n')
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(kept * len(data))])
    with pytest.raises(FormatError, match=f"{name}.*copy (it|the file) again"):
        read(format, tmp_path / name, mapping=mapping, joint_order=("a", "b"))


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet", "a.h5"])
def test_case_08_empty_files_are_refused(tmp_path, name):
    """A file of zero bytes is named as such."""
    (tmp_path / "m.toml").write_text('time = "t"\njoints = ["a"]\nq = "q"\n')
    (tmp_path / name).touch()
    with pytest.raises(FormatError, match=r"is empty \(0 bytes\)"):
        read("generic", tmp_path / name, mapping=tmp_path / "m.toml")


def test_case_08_zero_and_single_samples_are_refused_with_the_count(tmp_path):
    """A header without rows, and one sample, are both too short."""
    (tmp_path / "m.toml").write_text('time = "t"\njoints = ["a"]\nq = "q"\n')
    for text, message in (("t,q\n", "0 rows"), ("t,q\n1,2\n", "1 samples")):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(FormatError, match=message):
            read("generic", tmp_path / "a.csv", mapping=tmp_path / "m.toml")


@pytest.mark.parametrize(
    "cell", ["[__import__('os').mkdir('pwned'), 1]", "[1, [2]]", "[(1).real, 1]"]
)
def test_case_21_hostile_cells_are_refused_and_never_evaluated(tmp_path, cell, monkeypatch):
    """A list cell is split and parsed as numbers; anything else is refused."""
    monkeypatch.chdir(tmp_path)
    folder = writers.write_sage(
        tmp_path / "wave", np.zeros((3, 2)), np.zeros((3, 2)), joints=["a", "b"]
    )
    path = folder / "state_motor.csv"
    path.write_text(path.read_text().replace('"[0.0, 0.0]"', f'"{cell}"', 1))
    with pytest.raises(FormatError, match=r"state_motor\.csv"):
        read("sage", tmp_path)
    assert not (tmp_path / "pwned").exists()


def test_case_21_oversized_cells_are_refused(tmp_path):
    """A cell longer than any joint list is refused by its length."""
    folder = writers.write_sage(
        tmp_path / "wave", np.zeros((3, 2)), np.zeros((3, 2)), joints=["a", "b"]
    )
    path = folder / "state_motor.csv"
    long = "[" + "0," * size_limits.MAX_CELL_CHARS + "0]"
    path.write_text(path.read_text().replace("[0.0, 0.0]", long, 1))
    with pytest.raises(FormatError, match="characters, above"):
        read("sage", tmp_path)


def test_case_22_links_out_of_the_source_are_refused(tmp_path):
    """A link to a file or folder elsewhere is refused; one inside the source is followed."""
    outside = writers.write_sage(
        tmp_path / "away", np.zeros((3, 1)), np.zeros((3, 1)), joints=["a"]
    )
    inside = writers.write_sage(
        tmp_path / "src/wave", np.ones((3, 1)), np.zeros((3, 1)), joints=["a"]
    )
    (tmp_path / "src/alias.csv").symlink_to(inside / "control.csv")
    assert len(read("sage", tmp_path / "src")) == 1
    (tmp_path / "src/evil").symlink_to(outside)
    with pytest.raises(FormatError, match="link out of the source"):
        read("sage", tmp_path / "src")


def test_case_22_hdf5_external_links_are_not_followed(tmp_path):
    """Data of another file is not reachable through an HDF5 link."""
    import h5py

    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["q"] = np.zeros((5, 1))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["t"] = np.arange(5.0)
        file["q"] = h5py.ExternalLink("secret.h5", "/q")
    (tmp_path / "m.toml").write_text('time = "t"\njoints = ["a"]\nq = "q"\n')
    with pytest.raises(FormatError, match="no column 'q'"):
        read("generic", tmp_path / "a.h5", mapping=tmp_path / "m.toml")


def test_case_23_compressed_bombs_are_refused_before_allocation(tmp_path):
    """An archive that expands more than a thousandfold is refused by its directory alone."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("q.npy", bytes(size_limits.RATIO_FLOOR + 1))
    with pytest.raises(FormatError, match="decompression bomb"):
        load_npz(tmp_path / "a.npz")
    (tmp_path / "a.pkl").write_bytes(zlib.compress(bytes(size_limits.RATIO_FLOOR + 1)))
    with pytest.raises(FormatError, match="decompression bomb"):
        read_pickle(tmp_path / "a.pkl")


def test_case_23_absurd_declared_shapes_are_refused_before_allocation(tmp_path):
    """A header that declares terabytes is refused, whatever follows it."""
    from numpy.lib import format as npy

    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("q.npy", "w") as file:
        npy.write_array_header_1_0(file, header)
    with pytest.raises(FormatError, match="declares 8796093022208 bytes"):
        load_npz(tmp_path / "a.npz")
    good = writers.joblib_bytes({"m": {"dof": np.zeros((7, 3)), "fps": 30}})
    (tmp_path / "a.pkl").write_bytes(
        good.replace(b"K\x07K\x03\x86", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86")
    )
    with pytest.raises(FormatError):
        read_pickle(tmp_path / "a.pkl")


def test_case_23_nested_repetition_is_refused(tmp_path):
    """Lists that share their parts, doubling at each level, are stopped by a count."""
    bomb = ["x"]
    for _ in range(30):
        bomb = [bomb, bomb]
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(bomb))
    with pytest.raises(FormatError, match="larger than any log"):
        read_pickle(tmp_path / "a.pkl")


def _pt(path: Path, pickled: bytes, storage: bytes = bytes(4)) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/data/0", storage)
    return path


def _tensor(size: bytes, stride: bytes) -> bytes:
    """The pickle of a float32 tensor over a storage of one value."""
    storage = b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
    storage += b"X\x03\x00\x00\x00cpuK\x01tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + b"K\x00" + size + stride + b"tR"


def test_case_23_expanded_tensors_are_refused_before_allocation(tmp_path):
    """A stride of zero repeats one value without end; a tensor fits its storage or is refused."""
    size, stride = b"J\x00\xe1\xf5\x05K\x02\x86", b"K\x00K\x00\x86"
    path = _pt(tmp_path / "a.pt", b"\x80\x02" + _tensor(size, stride) + b".")
    assert path.stat().st_size < 400
    with pytest.raises(FormatError, match="larger than its storage of 1 values"):
        load_pt(path)


def test_case_23_tensors_share_their_storage(tmp_path):
    """Many tensors over one storage take no more memory than it does."""
    tensor = _tensor(b"K\x01\x85", b"K\x01\x85")
    pickled = b"\x80\x02](" + 200 * tensor + b"e."
    tensors = load_pt(_pt(tmp_path / "a.pt", pickled))
    assert len(tensors) == 200
    assert len({t.__array_interface__["data"][0] for t in tensors}) == 1


def test_case_23_programs_that_expand_are_stopped(tmp_path):
    """A deflated data.pkl, endless opcodes, and one content copied over and over are refused."""
    with pytest.raises(FormatError, match=r"data\.pkl declares .* above the limit"):
        load_pt(_pt(tmp_path / "a.pt", b"\x80\x02" + b"]" * (17 << 20) + b"."))
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04" + b"]0" * (MAX_STEPS // 2 + 1) + b"].")
    with pytest.raises(FormatError, match="larger than any log"):
        read_pickle(tmp_path / "a.pkl")
    head = b"\x80\x02c_codecs\nencode\nq\x00X\x00\x10\x00\x00" + b"x" * 4096 + b"q\x01"
    copies = b"h\x00h\x01X\x06\x00\x00\x00latin1\x86R" * 50
    (tmp_path / "a.pkl").write_bytes(head + copies + b".")
    with pytest.raises(FormatError, match="copies one content over and over"):
        read_pickle(tmp_path / "a.pkl")


def test_case_23_tables_that_were_never_stored_are_refused(tmp_path):
    """An HDF5 dataset without chunks, and a Parquet column of one run, may declare anything."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = size_limits.RATIO_FLOOR // 8 + 1
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("q", (count,), "f8", chunks=(1 << 20,))
    column = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), count), [1.0])
    pq.write_table(pa.table({"q": column}), tmp_path / "a.parquet")
    (tmp_path / "m.toml").write_text('rate = 50\njoints = ["a"]\nq = "q"\n')
    for name in ("a.h5", "a.parquet"):
        with pytest.raises(FormatError, match="decompression bomb"):
            read("generic", tmp_path / name, mapping=tmp_path / "m.toml")


def test_case_24_lerobot_problems_are_listed_at_once(tmp_path):
    """A missing shard and a wrong episode count are reported together."""
    import json

    root = writers.write_lerobot(tmp_path / "set")
    (root / "data/chunk-000/file-000.parquet").unlink()
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps(info | {"total_episodes": 7}))
    with pytest.raises(FormatError, match=r"lists 2 episodes, meta/info.json says 7\n.*is missing"):
        read("lerobot", root)


def test_case_24_lerobot_version_2_is_refused_with_the_converter(tmp_path):
    """The message holds the command that converts."""
    root = writers.write_lerobot(tmp_path / "set", version="v2.1")
    with pytest.raises(FormatError, match="convert_dataset_v21_to_v30"):
        read("lerobot", root)


def test_case_24_lerobot_wrong_fps_is_refused(tmp_path):
    """Timestamps that contradict info.json are refused with their size."""
    import json

    root = writers.write_lerobot(tmp_path / "set")
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps(info | {"fps": 30}))
    with pytest.raises(FormatError, match=r"frame 1 is at 0.02 s, fps 30 says 0.0333"):
        read("lerobot", root)


def test_loaders_contain_no_way_to_run_code():
    """The importers' sources never name a loader that evaluates what it reads."""
    forbidden = ("pickle.load(", "allow_pickle=True", "weights_only=False", " eval(", "yaml.load(")
    for path in SOURCES.rglob("*.py"):
        text = path.read_text()
        assert not [word for word in forbidden if word in text], path


@pytest.mark.parametrize("format", ["asap", "pace"])
def test_damaged_pickles_raise_format_errors_only(tmp_path, format):
    """Whatever bytes are changed, a pickle is read or refused; nothing else happens."""
    values = np.ones((4, 2))
    (tmp_path / "a.pkl").write_bytes(writers.joblib_bytes({"m": {"dof": values, "fps": 30}}))
    writers.write_pt(
        tmp_path / "a.pt", {"time": np.arange(4), "dof_pos": values, "des_dof_pos": values}
    )
    path = tmp_path / {"asap": "a.pkl", "pace": "a.pt"}[format]
    good, random = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        data = bytearray(good)
        for at in random.integers(len(data), size=random.integers(1, 5)):
            data[at] = random.integers(256)
        path.write_bytes(bytes(data))
        try:
            read(format, path, joint_order=("a", "b"))
        except FormatError:
            refused += 1
    assert refused > 50


def test_csv_that_is_not_text_is_refused(tmp_path):
    """Binary content under a .csv name is a format error."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n\xff\xfe\x00,1,2,3\n")
    with pytest.raises(FormatError, match="CSV"):
        read_csv(tmp_path / "a.csv")
