"""Unitree's messages as DDS types, made from the table of `unitree_wire`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import Any

from gapless.deployment.links.unitree_crc import message_crc, word_crc
from gapless.deployment.links.unitree_wire import (
    TYPES,
    cdr_layout,
    cdr_packed,
    memory_layout,
    numbers_of,
)
from gapless.errors import MissingExtraError

_NUMBERS = {"B": "uint8", "H": "uint16", "I": "uint32", "h": "int16", "i": "int32", "f": "float32"}
_PLAIN = b"\0\1\0\0"
"""How plain CDR begins, little endian."""
_READY, _CAME = "_ready", "_came"
"""Beside the fields of a message: its bytes, for the very next writing; its numbers as they came.
Whoever only passes messages on needs to look at each number once."""


def require_dds() -> None:
    """Say what is missing, before anything is done."""
    if find_spec("cyclonedds") is None:
        raise MissingExtraError("cyclonedds", "deploy", "a link to Unitree's robots")


@cache
def message_type(kind: str) -> Any:
    """The dataclass of a type: final, member ids in order, under the vendor's name."""
    require_dds()
    from cyclonedds.idl import annotations, make_idl_struct, types

    fields: dict[str, Any] = {}
    for name, what, count in TYPES[kind]:
        one = getattr(types, _NUMBERS[what]) if what in _NUMBERS else message_type(what)
        fields[name] = types.array[one, count] if count else one
    made = make_idl_struct(kind.rsplit(".", 1)[-1], kind, fields)
    made = annotations.final(annotations.autoid("sequential")(made))
    _go_fast(kind, made)
    return made


def _go_fast(kind: str, made: Any) -> None:
    """Let messages of a type go through one `struct` call: six times as fast as field by field.

    Only what this computer and every robot here speak, plain CDR; the rest is the library's.
    """
    library, layout = made.serialize, cdr_layout(kind)
    by_field = made.deserialize

    def serialize(
        self: Any, buffer: Any = None, endianness: Any = None, use_version_2: bool | None = None
    ) -> bytes:
        if buffer is not None or endianness is not None or use_version_2:
            return library(self, buffer, endianness, use_version_2)
        return vars(self).pop(_READY, None) or _PLAIN + cdr_packed(kind, self)

    def deserialize(data: Any, has_header: bool = True, use_version_2: bool | None = None) -> Any:
        if not has_header or bytes(data[:2]) != _PLAIN[:2] or len(data) < 4 + layout.size:
            return by_field(data, has_header, use_version_2)
        numbers = layout.unpack_from(data, 4)
        found = _built(kind, iter(numbers))
        vars(found)[_CAME] = numbers
        return found

    made.serialize, made.deserialize = serialize, staticmethod(deserialize)


def _built(kind: str, numbers: Iterator[Any]) -> Any:
    """A message of numbers in order."""
    values = []
    for _, what, count in TYPES[kind]:
        if what not in TYPES:
            values.append(list(islice(numbers, count)) if count else next(numbers))
        else:
            many = [_built(what, numbers) for _ in range(max(count, 1))]
            values.append(many if count else many[0])
    return message_type(kind)(*values)


def blank_message(kind: str) -> Any:
    """A message of zeros."""
    values = {}
    for name, what, count in TYPES[kind]:
        zero = 0.0 if what == "f" else 0
        many = [blank_message(what) if what in TYPES else zero for _ in range(max(count, 1))]
        values[name] = many if count else many[0]
    return message_type(kind)(**values)


def make_ready(kind: str, message: Any) -> Any:
    """Seal a message, and keep its bytes for whoever writes it next."""
    numbers = list(numbers_of(kind, message))
    message.crc = numbers[-1] = word_crc(memory_layout(kind).pack(*numbers)[:-4])
    vars(message)[_READY] = _PLAIN + cdr_layout(kind).pack(*numbers)
    return message


def came_sealed(kind: str, message: Any) -> bool:
    """Whether the checksum of a message was right when it came."""
    numbers = vars(message).get(_CAME)
    if numbers is None:
        return is_sealed(kind, message)
    return numbers[-1] == word_crc(memory_layout(kind).pack(*numbers)[:-4])


def seal(kind: str, message: Any) -> Any:
    """Write its checksum into a message."""
    message.crc = message_crc(kind, message)
    return message


def is_sealed(kind: str, message: Any) -> bool:
    """Whether the checksum of a message is right."""
    return message.crc == message_crc(kind, message)
