"""Unitree's messages as DDS types, made from the table of `unitree_wire`."""

from __future__ import annotations

from functools import cache
from typing import Any

from gapless.deployment.links.unitree_crc import message_crc
from gapless.deployment.links.unitree_wire import TYPES
from gapless.errors import MissingExtraError

try:
    from cyclonedds.idl import annotations, make_idl_struct, types
except ImportError as error:
    raise MissingExtraError("cyclonedds", "deploy", "a link to Unitree's robots") from error

_NUMBERS = {
    "B": types.uint8,
    "H": types.uint16,
    "I": types.uint32,
    "h": types.int16,
    "i": types.int32,
    "f": types.float32,
}


@cache
def message_type(kind: str) -> Any:
    """The dataclass of a type: final, member ids in order, under the vendor's name."""
    fields = {}
    for name, what, count in TYPES[kind]:
        one = _NUMBERS[what] if what in _NUMBERS else message_type(what)
        fields[name] = types.array[one, count] if count else one
    made = make_idl_struct(kind.rsplit(".", 1)[-1], kind, fields)
    return annotations.final(annotations.autoid("sequential")(made))


def blank_message(kind: str) -> Any:
    """A message of zeros."""
    values = {}
    for name, what, count in TYPES[kind]:
        zero = 0.0 if what == "f" else 0
        many = [blank_message(what) if what in TYPES else zero for _ in range(max(count, 1))]
        values[name] = many if count else many[0]
    return message_type(kind)(**values)


def seal(kind: str, message: Any) -> Any:
    """Write its checksum into a message."""
    message.crc = message_crc(kind, message)
    return message


def is_sealed(kind: str, message: Any) -> bool:
    """Whether the checksum of a message is right."""
    return message.crc == message_crc(kind, message)
