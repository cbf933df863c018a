"""Collect: paired datasets of what a world and its simulated replica do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.collect.collecting import Tally as Tally
    from gapless.collect.collecting import collect as collect
    from gapless.collect.collection import Collection as Collection
    from gapless.collect.plan import Plan as Plan
    from gapless.collect.presets import preset as preset

_HOME = {
    "Tally": "collecting",
    "collect": "collecting",
    "Collection": "collection",
    "Plan": "plan",
    "preset": "presets",
}


def __getattr__(name: str) -> Any:
    """Load the engine only when something is collected: a collection is read without it."""
    if name not in _HOME:
        raise AttributeError(f"module 'gapless.collect' has no attribute {name!r}")
    return getattr(import_module(f"gapless.collect.{_HOME[name]}"), name)
