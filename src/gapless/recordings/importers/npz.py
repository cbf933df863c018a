"""Reading .npz archives whose content is only ever data."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    check_array,
    check_file,
    check_ratio,
    reading,
)


def npz_keys(path: Path) -> set[str]:
    """Names of the arrays of an archive, without reading them."""
    with _open(path) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist()}


def load_npz(path: Path, keys: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Read an archive, or only some of its arrays.

    Raises:
        FormatError: the file is truncated, holds Python objects, or declares absurd sizes.
    """
    with _open(path) as archive:
        wanted = None if keys is None else set(keys)
        return {
            info.filename.removesuffix(".npy"): _read(path, archive, info)
            for info in archive.infolist()
            if wanted is None or info.filename.removesuffix(".npy") in wanted
        }


def _open(path: Path) -> zipfile.ZipFile:
    size = check_file(path, MAX_ARRAY_BYTES, "a .npz archive")
    with reading(f"{path} ({size} bytes)", "a .npz archive"):
        archive = zipfile.ZipFile(path)
    expanded = sum(info.file_size for info in archive.infolist())
    try:
        check_array((expanded,), 1, str(path))
        check_ratio(size, expanded, str(path))
    except FormatError:
        archive.close()
        raise
    return archive


def _read(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    where = f"{path}: array {info.filename.removesuffix('.npy')!r}"
    with reading(where, "a numpy array"):
        with archive.open(info) as stream:
            shape, dtype = _header(stream)
        if dtype.hasobject:
            raise FormatError(
                f"{where} holds Python objects, which only running code could load; "
                "save it again as plain numeric arrays, one key a motion"
            )
        check_array(shape, dtype.itemsize, where)
        with archive.open(info) as stream:
            return npy.read_array(stream, allow_pickle=False)


def _header(stream: Any) -> tuple[tuple[int, ...], np.dtype]:
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype
