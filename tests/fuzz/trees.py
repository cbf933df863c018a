"""Damage to what a file means: values of a tree replaced, dropped, doubled, moved or renamed."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e30, 1e-320, -1, 0, 2**63, 10**400)
TEXTS = ("", "\ud800", "\x00", "[bold]x[/]", "</script>", "../../x", "é" * 300, "nan", "1e999")
ODD = (*NUMBERS, *TEXTS, True, None, [], {}, [[]], [1, "x"], {"x": {"x": [None]}}, -0.0, 7)
ARRAYS = (
    lambda a: a[:-1],
    lambda a: a[:1],
    lambda a: a[:0],
    lambda a: a[::-1],
    lambda a: a[..., :-1],
    lambda a: a[None],
    lambda a: a.T,
    lambda a: a.ravel(),
    lambda a: np.concatenate([a, a]),
    lambda a: np.zeros(()),
    lambda a: np.full(a.shape, "x"),
    lambda a: np.full(a.shape, np.nan),
    lambda a: np.full(a.shape, 1e308),
    lambda a: np.zeros(a.shape),
    lambda a: np.ones(a.shape, complex),
    lambda a: np.ones(a.shape, bool),
    lambda a: np.ones(a.shape, np.int8),
    lambda a: np.ones(a.shape, "datetime64[s]"),
)


def damaged_tree(tree: Any, random: np.random.Generator) -> Any:
    """The tree after one change, or a few, at any depth."""
    tree = copy.deepcopy(tree)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        place = _place(tree, random)
        if place is None:
            return odd_value(tree, random)
        _change(*place, random)
    return tree


def _place(tree: Any, random: np.random.Generator) -> tuple[Any, Any] | None:
    """A container within the tree, and one of its keys."""
    node, found = tree, None
    while isinstance(node, dict | list) and node:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = keys[random.integers(len(keys))]
        found, node = (node, key), node[key]
        if random.integers(4) == 0:
            break
    return found


def _change(node: Any, key: Any, random: np.random.Generator) -> None:
    kind = random.integers(8)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[f"{key}{random.choice(['_', ' ', 'é', '.x'])}"] = node.pop(key)
    elif kind == 1:
        node.append(copy.deepcopy(node[key]))
    elif kind == 2:
        other = list(node)[random.integers(len(node))] if isinstance(node, dict) else 0
        node[key], node[other] = node[other], node[key]
    else:
        node[key] = odd_value(node[key], random)


def odd_value(value: Any, random: np.random.Generator) -> Any:
    """Something else in the place of a value, mostly of its own kind."""
    kind = random.integers(4)
    if isinstance(value, np.ndarray) and kind:
        return damaged_array(value, random)
    if isinstance(value, int | float) and kind:
        return NUMBERS[random.integers(len(NUMBERS))]
    if isinstance(value, str) and kind:
        return TEXTS[random.integers(len(TEXTS))]
    return ODD[random.integers(len(ODD))]


def damaged_array(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Another shape or kind of the same, or a few odd numbers in it."""
    if random.integers(4) and array.size and array.dtype.kind == "f":
        array = array.copy()
        spots = random.integers(array.size, size=random.integers(1, 4))
        with np.errstate(over="ignore"):
            array.flat[spots] = NUMBERS[random.integers(len(NUMBERS) - 1)]
        return array
    try:
        return ARRAYS[random.integers(len(ARRAYS))](array)
    except (IndexError, ValueError):
        return np.zeros(())
