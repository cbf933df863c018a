"""Scale: the same work on more processes, and on Ray; fleets of robots.

Names are loaded when they are asked for: a worker starts often, and needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.scale.fleet_closing import close_fleet as close_fleet
    from gapless.scale.fleet_summary import Fleet as Fleet
    from gapless.scale.places import workers_on as workers_on

_WHERE = {"close_fleet": "fleet_closing", "Fleet": "fleet_summary", "workers_on": "places"}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module 'gapless.scale' has no attribute {name!r}")
    return getattr(import_module(f"gapless.scale.{_WHERE[name]}"), name)
