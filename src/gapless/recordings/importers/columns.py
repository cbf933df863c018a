"""Named numeric columns of a CSV, NPZ, HDF5 or Parquet file, read one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute

from gapless.errors import FormatError, MissingExtraError
from gapless.recordings.importers import cells
from gapless.recordings.importers.npz import load_npz, npz_keys
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    check_array,
    check_file,
    check_ratio,
    reading,
)
from gapless.recordings.parquet_tables import read_parquet

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers


class Columns(Protocol):
    """A file seen as named arrays whose first axis is time."""

    def names(self) -> set[str]:
        """Names of the columns."""
        ...

    def get(self, name: str) -> np.ndarray:
        """One column as floats, (T,) or (T, k)."""
        ...

    def fact(self, name: str) -> Any:
        """A number or text that the file holds beside its columns; None where there is none."""
        ...


@contextmanager
def open_columns(path: Path) -> Iterator[Columns]:
    """Open a file by its suffix."""
    kind = {".csv": _csv, ".npz": _npz, ".parquet": _parquet}.get(path.suffix.lower(), _hdf5)
    with kind(path) as columns:
        yield columns


class _ArrowColumns:
    def __init__(self, table: pa.Table, path: Path) -> None:
        self.table, self.path = table, path

    def names(self) -> set[str]:
        return set(self.table.column_names)

    def get(self, name: str) -> np.ndarray:
        values, where = self.table.column(name), f"{self.path}: column {name!r}"
        if pa.types.is_string(values.type):
            return cells.lists(values, where)
        return vectors(values, where)

    def fact(self, name: str) -> Any:
        return (self.table.schema.metadata or {}).get(name.encode())


class _NpzColumns:
    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> set[str]:
        return npz_keys(self.path)

    def get(self, name: str) -> np.ndarray:
        return _floats(load_npz(self.path, [name])[name], f"{self.path}: array {name!r}")

    def fact(self, name: str) -> Any:
        found = load_npz(self.path, [name]).get(name)
        return found if found is None else found.tolist()


class _Hdf5Columns:
    def __init__(self, file: Any, path: Path) -> None:
        import h5py

        self.path = path
        self.attributes = file.attrs
        self.sets: dict[str, Any] = {}

        # visititems follows no soft or external link, so nothing outside the file is reachable.
        def note(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                self.sets[name] = item

        file.visititems(note)

    def names(self) -> set[str]:
        return set(self.sets)

    def get(self, name: str) -> np.ndarray:
        data, where = self.sets[name], f"{self.path}: dataset {name!r}"
        if data.external or data.is_virtual:
            raise FormatError(f"{where} takes its data from other files; copy it with h5repack")
        with reading(where, "an HDF5 dataset"):
            size = check_array(data.shape, data.dtype.itemsize, where)
            check_ratio(data.id.get_storage_size(), size, where)
            return _floats(data[()], where)

    def fact(self, name: str) -> Any:
        if name in self.attributes:
            with reading(f"{self.path}: attribute {name!r}", "an HDF5 attribute"):
                return np.asarray(self.attributes[name]).tolist()
        data = self.sets.get(name)
        if data is None:
            return None
        return self.get(name).tolist() if data.ndim else float(data[()])


def _floats(values: np.ndarray, where: str) -> np.ndarray:
    if np.asarray(values).dtype.kind not in "fiub":
        raise FormatError(f"{where} is not an array of numbers")
    if np.ndim(values) == 0:
        raise FormatError(
            f"{where} is one number, no column; in [gains] and [servo] {{ scalar = ... }} reads it"
        )
    return np.asarray(values, float)


@contextmanager
def _csv(path: Path) -> Iterator[Columns]:
    yield _ArrowColumns(cells.read_csv(path), path)


@contextmanager
def _npz(path: Path) -> Iterator[Columns]:
    yield _NpzColumns(path)


@contextmanager
def _parquet(path: Path) -> Iterator[Columns]:
    yield _ArrowColumns(read_parquet(path), path)


@contextmanager
def _hdf5(path: Path) -> Iterator[Columns]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "logs", f"reading {path.name}") from error
    size = check_file(path, MAX_ARRAY_BYTES, "an HDF5 file")
    where, what = f"{path} ({size} bytes)", "an HDF5 file"
    with reading(where, what):
        file = h5py.File(path, "r")
    with file:
        with reading(where, what):
            columns = _Hdf5Columns(file, path)
        yield columns


def vectors(values: pa.ChunkedArray, where: str) -> np.ndarray:
    """(T,) or (T, k) floats of a column of numbers or of lists of one length.

    Raises:
        FormatError: the lists differ in length, or hold no numbers.
    """
    if not pa.types.is_nested(values.type):
        return cells.numbers(values, where)
    lengths = pc.unique(pc.list_value_length(values)).to_pylist()
    if len(lengths) != 1 or None in lengths:
        told = ", ".join("none" if n is None else str(n) for n in lengths[:4]) or "no"
        raise FormatError(f"{where}: lists of unequal length ({told} numbers); all must be alike")
    flat = cells.numbers(pc.list_flatten(values), where)
    return flat.reshape(len(values), -1)
