"""Stand-ins for the few classes that array pickles name; none of them is the real class."""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import check_array

PLAIN_TYPE = re.compile(r"[<>|=]?([fiu][1248]|f16|b1|[US]\d{1,6})")


@dataclass(frozen=True)
class StandIn:
    """What an allowed global becomes: something the pickle machine may call, and nothing else."""

    make: Callable[..., Any]


class Box(ABC):
    """An object under construction; its content is data."""

    @abstractmethod
    def fill(self, state: Any, stream: io.BytesIO, where: str) -> None:
        """Take the pickled state."""

    @abstractmethod
    def value(self, where: str) -> Any:
        """The finished content."""


@dataclass
class NumpyType(Box):
    """numpy.dtype: only plain numbers and text; objects and records are refused."""

    code: str
    align: bool = False
    copy: bool = True
    order: str = ""

    def fill(self, state: Any, stream: io.BytesIO, where: str) -> None:
        """Take the byte order; everything else follows from the code."""
        self.order = state[1] if state[1] in ("<", ">") else ""

    def value(self, where: str) -> np.dtype:
        """The numpy type."""
        code = str(self.code)
        if not PLAIN_TYPE.fullmatch(code):
            raise FormatError(
                f"{where}: refused, an array of type {code!r}; objects could run code, "
                "only numbers and text are read"
            )
        return np.dtype(self.order + code.lstrip("<>|="))


@dataclass
class NumpyArray(Box):
    """numpy's own array pickle: shape, type and bytes."""

    args: tuple[Any, ...] = ()
    array: np.ndarray | None = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def fill(self, state: Any, stream: io.BytesIO, where: str) -> None:
        """Take (version, shape, type, fortran, bytes)."""
        _, shape, kind, fortran, data = state
        if isinstance(data, Box):
            data = data.value(where)
        if not isinstance(data, bytes):
            raise FormatError(f"{where}: refused, an array of Python objects")
        self.array = array(kind, shape, "F" if fortran else "C", data, where)

    def value(self, where: str) -> np.ndarray:
        """The array."""
        if self.array is None:
            raise FormatError(f"{where}: an array without content")
        return self.array


@dataclass
class JoblibArray(Box):
    """joblib's wrapper: the array's bytes follow the object in the file."""

    array: np.ndarray | None = field(default=None)

    def fill(self, state: Any, stream: io.BytesIO, where: str) -> None:
        """Read the bytes that follow, after their alignment padding."""
        kind, shape, order = state["dtype"], state["shape"], state.get("order", "C")
        size = check_array(shape, kind.value(where).itemsize, f"{where}: an array")
        if state.get("numpy_array_alignment_bytes") is not None:
            stream.read(int.from_bytes(stream.read(1), "little"))
        self.array = array(kind, shape, order, stream.read(size), where)

    def value(self, where: str) -> np.ndarray:
        """The array."""
        if self.array is None:
            raise FormatError(f"{where}: an array without content")
        return self.array


def array(kind: Any, shape: Any, order: str, data: bytes, where: str) -> np.ndarray:
    """A view of bytes as an array, checking that they are all there; sharing takes no memory."""
    if not isinstance(kind, NumpyType):
        raise FormatError(f"{where}: an array without a type")
    shape = tuple(int(n) for n in shape)
    dtype = kind.value(where)
    size = check_array(shape, dtype.itemsize, f"{where}: an array")
    if len(data) != size:
        raise FormatError(
            f"{where}: an array of shape {shape} needs {size} bytes and has {len(data)}; "
            "the file is truncated: copy it again"
        )
    return np.frombuffer(data, dtype).reshape(shape, order="F" if order == "F" else "C")


def numpy_scalar(kind: Any, data: Any) -> Any:
    """numpy's scalar pickle, as a number."""
    if isinstance(data, Box):
        data = data.value("a scalar")
    return array(kind, (1,), "C", data, "a scalar")[0]


def latin1(text: str, encoding: str) -> bytes:
    """How protocol 2 writes bytes."""
    if encoding != "latin1":
        raise FormatError(f"refused, text in the encoding {encoding!r}")
    return text.encode("latin1")


@dataclass
class Finished(Box):
    """A value that is complete already."""

    content: Any

    def fill(self, state: Any, stream: io.BytesIO, where: str) -> None:
        """Nothing may be added."""
        raise FormatError(f"{where}: refused, it sets the state of a finished array")

    def value(self, where: str) -> Any:
        """The content."""
        return self.content
