"""A reader for pickled arrays (joblib, numpy, torch) that cannot run code.

No importable object ever reaches the pickle machine: a global is looked up in a table of our own
stand-ins, calling and building are only possible on those, and every other global is refused.
"""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError, GaplessError
from gapless.recordings.importers import size_limits
from gapless.recordings.importers.pickled_arrays import (
    Box,
    JoblibArray,
    NumpyArray,
    NumpyType,
    StandIn,
    latin1,
    numpy_scalar,
)

MAX_DEPTH = 32
MAX_NODES = 1_000_000
MAX_STEPS = 3 * MAX_NODES
"""Opcodes of one pickle; each may cost a hundred times its byte in memory."""

STAND_INS: dict[str, StandIn] = {
    "joblib.numpy_pickle.NumpyArrayWrapper": StandIn(JoblibArray),
    "numpy.ndarray": StandIn(NumpyArray),
    "numpy.dtype": StandIn(NumpyType),
    "_codecs.encode": StandIn(latin1),
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    STAND_INS[f"{_module}._reconstruct"] = StandIn(NumpyArray)
    STAND_INS[f"{_module}.scalar"] = StandIn(numpy_scalar)


_PythonUnpickler: Any = pickle._Unpickler  # pyright: ignore[reportAttributeAccessIssue]


class _Steps(dict[int, Any]):
    """The machine's table of opcodes, which ends a program that runs too long."""

    def __init__(self, table: dict[int, Any], where: str) -> None:
        super().__init__(table)
        self.left, self.where = MAX_STEPS, where

    def __getitem__(self, opcode: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise FormatError(f"{self.where}: larger than any log (over {MAX_STEPS} steps)")
        return super().__getitem__(opcode)


class RestrictedUnpickler(_PythonUnpickler):
    """Pickle's own machine in Python, with calling, building and looking up replaced.

    Args:
        data: the whole pickle; reads beyond its end fail instead of allocating.
        where: the file, for messages.
        stand_ins: what each allowed global becomes.
        persistent: resolver of persistent ids (torch storages), or None to refuse them.
    """

    def __init__(
        self,
        data: bytes,
        where: str,
        stand_ins: dict[str, StandIn] = STAND_INS,
        persistent: Callable[[Any], Any] | None = None,
    ) -> None:
        self.stream = io.BytesIO(data)
        super().__init__(self.stream)
        self.where, self.stand_ins, self.persistent = where, stand_ins, persistent
        self.dispatch = _Steps(self.dispatch, where)
        self.size, self.made = len(data), 0

    def find_class(self, module: str, name: str) -> StandIn:
        """Look a global up among the stand-ins."""
        found = self.stand_ins.get(f"{module}.{name}")
        if found is None:
            raise FormatError(
                f"{self.where}: refused, loading it would run code: {module}.{name}. Only plain "
                "numeric arrays are read; save those as .npz and import that"
            )
        return found

    def persistent_load(self, pid: Any) -> Any:
        """Resolve a torch storage."""
        if self.persistent is None:
            raise FormatError(f"{self.where}: refused, it refers to data outside itself ({pid!r})")
        return self.persistent(pid)

    def call(self) -> None:
        """REDUCE and NEWOBJ: only stand-ins can be called."""
        args = self.stack.pop()
        made = self.stack.pop()
        if not isinstance(made, StandIn):
            raise FormatError(f"{self.where}: refused, it calls a {type(made).__name__}")
        value = made.make(*args)
        self.made += len(value) if isinstance(value, bytes) else getattr(value, "nbytes", 0)
        if self.made > self.size:
            raise FormatError(f"{self.where}: refused, it copies one content over and over")
        self.stack.append(value)

    def build(self) -> None:
        """BUILD: only our own boxes take a state; joblib's array bytes follow right after."""
        state = self.stack.pop()
        box = self.stack[-1]
        if not isinstance(box, Box):
            raise FormatError(f"{self.where}: refused, it sets the state of {type(box).__name__}")
        box.fill(state, self.stream, self.where)

    def refuse(self) -> None:
        """Opcodes that no array file needs."""
        raise FormatError(f"{self.where}: refused, it uses a pickle feature that arrays never need")


_REFUSED = (
    pickle.INST,
    pickle.OBJ,
    pickle.NEWOBJ_EX,
    pickle.EXT1,
    pickle.EXT2,
    pickle.EXT4,
    pickle.BYTEARRAY8,
    pickle.NEXT_BUFFER,
    pickle.READONLY_BUFFER,
)
RestrictedUnpickler.dispatch = {
    **RestrictedUnpickler.dispatch,
    **{op[0]: RestrictedUnpickler.call for op in (pickle.REDUCE, pickle.NEWOBJ)},
    **{op[0]: RestrictedUnpickler.refuse for op in _REFUSED},
    pickle.BUILD[0]: RestrictedUnpickler.build,
}


def read_pickle(path: Path) -> Any:
    """Read a joblib or numpy pickle as dicts, lists, numbers, text and numeric arrays.

    Raises:
        FormatError: it would run code, holds objects, is truncated, or declares absurd sizes.
    """
    size_limits.check_file(path, size_limits.MAX_PICKLE_BYTES, "a pickle")
    return read_pickle_bytes(_decompress(path.read_bytes(), path), str(path))


def read_pickle_bytes(data: bytes, where: str, **machine: Any) -> Any:
    """Read a pickle from memory; see `read_pickle`."""
    try:
        return _plain(RestrictedUnpickler(data, where, **machine).load(), where)
    except GaplessError:
        raise
    except Exception as error:  # a damaged pickle fails in any way at all
        if size_limits.fails_by_machine(error):
            raise
        raise FormatError(
            f"{where} ({len(data)} bytes) is damaged or not a pickle of arrays "
            f"({type(error).__name__}: {str(error)[:100]}); copy the file again"
        ) from error


def _decompress(data: bytes, path: Path) -> bytes:
    names = {b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x5d\x00": "lzma", b"\x04\x22\x4d\x18": "lz4"}
    for magic, name in names.items():
        if data.startswith(magic):
            raise FormatError(f"{path} is compressed with {name}; save it again with compress=0")
    if not (
        data.startswith(b"\x1f\x8b") or (data[:1] == b"\x78" and data[1:2] in b"\x01\x5e\x9c\xda")
    ):
        return data
    stream = zlib.decompressobj(wbits=47)  # zlib or gzip, whichever the header says
    cap = min(
        size_limits.MAX_PICKLE_BYTES,
        max(size_limits.RATIO_FLOOR, size_limits.MAX_RATIO * len(data)),
    )
    try:
        plain = stream.decompress(data, cap)
    except zlib.error as error:
        raise FormatError(f"{path} ({len(data)} bytes) is damaged: {error}") from error
    if stream.unconsumed_tail:
        raise FormatError(f"{path} expands beyond {cap} bytes: a decompression bomb, not a log")
    if not stream.eof:
        raise FormatError(f"{path} ({len(data)} bytes) ends early; copy the file again")
    return plain


def _plain(value: Any, where: str) -> Any:
    """Replace boxes by their arrays, refusing what nests or repeats without end."""
    visited = 0

    def visit(node: Any, depth: int) -> Any:
        nonlocal visited
        visited += 1
        if depth > MAX_DEPTH or visited > MAX_NODES:
            raise FormatError(f"{where}: nested deeper or larger than any log ({visited} nodes)")
        if isinstance(node, Box):
            return node.value(where)
        if isinstance(node, dict):
            return {k: visit(v, depth + 1) for k, v in node.items()}
        if isinstance(node, list | tuple):
            return type(node)(visit(v, depth + 1) for v in node)
        if node is None or isinstance(node, bool | int | float | str | bytes | np.generic):
            return node
        raise FormatError(f"{where}: refused, it holds a {type(node).__name__}")

    return visit(value, 0)
