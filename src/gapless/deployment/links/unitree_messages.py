"""Unitree's messages as DDS types, made from the table of `unitree_wire`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from gapless.deployment.links.unitree_wire import TYPES
from gapless.deployment.links.wire_message import HEADER, WireMessage, wire_size
from gapless.errors import MissingExtraError

_NUMBERS = {"B": "uint8", "H": "uint16", "I": "uint32", "h": "int16", "i": "int32", "f": "float32"}
_WIRE = "_wire"
"""Beside the fields of a sample: its bytes, in place of all fields."""


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
    _go_whole(kind, made)
    return made


def sample_of(message: WireMessage) -> Any:
    """What DDS writes: of the message's type, its bytes and no fields."""
    kind = message_type(message.kind)
    sample = kind.__new__(kind)
    vars(sample)[_WIRE] = message
    return sample


def _go_whole(kind: str, made: Any) -> None:
    """Let samples of a type go through as bytes, not field by field.

    Only what this computer and every robot here speak, plain CDR; the rest is the library's.
    """
    library, by_field = made.serialize, made.deserialize

    def serialize(self: Any, *args: Any, **options: Any) -> bytes:
        message = vars(self).get(_WIRE)
        return library(self, *args, **options) if message is None else message.data

    def deserialize(data: Any, has_header: bool = True, use_version_2: bool | None = None) -> Any:
        plain = has_header and bytes(data[:2]) == HEADER[:2]
        if plain and len(data) >= len(HEADER) + wire_size(kind):
            return WireMessage(kind, data)
        sample = by_field(data, has_header, use_version_2)
        return WireMessage.of_numbers(kind, list(_numbers(kind, sample)))

    made.serialize, made.deserialize = serialize, staticmethod(deserialize)


def _numbers(kind: str, sample: Any) -> Iterator[Any]:
    """All numbers of a sample that has fields, in order."""
    for name, what, count in TYPES[kind]:
        value = getattr(sample, name)
        for part in value if count else (value,):
            yield from _numbers(what, part) if what in TYPES else (part,)
