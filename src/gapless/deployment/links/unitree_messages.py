"""Unitree's messages as DDS types, made from the table of `unitree_wire`."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from gapless.deployment.links.unitree_crc import message_crc
from gapless.deployment.links.unitree_wire import TYPES
from gapless.errors import MissingExtraError

_NUMBERS = {"B": "uint8", "H": "uint16", "I": "uint32", "h": "int16", "i": "int32", "f": "float32"}


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
