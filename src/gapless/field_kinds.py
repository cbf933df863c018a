"""Whether the fields of a dataclass hold what they say: files that others edited may not."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

NOTHING: Mapping[str, Any] = types.MappingProxyType({})


def wrong_fields(value: Any, known: Mapping[str, Any] = NOTHING) -> Iterator[str]:
    """Fields, at any depth, whose value is of another kind than is declared.

    Args:
        value: a dataclass.
        known: classes by the names that declarations use, where their module does not have them.
    """
    hints = get_type_hints(type(value), localns=dict(known))
    for entry in fields(value):
        held = getattr(value, entry.name)
        if not fits(held, hints[entry.name], known):
            yield f"{entry.name} of {type(value).__name__} is {str(held)[:60]!r}"


def fits(value: Any, hint: Any, known: Mapping[str, Any]) -> bool:
    """Whether a value is of a declared kind."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(fits(value, one, known) for one in inner)
    if kind is tuple:
        return isinstance(value, tuple) and _fit_each(value, inner, known)
    if kind in (dict, Mapping):
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(fits(k, inner[0], known) and fits(v, inner[1], known) for k, v in pairs)
    if kind is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    if kind in (float, int):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return isinstance(value, kind) and not (is_dataclass(value) and any(wrong_fields(value, known)))


def _fit_each(values: tuple[Any, ...], inner: tuple[Any, ...], known: Mapping[str, Any]) -> bool:
    each = (inner[0],) * len(values) if inner[-1:] == (...,) else inner
    if len(values) != len(each):
        return False
    return all(fits(value, hint, known) for value, hint in zip(values, each, strict=True))
