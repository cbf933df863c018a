"""PACE chirps: .pt files with time, dof_pos and des_dof_pos, read without torch."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.importers import ReadOptions, safe_pickle
from gapless.recordings.importers.named_arrays import clock, matrix
from gapless.recordings.importers.pickled_arrays import Finished, StandIn
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    check_array,
    check_file,
    check_ratio,
    reading,
)
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.rawlog import RawLog, Stream

CHANNELS = {"dof_pos": "q", "des_dof_pos": "target", "dof_vel": "dq"}
MAX_PICKLE = 16 << 20
"""Bytes of data.pkl, which only says how the tensors lie in their storages."""
STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "<b1",
}


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every .pt file as one chirp; the joint order must be given."""
    return collect(files(source, ".pt"), lambda p: [_chirp(p, options)], options.problems)


def _chirp(path: Path, options: ReadOptions) -> RawLog:
    data = load_pt(path)
    if not isinstance(data, dict) or not {"time", "dof_pos", "des_dof_pos"} <= set(data):
        found = sorted(map(str, data)) if isinstance(data, dict) else type(data).__name__
        raise FormatError(f"{path}: time, dof_pos and des_dof_pos were expected; it has {found}")
    time = clock(data["time"], f"{path}: time")
    count = matrix(data["dof_pos"], f"{path}: dof_pos", len(time)).shape[1]
    arrays = {
        name: matrix(data[key], f"{path}: {key}", len(time), count)
        for key, name in CHANNELS.items()
        if key in data
    }
    if options.joint_order is None or len(options.joint_order) != count:
        raise FormatError(
            f"{path} has {count} unnamed joint columns; give the joint order with {count} names"
            f" (given: {options.joint_order})"
        )
    streams = {name: Stream(time, values) for name, values in arrays.items()}
    # The collector reads the state and sends the next command in one tick.
    return RawLog(
        path.stem, options.joint_order, streams, "acts_after", "s", "rad", source=str(path)
    )


def load_pt(path: Path) -> Any:
    """Read a file that torch.save wrote, as dicts, lists, numbers and arrays.

    Raises:
        FormatError: it needs full unpickling, is truncated, or is in torch's format before 1.6.
    """
    size = check_file(path, MAX_ARRAY_BYTES, "a .pt file")
    with reading(f"{path} ({size} bytes)", "a .pt archive (torch 1.6 or later)"):
        archive = zipfile.ZipFile(path)
    with archive:
        name = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
        if name is None:
            raise FormatError(f"{path} is a zip archive without data.pkl: not a file of torch.save")
        storages = _Storages(archive, name.removesuffix("data.pkl"), str(path))
        pickled = storages.member(name, MAX_PICKLE)
        return safe_pickle.read_pickle_bytes(
            pickled, str(path), stand_ins=GLOBALS, persistent=storages.load
        )


class _Storages:
    """The archive's raw buffers, by the key the pickle gives them."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str, where: str) -> None:
        self.archive, self.prefix, self.where = archive, prefix, where
        self.loaded: dict[str, bytes] = {}
        if (
            f"{prefix}byteorder" in archive.namelist()
            and self.member(f"{prefix}byteorder") != b"little"
        ):
            raise FormatError(f"{where} was written on a big-endian machine; save it again")

    def member(self, name: str, limit: int = MAX_ARRAY_BYTES) -> bytes:
        """The bytes of one entry, with its checksum verified; an entry is kept once."""
        if name not in self.loaded:
            with reading(f"{self.where}: {name}", "an entry"):
                info = self.archive.getinfo(name)
                check_array((info.file_size,), 1, f"{self.where}: {name}", limit)
                check_ratio(info.compress_size, info.file_size, f"{self.where}: {name}")
                self.loaded[name] = self.archive.read(name)
        return self.loaded[name]

    def load(self, pid: Any) -> np.ndarray:
        """Resolve ('storage', type, key, device, count)."""
        _, kind, key, _, count = pid
        dtype = np.dtype(kind.make())
        data = np.frombuffer(self.member(f"{self.prefix}data/{key}"), dtype)
        if len(data) != count:
            raise FormatError(f"{self.where}: storage {key} has {len(data)} values, not {count}")
        return data


class _Empty(dict[str, Any]):
    """collections.OrderedDict as tensors carry it: hooks, always empty."""


def _tensor(storage: Any, offset: int, size: Any, stride: Any, *_: Any) -> Any:
    if not isinstance(storage, np.ndarray):
        raise FormatError("a tensor without a storage")
    if check_array(size, storage.itemsize, "a tensor") > storage.nbytes:
        raise FormatError(
            f"a tensor of size {tuple(size)} is larger than its storage of {len(storage)} values "
            "(an expanded view); save it with .contiguous()"
        )
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min([offset, *stride, 0]) < 0 or (all(size) and last >= len(storage)):
        raise FormatError(f"a tensor of size {size} reaches outside its storage of {len(storage)}")
    steps = [step * storage.itemsize for step in stride]
    # A view: however many tensors share a storage, they take no more memory than it does.
    view = np.lib.stride_tricks.as_strided(storage[offset:], tuple(size), steps, writeable=False)
    return Finished(view)


GLOBALS = {
    "torch._utils._rebuild_tensor_v2": StandIn(_tensor),
    "collections.OrderedDict": StandIn(_Empty),
    **{f"torch.{name}": StandIn(lambda code=code: code) for name, code in STORAGES.items()},
}
