"""Collection: paired datasets of what a world and its simulated replica do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.collection.collecting import collect as collect
    from gapless.collection.collection import Collection as Collection
    from gapless.collection.filling import Tally as Tally
    from gapless.collection.plan import CollectionPlan as CollectionPlan
    from gapless.collection.plan_presets import preset as preset

_HOME = {
    "Tally": "filling",
    "collect": "collecting",
    "Collection": "collection",
    "CollectionPlan": "plan",
    "preset": "plan_presets",
}


def __getattr__(name: str) -> Any:
    """Load the engine only when something is collected: a collection is read without it."""
    if name not in _HOME:
        raise AttributeError(f"module 'gapless.collection' has no attribute {name!r}")
    return getattr(import_module(f"gapless.collection.{_HOME[name]}"), name)
